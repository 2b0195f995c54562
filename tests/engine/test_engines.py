"""Processes of this machine as an engine, and which engine is meant."""

from __future__ import annotations

import subprocess
import sys

import pytest
from helpers.engine_work import squares

from sampled_transformer.engine.engines import find_engine, run_here
from sampled_transformer.support.workers import ProcessDied


def test_units_come_in_order_with_one_result_per_item() -> None:
    units = [[[1, 2], [3]], [[4]], [[5, 6]]]
    found = list(run_here(squares, units, workers=2))
    assert [(number, [(item, result[0]) for item, result in pairs]) for number, pairs in found] == [
        (0, [(1, 1), (2, 4), (3, 9)]),
        (1, [(4, 16)]),
        (2, [(5, 25), (6, 36)]),
    ]


def test_an_item_that_kills_its_process_costs_its_own_result() -> None:
    ((_, pairs),) = run_here(squares, [[[1, "kill", 2], [3]]], workers=1)
    assert [item for item, _ in pairs] == [1, "kill", 2, 3]
    assert isinstance(pairs[1][1], ProcessDied)
    assert [result[0] for item, result in pairs if item != "kill"] == [1, 4, 9]


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="address: expected none without --engine ray, got auto"):
        find_engine(None, address="auto")
    with pytest.raises(ValueError, match="workers: expected at least 1 for many files, got 0"):
        find_engine("ray", workers=0)


def test_a_missing_package_says_how_to_install_it() -> None:
    program = """
import sys
sys.modules["ray"] = None  # as if it were not installed
from sampled_transformer.cli import main
sys.exit(main(["predict", "a.off", "--weights", "bricks", "--engine", "ray", "--out", "x"]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == 'sampled-transformer: error: ray is not installed: pip install "sampled-transformer[ray]"\n'
