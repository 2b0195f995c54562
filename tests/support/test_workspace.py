"""Arrays in memory and on disk do the same, and those on disk keep no pages."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.support import workspace
from sampled_transformer.support.workspace import Workspace, add, pieces, put, slices, take


def resident_file_pages() -> int:
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssFile")]
    return int(line.split()[1]) * 1024


@pytest.fixture(params=["memory", "disk"])
def space(request: pytest.FixtureRequest, tmp_path: Path) -> Workspace:
    return Workspace(tmp_path if request.param == "disk" else None)


def test_slices_cover_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "SLICE", 999)
    assert [(one.start, one.stop) for one in slices(2000)] == [(0, 999), (999, 1998), (1998, 2000)]
    assert list(slices(0)) == []


def test_rows_are_taken_added_and_put(space: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "SLICE", 10)
    array = space.zeros((57, 2), np.float32)
    expected = np.zeros((57, 2), np.float32)
    rows = np.array([0, 3, 9, 10, 11, 40, 56])
    values = np.arange(14, dtype=np.float32).reshape(7, 2)
    put(array, rows, values)
    add(array, rows, values)
    expected[rows] = 2 * values
    np.testing.assert_array_equal(array, expected)
    np.testing.assert_array_equal(take(array, rows), 2 * values)
    assert [(some.start, len(own)) for some, own in pieces(array)] == [*((10 * n, 10) for n in range(5)), (50, 7)]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory as Linux tells it")
def test_a_large_array_on_disk_takes_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "SLICE", 1 << 16)
    before = resident_file_pages()
    array = Workspace(tmp_path).zeros((1 << 22,), np.float64)  # 32 MB
    for some, own in pieces(array):
        own[:] = np.arange(some.start, some.stop)
    rows = np.arange(0, 1 << 22, 100)
    add(array, rows, np.ones(len(rows)))
    np.testing.assert_array_equal(take(array, rows), rows + 1)
    assert resident_file_pages() - before < 8e6


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="reserves room as POSIX does")
def test_a_full_disk_is_noticed_at_once(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match="expected room for a temporary file of 8,000 bytes, got none"):
            Workspace(tmp_path).zeros((1000,), np.float64)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
