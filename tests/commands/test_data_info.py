from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from sampled_transformer.cli import main
from sampled_transformer.data import Pack, write_pack


def run(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sampled_transformer", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_counts_classes_and_a_shape_are_shown(tmp_path, capsys):
    points = np.random.default_rng(0).normal(size=(3, 50, 3))
    write_pack(Pack.from_arrays(points, labels=[0, 1, 1], classes=["chair", "table"]), tmp_path / "a.npz")
    assert main(["data", "info", str(tmp_path / "a.npz"), "--shape", "1"]) == 0
    text = capsys.readouterr().out
    assert "3 shapes of 50 points, with labels" in text
    assert "shape 1 of " in text
    assert "\u28ff" >= max(text) >= "\u2800"


def test_info_without_braille(tmp_path):
    points = np.random.default_rng(0).normal(size=(1, 50, 3))
    write_pack(Pack.from_arrays(points, labels=[0], classes=["Tür"]), tmp_path / "a.npz")
    done = run("data", "info", tmp_path / "a.npz", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "T\\xfcr" in done.stdout


def test_damaged_pack_is_one_line(tmp_path):
    (tmp_path / "bad.npz").write_bytes(b"PK")
    done = run("data", "info", tmp_path / "bad.npz")
    assert done.returncode == 2
    assert done.stderr == f"sampled-transformer: error: {tmp_path}/bad.npz: damaged file (File is not a zip file)\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere"], "nowhere: no such file, folder or data set"),
        (["bricks", "--shape", "-1"], "shape: expected 0 to 1655, got -1"),
    ],
)
def test_errors(words, message, capsys):
    assert main(["data", "info", *words]) == 2
    assert message in capsys.readouterr().err
