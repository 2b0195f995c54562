"""The table of claims: one row per claim, with its scale, and verdicts that follow from the figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sampled_transformer_lab.pages.measured import Measured
from sampled_transformer_lab.pages.summary import readme_table, summary_table
from sampled_transformer_lab.studies import STUDIES
from sampled_transformer_lab.study import Row

BEST = "best epoch (chosen on test, not the headline)"


def run(accuracy: float, once: float = 1.0) -> dict[str, Any]:
    right = round(10_000 * accuracy)
    figures = {"test_accuracy": accuracy, "test_mean_class_accuracy": accuracy, "train_loss": 1.0}
    return {
        "figures": {"last epoch": figures, BEST: {**figures, "train_loss": once}},
        "confusion": [[right, 10_000 - right], [0, 0]],
        "data": "modelnet40",
        "points": 256,
        "epochs": 10,
        "seconds": 1.0,
    }


def rows(study: str, values: dict[str, list[dict[str, Any]]]) -> dict[str, list[Measured]]:
    return {study: [Measured(label, STUDIES[study].rows[label], runs) for label, runs in values.items()]}


def line(results: Path, found: dict[str, list[Measured]], page: str) -> str:
    (text,) = (text for text in summary_table(results, found) if f"]({page})" in text)
    return text.replace("\u00a0", " ")


def test_without_results_only_the_theorem_is_judged(tmp_path: Path) -> None:
    _, _, theorem = summary_table(tmp_path, {})
    assert theorem.startswith("| [Universal approximator](../theory.md) |")
    assert theorem.endswith("| confirmed for one fixed cycle, after repairs; it says nothing about redrawn ones |")
    assert "(docs/theory.md)" in readme_table(tmp_path, {})[-1]


def test_one_layer_compared_with_dense(tmp_path: Path) -> None:
    found = rows("basic-modelnet40", {"basic-dense": [run(0.9), run(0.902)], "basic-sampled": [run(0.8), run(0.802)]})
    text = line(tmp_path, found, "basic-modelnet40.md")
    assert text.startswith("| [One layer on ModelNet40: close to dense](basic-modelnet40.md) | -0.44 points | -10.00 ±")
    ending = "same sign but another size; our networks are up to 7 points behind the paper's |"
    assert text.endswith(f"points | 256 points, 10 epochs, 2 seeds | {ending}")


def test_no_verdict_on_sparse_attention_in_a_random_order(tmp_path: Path) -> None:
    found = rows("basic-modelnet40", {"basic-sparse": [run(0.9), run(0.902)], "basic-sampled": [run(0.8), run(0.802)]})
    assert not any("basic-modelnet40" in text for text in summary_table(tmp_path, found))


def test_runs_that_diverged_are_no_claim(tmp_path: Path) -> None:
    found = rows("basic-modelnet40", {"basic-induced": [run(0.3, once=0.5)], "basic-sampled": [run(0.8), run(0.802)]})
    assert not any("ahead of induced" in text for text in summary_table(tmp_path, found))


def test_stages_are_named(tmp_path: Path) -> None:
    values = {"sampled-1": 0.7, "knn-1": 0.75, "sampled-2": 0.7, "knn-2": 0.9}
    labels = {f"hierarchical-{name}": [run(value), run(value + 0.001)] for name, value in values.items()}
    text = line(tmp_path, rows("hierarchical-modelnet40", labels), "hierarchical-modelnet40.md")
    assert "| +6.76 points (mean of +8.32, +5.20) | -12.50 ±" in text
    assert " points (mean of -5.00, -20.00) | 1 to 2 stages, 256 points, 10 epochs, 2 seeds |" in text
    ending = "our networks are up to 9 points ahead of and up to 18 points behind the paper's |"
    assert text.endswith(f"| mean: **refuted**; 1 stage and 2 stages **refuted**; {ending}")


def test_a_single_stage_is_named_in_the_scale(tmp_path: Path) -> None:
    labels = {
        f"hierarchical-{name}-1": [run(value), run(value + 0.001)] for name, value in (("sampled", 0.7), ("knn", 0.7))
    }
    text = line(tmp_path, rows("hierarchical-modelnet40", labels), "hierarchical-modelnet40.md")
    assert "| 1 stage, 256 points, 10 epochs, 2 seeds |" in text


def test_more_points_are_compared_with_fewer(tmp_path: Path) -> None:
    values = {"knn-64": 0.85, "knn-256": 0.87, "knn-512": 0.80, "sampled-64": 0.8}
    labels = {f"basic-{name}": [run(value), run(value + 0.001)] for name, value in values.items()}
    (text,) = (
        text
        for text in summary_table(tmp_path, rows("points-modelnet40", labels))
        if text.startswith("| [One layer: kNN attention falls as points are added](points-modelnet40.md)")
    )
    assert "| knn from 256 to 512 -1.06 points | knn from 256 to 512 -7.00" in text.replace("\u00a0", " ")
    assert "; knn from 64 to 512: worse; our networks" in text


def test_a_study_that_the_paper_does_not_have_says_who_is_ahead(tmp_path: Path) -> None:
    found = rows("basic-bricks", {"basic-dense": [run(0.9), run(0.902)], "basic-sampled": [run(0.8), run(0.802)]})
    text = line(tmp_path, found, "basic-bricks.md")
    assert "| - | sampled 80.10 ± 0.14, dense 90.10 ± 0.14 % | 256 points, 10 epochs, 2 seeds |" in text
    assert text.endswith("| Sampled loses to dense. |")
    assert not any("basic-bricks" in text for text in readme_table(tmp_path, found))


def test_the_autoencoder_is_compared_with_the_paper(tmp_path: Path) -> None:
    lender = rows("basic-modelnet40", {"basic-dense": [run(0.9), run(0.902)]})
    both = {"finetune-sampled": [run(0.9)], "finetune-dense": [run(0.95)], "bricks-sampled": [run(0.9)]}
    measured = [Measured(label, Row(""), runs) for label, runs in both.items()]
    text = line(tmp_path, {**lender, "autoencoder-small": measured}, "autoencoder-small.md")
    claim = "[Masked autoencoder, fine-tuning: as good as dense](autoencoder-small.md)"
    assert text.startswith(f"| {claim} | +0.10 points |")
    assert "| 1,024 points, sampled encoder and dense decoder, 10 of training, 1 seed | open for the" in text
    assert "one pre-training each; these two networks: sampled behind dense; our networks are up to 4 points" in text


def test_clustering_borrows_its_deviation(tmp_path: Path) -> None:
    def likelihoods(*values: float) -> list[dict[str, Any]]:
        return [{"figures": {"LL0": value}, "steps": 50_000} for value in values]

    found = rows("cluster", {"cluster-induced": likelihoods(-1.5), "cluster-rows": likelihoods(-1.56)})
    ending = "| 100 to 499 points per set, 50,000 steps, 1 seed | undecided (no row has a second seed) |"
    assert line(tmp_path, found, "cluster.md").endswith(ending)
    short = {"cluster-induced": likelihoods(-1.5, -1.501, -1.499), "cluster-rows": likelihoods(-1.6, -1.601, -1.599)}
    text = line(tmp_path, {**found, **rows("cluster-short", short)}, "cluster.md")
    assert "| LL0 -0.0629 | LL0 -0.0600 ± 0.0014 | 100 to 499 points per set, 50,000 steps, 1 seed |" in text
    assert text.endswith("| confirmed to ± 0.029 |")


def test_the_limit_of_averages(tmp_path: Path) -> None:
    (tmp_path / "theory").mkdir()
    cases = {"random": {"limit": 0.281}, "trained": {"limit": 1.07}}
    result = {"cases": cases, "points": 256, "shapes": 4, "seeds": 2}
    (tmp_path / "theory" / "monte-carlo.json").write_text(json.dumps(result))
    text = line(tmp_path, {}, "monte-carlo.md")
    assert "| its limit is 28 % away with random weights, 107 % with trained ones |" in text
    assert text.endswith("| **refuted**: it converges to another function |")
