"""Large scans, here small ones: what is written is what the program reads."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.data.scans import read_scan
from sampled_transformer_lab.load import scans
from sampled_transformer_lab.load.scans import copies, main, measured, write_las, write_ply, write_rows

RESULT = Path(__file__).parents[3] / "results" / "bench" / "large-scans.json"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scans, "SCENE", 5000)


def test_copies_lie_side_by_side() -> None:
    parts = [points for points, _ in copies(17_000)]
    assert [len(part) for part in parts] == [5000, 5000, 5000, 2000]
    assert parts[1][:, 0].min() > parts[0][:, 0].max()
    assert parts[2][:, 1].min() > parts[0][:, 1].max()


def test_both_formats_hold_the_same_points(tmp_path: Path) -> None:
    write_ply(tmp_path / "a.ply", 12_000)
    write_las(tmp_path / "a.las", 12_000)
    ply, las = read_scan(tmp_path / "a.ply"), read_scan(tmp_path / "a.las")
    np.testing.assert_allclose(las.points, ply.points, atol=1e-4)
    assert ply.normals is not None


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads Linux's /proc")
def test_a_program_is_watched(tmp_path: Path) -> None:
    words = "held = b'1' * 60_000_000; import sys; print(sys.argv[1], 'done'); exit(3)"
    row = measured([sys.executable, "-c", words, str(tmp_path / "scan.las")], tmp_path)
    assert row["exit_code"] == 3
    assert row["said"] == "scan.las done\n"  # without the folder, which is of one machine
    assert row["temporary_files_left"] == 0


def test_rows_of_other_runs_are_kept(tmp_path: Path) -> None:
    row = {"task": "predict", "format": "las", "points": 5, "seconds": 1}
    write_rows(tmp_path / "a.json", [row], 1.5)
    write_rows(tmp_path / "a.json", [{**row, "format": "ply"}], 1.5)
    write_rows(tmp_path / "a.json", [{**row, "seconds": 2}], 1.5)
    found = json.loads((tmp_path / "a.json").read_text("utf-8"))["rows"]
    assert [(one["format"], one["seconds"]) for one in found] == [("ply", 1), ("las", 2)]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads Linux's /proc")
def test_the_program_labels_a_scene(tmp_path: Path) -> None:
    words = ["--points", "6000", "--formats", "ply", "--tasks", "scene", "--out", str(tmp_path / "a.json")]
    assert main([*words, "--folder", str(tmp_path)]) == 0
    [row] = json.loads((tmp_path / "a.json").read_text("utf-8"))["rows"]
    assert row["exit_code"] == 0
    assert row["within"]
    assert row["temporary_files_left"] == 0


def test_the_long_runs_stayed_within_two_gigabytes() -> None:
    rows = json.loads(RESULT.read_text("utf-8"))["rows"]
    large = {(row["task"], row["format"]): row for row in rows if row["points"] == 20_000_000}
    assert {("predict", "las"), ("predict", "ply"), ("scene", "las"), ("scene", "ply")} <= large.keys()
    for row in large.values():
        assert row["exit_code"] == 0
        assert row["peak_megabytes"] <= 2000
