"""The page on trained networks has the errors of the study."""

from __future__ import annotations

import json
from pathlib import Path

from sampled_transformer_lab.pages.practice import practice_section
from sampled_transformer_lab.practice import TRIALS

ROOT = Path(__file__).parents[3]


def test_the_page_has_a_row_for_each_trial_and_says_how_they_were_trained() -> None:
    errors = {"rank": 0.1234, "farthest": 0.2, "centre": 0.3}
    result = {
        "command": "sampled-transformer theory --practice --steps 70 --seed 3",
        "points": 8,
        "batch": 16,
        "steps": 70,
        "seed": 3,
        "trials": [{"attention": "knn", "blocks": 2, "rounds": 1, "errors": errors, "seconds": 5.0}],
        "seconds": 300.0,
        "machine": {"cores": 2, "threads": 1},
    }
    text = "\n".join(practice_section(result))
    assert "| knn       | 2      | 1 | 0.123 | 0.200    | 0.300  |" in text
    assert "for 70 steps of 16 sets, with seed 3" in text
    assert "for each of 8 points" in text
    assert "sampled-transformer theory --practice --steps 70 --seed 3" in text
    assert "5 minutes in all" in text
    assert f"**1 of {len(TRIALS)} networks have been trained; the table shows those.**" in text
    whole = "\n".join(practice_section({**result, "trials": len(TRIALS) * result["trials"]}))
    assert "have been trained" not in whole


def test_the_orders_that_the_proofs_page_states_are_those_of_the_file() -> None:
    file = ROOT / "results" / "theory" / "practice.json"
    trials = json.loads(file.read_text("utf-8"))["trials"]
    errors = {(trial["attention"], trial["blocks"], trial["rounds"]): trial["errors"] for trial in trials}

    def better(one: tuple[str, int, int], two: tuple[str, int, int]) -> bool:
        return all(errors[one][target] < errors[two][target] for target in errors[one])

    for depth in (1, 2, 4):
        assert better(("sampled", 2 * depth, 1), ("sampled", depth, 1))
    assert better(("sampled", 2, 4), ("sampled", 2, 1))
    assert better(("estimated", 2, 4), ("sampled", 2, 4))
    assert better(("estimated", 2, 4), ("sampled", 4, 1))
    for sampled in (("sampled", 8, 1), ("sampled", 2, 4), ("estimated", 2, 4)):
        assert better(("dense", 1, 1), sampled)
    for whole in ("dense", "induced", "linear", "summed", "rotary"):
        for local in (("sampled", 2, 4), ("estimated", 2, 4), ("sparse", 2, 1), ("knn", 2, 1), ("stratified", 2, 1)):
            assert better((whole, 2, 1), local)
