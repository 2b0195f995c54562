"""docs/reliability.md promises what tests hold, with the figures that they wrote."""

from __future__ import annotations

import json
import re
from pathlib import Path

from helpers.faults_page import with_table
from helpers.fuzz_page import with_fuzz

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reliability.md"


def test_every_promise_names_a_test_that_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text("utf-8")))
    there = {
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"def (test_\w+)", path.read_text("utf-8"))
    }
    assert len(named) > 10
    assert named - there == set()


def test_the_figures_are_those_of_the_last_run() -> None:
    figures = json.loads((ROOT / "results" / "faults" / "runs.json").read_text("utf-8"))
    page = PAGE.read_text("utf-8")
    assert with_table(page, figures) == page
    assert all(kills["at_random_moments"]["kills"] >= 20 for kills in figures["kills"].values())


def test_the_figures_of_mutated_files_are_those_of_the_last_run() -> None:
    figures = json.loads((ROOT / "results" / "faults" / "fuzz.json").read_text("utf-8"))
    page = PAGE.read_text("utf-8")
    assert with_fuzz(page, figures) == page
    assert figures["count"] == sum(piece["count"] for piece in figures["pieces"]) >= 200_000
    assert sum(sum(counts.values()) for counts in figures["kinds"].values()) == figures["count"]
