"""Every benchmark can be loaded, and says how it is called. `make bench` runs them; here nothing is measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PROGRAM = """
import importlib, sys
for name in sys.argv[1:]:
    module = importlib.import_module(name)
    assert callable(module.main), f"{name}: expected a function main"
    assert f"python benchmarks/{name}.py" in module.__doc__, f"{name}: expected its command in its docstring"
    print(name)
"""


def test_every_benchmark_loads_and_names_its_command() -> None:
    names = sorted(path.stem for path in BENCHMARKS.glob("*.py"))
    assert len(names) >= 8
    command = [sys.executable, "-c", PROGRAM, *names]
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, check=False)
    assert done.stdout.split() == names, done.stderr
