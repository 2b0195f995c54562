"""The tables that `bench` prints."""

from __future__ import annotations

from typing import Any

from sampled_transformer_lab.bench.tables import milliseconds, tables

RESULT: dict[str, Any] = {
    "times": [
        {"level": "core", "passes": "both", "mechanism": "sampled", "points": 256, "seconds": 0.002},
        {"level": "core", "passes": "both", "mechanism": "dense", "points": 256, "seconds": 0.01},
        {"level": "core", "passes": "both", "mechanism": "sampled", "points": 1024, "seconds": 0.008},
        {"level": "core", "passes": "both", "mechanism": "dense", "points": 1024, "left_out": "does not fit"},
        {"level": "core", "passes": "both", "mechanism": "flex", "points": 1024, "left_out": "failed: no compiler"},
    ],
    "exponents": [{"level": "core", "passes": "both", "mechanism": "sampled", "exponent": 1.0}],
    "memory": [
        {"level": "core", "mechanism": "sampled", "points": 256, "peak_bytes": 3 * 10**6, "kept_bytes": None},
        {"level": "core", "mechanism": "dense", "points": 256, "left_out": "does not fit"},
    ],
}


def test_ratios_exponents_and_what_was_left_out() -> None:
    times, peak, kept, reason = tables(RESULT)
    rows = {line.split()[0]: line.split()[1:] for line in times.splitlines()[2:]}
    assert rows == {
        "sampled": ["2.00", "1.00x", "8.00", "1.00x", "1.00"],
        "dense": ["10.0", "5.00x", "-"],
        "flex": ["-", "-"],
    }
    assert times.splitlines()[1].split() == ["256", "1,024", "exponent"]
    assert "sampled  3.0" in peak
    assert "dense      -" in peak
    assert kept.splitlines()[2].split() == ["sampled", "-"]
    assert reason == "flex failed: no compiler"


def test_milliseconds_have_three_figures_or_so() -> None:
    assert [milliseconds(value) for value in (0.00123, 0.0123, 1.23, 123.4)] == ["1.23", "12.3", "1,230", "123,400"]
