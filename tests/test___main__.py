"""`python -m sampled_transformer` is the program."""

from __future__ import annotations

import subprocess
import sys

from sampled_transformer import __version__


def test_the_package_runs_as_a_program() -> None:
    words = [sys.executable, "-m", "sampled_transformer"]
    done = subprocess.run([*words, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["sampled-transformer", __version__]
    assert subprocess.run([*words, "trian"], capture_output=True, check=False).returncode == 2
