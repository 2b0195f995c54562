from __future__ import annotations

from pathlib import Path

from sampled_transformer.cli import main
from sampled_transformer.report.cluster_page import SHOWN, curve


def test_cluster_train_ends_with_a_page(tmp_path: Path) -> None:
    out = tmp_path / "cluster"
    words = ["cluster", "train", "--recipe", "cluster-pooling", "--out", str(out), "--steps", "4", "--every", "2"]
    assert main([*words, "--sets", "2", "--options.dim", "16"]) == 0
    text = (out / "report.html").read_text("utf-8")
    assert text.count("<figure>") == SHOWN
    assert "LL1, after one EM step" in text
    assert "cluster train" in text
    assert text.count("plotly.js v") == 1


def test_both_curves_are_drawn() -> None:
    rows = [{"step": 10, "train_LL0": -3.0, "LL0": -2.5}, {"step": 20, "train_LL0": -2.0}]
    watched, training = curve({"run": rows}, {"run": -1.5}).data
    assert (list(watched.x), list(training.x)) == ([10], [10, 20])


def test_several_runs_share_their_yardstick() -> None:
    metrics = {name: [{"step": 10, "train_LL0": -3.0, "LL0": -2.5}] for name in ("one", "two")}
    page = curve(metrics, {"one": -1.5, "two": -1.5})
    assert [line.name for line in page.data] == ["one", "two"]
    assert len(page.layout.shapes) == 1
