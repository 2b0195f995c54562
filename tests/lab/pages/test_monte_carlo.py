"""The page on sampled and dense attention has the tables of the study, under headings of its own."""

from __future__ import annotations

from sampled_transformer_lab.monte_carlo import LIMIT
from sampled_transformer_lab.pages.monte_carlo import monte_carlo_section


def test_cases_are_sections() -> None:
    errors = {"average": [0.4, 0.3], "consistent": [0.5, 0.25], LIMIT: [0.2, 0.1]}
    cases = {"random": {"rounds": [1, 2], "errors": errors, "limit": 0.28}}
    result = {
        "command": "sampled-transformer theory --monte_carlo",
        "weights": "bricks",
        "points": 32,
        "shapes": 4,
        "seeds": 2,
        "cases": cases,
        "seconds": 90.6,
        "machine": {"cores": 2, "threads": 1},
    }
    text = "\n".join(monte_carlo_section(result))
    assert "\n## Random weights\n" in text
    assert "###" not in text
    assert "0.2500" in text
    assert "The limit of the average is 0.2800 away" in text
    assert text.endswith("91 s on 1 of 2 cores.")
