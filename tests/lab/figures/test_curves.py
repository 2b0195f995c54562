"""The curves are those of the results, and the kept figures are drawn from the kept results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sampled_transformer_lab.figures.chart import Panel
from sampled_transformer_lab.figures.curves import cost, memory_panel, monte_carlo, time_panel
from sampled_transformer_lab.figures.shapes import Drawing, Text
from sampled_transformer_lab.figures.svg import svg

ROOT = Path(__file__).parents[3]


def read(place: str) -> dict[str, Any]:
    path = ROOT / "results" / place
    result: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return result


def words(drawing: Drawing) -> set[str]:
    return {shape.words for shape in drawing.shapes if isinstance(shape, Text)}


def values(panel: Panel) -> dict[str, list[tuple[float, float]]]:
    return {curve.name: list(curve.values) for curve in panel.curves}


def bench() -> dict[str, Any]:
    times = [
        {"level": "block", "passes": "both", "mechanism": name, "points": n, "seconds": seconds * n}
        for name, seconds in (("sampled", 1e-5), ("dense", 2e-5), ("copy", 1e-6))
        for n in (256, 1024, 4096)
    ]
    times[5] = {**times[5], "seconds": None}  # dense at 4,096 points was too slow
    return {
        "plan": {"setting": {"batch": 1, "heads": 8, "head_dim": 32}},
        "machine": {"device": "cpu", "threads": 1, "cores": 2},
        "times": times,
        "exponents": [{"level": "block", "passes": "both", "mechanism": "sampled", "exponent": 1.0}],
        "memory": [{"mechanism": "sampled", "points": 256, "peak_bytes": 5 * 10**8}],
    }


def test_the_kept_figures_are_those_of_the_kept_results() -> None:
    drawn = {
        "monte-carlo": monte_carlo(read("theory/monte-carlo.json")),
        "cost": cost(read("bench/bench.json"), read("bench/paper-memory.json")),
    }
    for name, drawing in drawn.items():
        kept = (ROOT / "docs" / "figures" / f"{name}.svg").read_text("utf-8")
        assert kept == svg(drawing), f"{name}: run `sampled-transformer figures`"


def test_time_in_milliseconds_where_it_was_measured() -> None:
    found = values(time_panel(bench()))
    assert dict(found["sampled n^1.00"]) == pytest.approx({256: 2.56, 1024: 10.24, 4096: 40.96})
    assert dict(found["dense, fused"]) == pytest.approx({256: 5.12, 1024: 20.48})
    assert len(found) == 2  # copying is no attention


def test_memory_in_gigabytes() -> None:
    assert values(memory_panel(bench())) == {"sampled": [(256, pytest.approx(0.5))]}


def test_the_figure_says_how_it_was_measured() -> None:
    assert any("batches of 1, 8 heads of 32, cpu, 1 of 2 cores" in text for text in words(cost(bench(), bench())))


def test_monte_carlo_shows_every_estimate_and_no_rounding() -> None:
    case = {"rounds": [1, 2, 4], "errors": {"average": [0.4, 0.3, 0.3], "consistent": [0.5, 0.3, 1e-7]}, "limit": 0.28}
    result = {"cases": {"random": case}, "points": 5, "weights": "bricks", "shapes": 4, "seeds": 2}
    drawing = monte_carlo(result)
    assert {"Random weights", "average", "consistent", "limit of the average"} <= words(drawing)
    curves = [shape for shape in svg(drawing).splitlines() if "class='curve'" in shape]
    assert [line.count(",") for line in curves] == [3, 2, 2]  # places per curve; the last one is the limit
