"""Bytes are those that were really kept or taken, and runs take turns."""

from __future__ import annotations

import sys
import time

import pytest

from sampled_transformer_lab.bench.measure import Bytes, available_memory, interleaved, kept_bytes, memories, memory
from sampled_transformer_lab.bench.setting import Setting
from sampled_transformer_lab.bench.subjects import Subject

SETTING = Setting(batch=2, heads=2, head_dim=8)


def test_core_keeps_its_inputs_and_one_index_per_point() -> None:
    points = 100
    rows = SETTING.batch * points
    assert kept_bytes(Subject("sampled", "core", SETTING, points)) == rows * (3 * SETTING.dim * 4 + 8)


def test_block_keeps_the_same_bytes_per_point() -> None:
    one, two = (kept_bytes(Subject("sampled", "block", SETTING, n)) / n for n in (100, 1000))
    assert one == pytest.approx(two, rel=0.01)


def test_the_explicit_matrix_is_kept() -> None:
    points = 200
    matrix = SETTING.batch * SETTING.heads * points**2 * 4
    assert kept_bytes(Subject("dense-explicit", "core", SETTING, points)) >= matrix
    assert kept_bytes(Subject("dense", "core", SETTING, points)) < matrix


def test_interleaved_runs_take_turns() -> None:
    calls: list[str] = []
    times = interleaved({"one": lambda: calls.append("one"), "two": lambda: calls.append("two")}, 3)
    assert calls == ["one", "two", "two", "one", "one", "two"]
    assert set(times) == {"one", "two"}
    assert min(times.values()) >= 0


def test_a_slow_run_skips_later_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    calls: list[str] = []
    monkeypatch.setattr(time, "perf_counter", lambda: now)  # a clock that no other process can hold up

    def slow() -> None:
        nonlocal now
        now += 0.2
        calls.append("slow")

    times = interleaved({"slow": slow, "fast": lambda: calls.append("fast")}, 4, enough=0.1)
    assert calls.count("slow") == 1
    assert calls.count("fast") == 4
    assert times == {"slow": 0.2, "fast": 0.0}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_peak_memory_of_a_fresh_process() -> None:
    setting, points = Setting(batch=1, heads=4, head_dim=8), 2000
    matrix = setting.heads * points**2 * 4  # 64 MB
    explicit = memory("dense-explicit", "core", setting, points)
    sampled = memory("sampled", "core", setting, points)
    assert not isinstance(explicit, str)
    assert not isinstance(sampled, str)
    assert 2 * matrix < explicit.peak < 8 * matrix  # scores, weights and their gradients
    assert 0 < sampled.peak < matrix / 4
    assert sampled.kept == kept_bytes(Subject("sampled", "core", setting, points))
    assert memory("sampled", "core", setting, points, backward=False).kept is None


def test_a_run_that_fails_gives_its_reason() -> None:
    reason = memory("sampeld", "core", SETTING, 10)
    assert isinstance(reason, str)
    assert reason.startswith("failed: ValueError: mechanism: expected one of")


def test_available_memory_is_positive() -> None:
    assert available_memory() > 2**20


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_one_process_counts_several_sizes_separately() -> None:
    setting, sizes = Setting(batch=1, heads=4, head_dim=8), [1000, 2000, 4000]
    together = memories("dense-explicit", "core", setting, sizes)
    assert all(isinstance(one, Bytes) for one in together)
    matrices = [setting.heads * points**2 * 4 for points in sizes]
    shares = [one.peak / matrix for one, matrix in zip(together, matrices, strict=True)]
    assert all(2 < share < 8 for share in shares), shares
    alone = memory("dense-explicit", "core", setting, 4000)
    assert together[2].kept == alone.kept
    assert together[2].peak == pytest.approx(alone.peak, rel=0.1)


def test_no_larger_size_is_measured_after_one_that_took_too_long() -> None:
    first, second = memories("sampled", "core", SETTING, [10, 20], patience=0.0)
    assert isinstance(first, Bytes)
    assert second == "takes too long"


def test_what_was_measured_before_a_failure_is_kept() -> None:
    first, second = memories("sampled", "core", SETTING, [10, -1])  # -1 is no size
    assert isinstance(first, Bytes)
    assert isinstance(second, str)
    assert second.startswith("failed: ")
