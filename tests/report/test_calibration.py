"""The calibration page shows what was measured."""

from __future__ import annotations

import torch

from sampled_transformer.inference.calibration import calibration
from sampled_transformer.report.calibration import diagram, fifths, sections


def result() -> dict:
    first = torch.tensor([0.95, 0.91, 0.65])
    passes = torch.stack([torch.stack([one, 1 - one], 1) for one in (first, first - 0.2)])
    found = calibration(passes, torch.tensor([0, 1, 0]))
    return {"data": "<mine>", "shapes": 3, "points": 8, "command": "evaluate", "calibration": found}


def page(found: dict) -> str:
    return "".join(sections(found["calibration"]))


def test_the_page_names_everything() -> None:
    assert "averaged over 2 cycles" in page(result())
    assert "Spread over cycles" in page(result())


def test_the_page_shows_how_it_was_before_the_temperature() -> None:
    fitted = result()
    passes = torch.tensor([[[0.9, 0.1], [0.8, 0.2]]])
    fitted["calibration"] = calibration(passes, torch.tensor([0, 1]), temperature=0.5)
    assert "one pass, before the temperature" in page(fitted)
    assert "before the temperature" not in page(result())


def test_the_diagram_has_a_line_per_way_and_a_dot_per_bin() -> None:
    ways = result()["calibration"]["ways"]
    ideal, *lines = diagram(ways).data
    assert (ideal.x, ideal.y) == ((0, 1), (0, 1))
    assert [line.name for line in lines] == list(ways)
    for line, way in zip(lines, ways.values(), strict=True):
        assert list(line.x) == [row["probability"] for row in way["bins"]]
        assert list(line.y) == [row["accuracy"] for row in way["bins"]]
        largest = max(range(len(line.x)), key=lambda number: way["bins"][number]["shapes"])
        assert line.marker.size[largest] == max(line.marker.size)


def test_accuracy_and_probability_are_drawn_against_the_spread() -> None:
    rows = result()["calibration"]["spread"]["fifths"]
    accuracy, probability = fifths(rows).data
    assert list(accuracy.x) == list(probability.x) == [row["spread"] for row in rows]
    assert list(accuracy.y) == [row["accuracy"] for row in rows]
    assert list(probability.y) == [row["probability"] for row in rows]
