"""The summary table: one row per claim, and verdicts that follow from the figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sampled_transformer_lab.pages.measured import Measured
from sampled_transformer_lab.pages.summary import summary_table
from sampled_transformer_lab.studies import STUDIES

BEST = "best epoch (chosen on test, not the headline)"


def run(accuracy: float) -> dict[str, Any]:
    right = round(1000 * accuracy)
    figures = {"test_accuracy": accuracy, "test_mean_class_accuracy": accuracy, "train_loss": 1.0}
    return {"figures": {"last epoch": figures, BEST: figures}, "confusion": [[right, 1000 - right], [0, 0]]}


def rows(study: str, values: dict[str, dict[str, Any]]) -> dict[str, list[Measured]]:
    return {study: [Measured(label, STUDIES[study].rows[label], [one]) for label, one in values.items()]}


def test_without_results_there_is_no_claim(tmp_path: Path) -> None:
    assert len(summary_table(tmp_path, {})) == 2


def test_one_layer_compared_with_the_paper(tmp_path: Path) -> None:
    found = rows("basic-modelnet40", {"basic-dense": run(0.9), "basic-sampled": run(0.8)})
    assert summary_table(tmp_path, found)[-1] == (
        "| [One layer on ModelNet40: close to dense, ahead of the rest](basic-modelnet40.md) "
        "| sampled 87.34, dense 87.78 % | sampled 80.00, dense 90.00 % | 256 points with normals, 10 epochs, 1 seed "
        "| Sampled loses to dense. The paper agrees on dense. |"
    )


def test_stages_are_named(tmp_path: Path) -> None:
    labels = {"hierarchical-sampled-2": run(0.7), "hierarchical-knn-2": run(0.9)}
    line = summary_table(tmp_path, rows("hierarchical-modelnet40", labels))[-1]
    assert "| +5.20 points | -20.00 points |" in line
    assert line.endswith("Sampled loses to kNN (2 stages). The paper has the opposite order for kNN (2 stages). |")


def test_the_autoencoder_says_who_is_ahead(tmp_path: Path) -> None:
    found = rows("autoencoder-small", {"finetune-sampled": run(0.9), "finetune-dense": run(0.87)})
    line = summary_table(tmp_path, found)[-1]
    assert "| sampled 93.7, dense 93.6 % | sampled 90.00, dense 87.00 % |" in line
    assert line.endswith("| Sampled is 3.0 points ahead, at a small scale. |")


def test_clustering_holds_near_the_gap_of_the_paper(tmp_path: Path) -> None:
    def line(ours: float) -> str:
        values = {"cluster-induced": {"figures": {"LL0": -1.5}}, "cluster-rows": {"figures": {"LL0": ours}}}
        return summary_table(tmp_path, rows("cluster", values))[-1]

    assert line(-1.55).endswith("| Holds: 0.050 behind (0.063 in the paper). |")
    assert line(-1.9).endswith("| Does not hold: 0.400 behind. |")


def test_time_and_memory(tmp_path: Path) -> None:
    (tmp_path / "bench").mkdir()
    bars = [
        {"claim": "core, 8 sets: exponent of the time", "value": 1.25},
        {"claim": "block, 4 sets: exponent of the time", "value": 0.98},
    ]
    (tmp_path / "bench" / "attention.json").write_text(json.dumps({"bars": bars}))
    peak = {"sampled": 1, "dense-explicit": 4, "dense": 1}
    memory = [{"mechanism": name, "points": 2048, "peak_bytes": size * 2**30} for name, size in peak.items()]
    plan = {"points": [256, 512, 768, 1024, 2048]}
    (tmp_path / "bench" / "paper-memory.json").write_text(json.dumps({"plan": plan, "memory": memory}))
    _, _, time, space = summary_table(tmp_path, {})
    assert "n^0.98 for the block, n^1.25 for the kernel alone" in time
    assert "Holds for the block." in time
    assert "| 1.7 against 11.9 GB | 1.00 against 4.00 GB; fused dense 1.00 GB |" in space
    assert "A fused dense kernel needs no more either." in space


def test_the_limit_of_averages(tmp_path: Path) -> None:
    (tmp_path / "theory").mkdir()
    cases = {"random": {"limit": 0.281}, "trained": {"limit": 1.07}}
    result = {"cases": cases, "points": 256, "shapes": 4}
    (tmp_path / "theory" / "monte-carlo.json").write_text(json.dumps(result))
    assert "| the limit is 28 % away (random weights), 107 % (trained) |" in summary_table(tmp_path, {})[-1]
