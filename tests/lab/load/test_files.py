"""Many small files, here a few."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sampled_transformer_lab.load.files import main

RESULT = Path(__file__).parents[3] / "results" / "bench" / "many-files.json"


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads Linux's /proc")
def test_every_file_is_answered(tmp_path: Path) -> None:
    assert main(["--files", "20", "--out", str(tmp_path / "a.json")]) == 0
    [row] = json.loads((tmp_path / "a.json").read_text("utf-8"))["rows"]
    assert (row["files"], row["broken_files"], row["rows"], row["exit_code"]) == (20, 1, 20, 1)
    assert row["temporary_files_left"] == 0


def test_the_long_run_was_flat() -> None:
    """The last quarter of the time needed no more than the second, but for a twentieth."""
    few, many = json.loads(RESULT.read_text("utf-8"))["rows"]
    assert (few["files"], many["files"]) == (1000, 10_000)
    for row in (few, many):
        assert row["rows"] == row["files"]
    assert many["peak_of_each_quarter"][3] <= 1.05 * many["peak_of_each_quarter"][1]
