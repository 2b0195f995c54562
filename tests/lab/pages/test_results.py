"""docs/results.md holds what is under results/, and its arithmetic is right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sampled_transformer_lab.pages.results import results_page, weights_section
from sampled_transformer_lab.reproduce import result_file
from sampled_transformer_lab.studies import STUDIES

ROOT = Path(__file__).parents[3]


def run(accuracy: float, shapes: int = 100, once: float = 1.0) -> dict:
    right = round(accuracy * shapes)
    row = {"test_accuracy": accuracy, "test_mean_class_accuracy": accuracy - 0.1, "epoch": 20.0, "train_loss": 1.0}
    return {
        "command": "sampled-transformer train",
        "figures": {"last epoch": row, "best epoch (chosen on test, not the headline)": {**row, "train_loss": once}},
        "confusion": [[right, shapes - right], [0, 0]],
        "seconds": 10.0,
        "machine": {"cores": 2, "threads": 1, "processor": "x"},
        "versions": {"torch": "2"},
    }


def test_the_page_is_that_of_the_results() -> None:
    if not (ROOT / "results").is_dir():
        pytest.skip("an installed package has no results folder")
    assert (ROOT / "docs" / "results.md").read_text("utf-8") == results_page(ROOT / "results")


def test_means_deviations_and_the_order(tmp_path: Path) -> None:
    figures = {"basic-sampled": [0.8, 0.82, 0.84], "basic-dense": [0.7, 0.71, 0.72], "basic-none": [0.81]}
    for recipe, values in figures.items():
        for seed, value in enumerate(values):
            path = result_file(tmp_path, "basic-modelnet40", recipe, seed)
            path.parent.mkdir(exist_ok=True)
            path.write_text(json.dumps(run(value)))
    page = results_page(tmp_path)
    assert "7 of 17 runs were made so far" in page
    assert "| sampled | 3 | 82.00 ± 2.00 | ± 3.84 | 72.00 ± 2.00 | 82.00 ± 2.00 | 10 | 87.34 |" in page
    assert "| none | 1 | 81.00 | ± 3.92 |" in page
    # sampled - dense = 11 +- sqrt((2^2 + 1^2) / 2) sqrt(2 / 3), while the paper has them the other way round
    assert "| dense | +11.00 ± 1.29 | -0.44 | **not** as in the paper |" in page
    assert "| none | +1.00 ± 1.83 | +1.38 | undecided |" in page
    assert STUDIES["basic-bricks"].title not in page  # nothing was measured


def test_a_run_that_diverged_decides_no_order(tmp_path: Path) -> None:
    for recipe, one in {"basic-sampled": run(0.8), "basic-induced": run(0.2, once=0.5)}.items():
        path = result_file(tmp_path, "basic-modelnet40", recipe, 0)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(one))
    page = results_page(tmp_path)
    assert "| induced (1 of 1 diverged) | 1 | 20.00 |" in page
    assert "| induced | +60.00 ± 5.66 | +3.13 | says nothing: diverged |" in page
    assert "| sampled | 1 | 80.00 |" in page


def test_shipped_weights_of_either_kind(tmp_path: Path) -> None:
    common = {"description": "What.", "commands": ["sampled-transformer go"], "seconds": 60.4, "machine": "a core"}
    one = {"accuracy": 0.5, "mean_class_accuracy": 0.25}
    classes = {**common, "shapes": 8, "points": 16, "figures": {"one pass": one}}
    likelihoods = {"LL0": -1.5, "LL1": -1.49, "oracle_LL0": -1.47, "oracle_LL1": -1.46}
    mixtures = {**common, "sets": 1000, "figures": {"one pass": likelihoods}}
    for name, entry in {"a": classes, "b": mixtures}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(entry), "utf-8")
    first, second = weights_section(tmp_path).split("### b")
    assert "| one pass | 50.00 | 25.00 |\n\n8 test shapes, 16 points. Made and measured with\n\n    sampled" in first
    assert "| one pass | -1.5000 | -1.4900 | -1.4700 | -1.4600 |\n\n1000 fixed sets of mixtures. Made" in second
    assert second.endswith("Training took 60 s of wall time on a core.\n")
