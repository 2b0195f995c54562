"""The figures of the page on scikit-learn are those that benchmarks/radar.py measured, with today's defaults."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

from sampled_transformer import SetClassifier

ROOT = Path(__file__).parents[2]
RESULT = json.loads((ROOT / "results" / "bench" / "radar.json").read_text("utf-8"))
PAGE = (ROOT / "docs" / "scikit-learn.md").read_text("utf-8")


def row(name: str, figures: dict[str, Any]) -> str:
    """A line of the page's table."""
    percent = [100 * value for value in figures["accuracy"]]
    seconds = fmean(figures["cpu_seconds"])
    return f"| {name} | {fmean(percent):.1f} | {min(percent):.1f} to {max(percent):.1f} | {seconds:.0f} |"


def test_the_table_is_what_was_measured() -> None:
    assert row("`SetClassifier()`", RESULT["set_classifier"]) in PAGE
    assert row("random forest of 500 trees on 43 statistics", RESULT["forest"]) in PAGE
    assert RESULT["sets"] == [1316, 552]
    assert RESULT["most_returns"] == 1739


def test_the_defaults_are_those_that_were_measured() -> None:
    assert RESULT["defaults"] == json.loads(json.dumps(SetClassifier().get_params()))
