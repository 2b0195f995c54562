"""A few visitors and uploads; results/faults/load.json has fifty and a thousand."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from sampled_transformer_lab.load.page import main, problems

RESULT = Path(__file__).parents[3] / "results" / "faults" / "load.json"


@pytest.mark.faults
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads Linux's /proc")
def test_the_page_holds_under_a_few_visitors_and_uploads(tmp_path: Path) -> None:
    assert main(["--clients", "4", "--uploads", "24", "--out", str(tmp_path / "load.json")]) == 0
    found = json.loads((tmp_path / "load.json").read_text("utf-8"))
    assert sum(kind["uploads"] for kind in found["kinds"].values()) == 24
    assert found["problems"] == []


def test_the_last_long_run_had_no_problems() -> None:
    known = json.loads(RESULT.read_text("utf-8"))
    assert (known["clients"], known["uploads"]) == (50, 1000)
    assert known["problems"] == problems(known) == []


def test_what_does_not_hold_is_told() -> None:
    known: dict[str, Any] = json.loads(RESULT.read_text("utf-8"))
    for change, words in (
        ({"unexpected": [{}]}, "other answers than expected"),
        ({"foreign_files_seen": 1}, "another visitor's file"),
        ({"temporary_files_left": 2}, "2 temporary files"),
        ({"complaints": {"ValueError: no": 1}}, "complained"),
        ({"page_after": {"outcome": "nothing"}}, "did not answer afterwards"),
        ({"after": {**known["after"], "processes": 9}}, "processes: "),
        ({"after": {**known["after"], "threads": 90}}, "threads: "),
        ({"after": {**known["after"], "megabytes": 5000.0}}, "memory: "),
    ):
        [line] = problems({**copy.deepcopy(known), **change})
        assert words in line
