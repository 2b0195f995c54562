"""Pages that compare evaluations; every figure is one that the evaluations printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sampled_transformer.cli import main
from sampled_transformer.report.comparison import OTHER, SAME, sections
from sampled_transformer.report.robustness import beside

pytest.importorskip("plotly")


@pytest.fixture
def classifier(pack_folder: Path) -> Path:
    """The folder of a short training on needles, discs and balls."""
    out = pack_folder.parent / "run"
    words = ["train", "--recipe", "basic-sampled", "--data", str(pack_folder), "--out", str(out), "--epochs", "2"]
    assert main([*words, "--options.dim", "16", "--options.hidden", "16", "--data.points", "32"]) == 0
    return out


def evaluated(folder: Path, *words: str) -> dict[str, Any]:
    assert main([*words, "--out", str(folder)]) == 0
    found: dict[str, Any] = json.loads((folder / "result.json").read_text("utf-8"))
    return found


def compared(kind: str, one: Path, two: Path) -> str:
    text = "".join(sections(kind, {"one": one, "two": two}))
    assert text.count("plotly.js v") == 1
    assert text.index("plotly.js v") < text.index("Plotly.newPlot(")  # the first figure brings the script
    return text


def test_classifiers(classifier: Path, tmp_path: Path) -> None:
    one = evaluated(tmp_path / "one", "evaluate", str(classifier))
    two = evaluated(tmp_path / "two", "evaluate", str(classifier), "--samples", "2")
    text = compared("evaluate", tmp_path / "one", tmp_path / "two")
    averaged = two["figures"]["averaged over 2 cycles"]["accuracy"]
    for cell in (f"{100 * one['figures']['one pass']['accuracy']:.2f} %", f"{100 * averaged:.2f} %"):
        assert f'<td class="number">{cell}</td>' in text
    assert SAME in text
    for own in one["classes"]:
        assert f'<td>{own["class"]}</td><td class="number">{100 * own["accuracy"]:.2f} %</td>' in text


def test_other_classes_and_other_data_are_said(classifier: Path, tmp_path: Path) -> None:
    evaluated(tmp_path / "one", "evaluate", str(classifier))
    evaluated(tmp_path / "two", "evaluate", "bricks")
    text = compared("evaluate", tmp_path / "one", tmp_path / "two")
    assert OTHER in text
    assert "The networks know different classes" in text


def test_predicted_numbers(regressor: Path, classifier: Path, tmp_path: Path) -> None:
    one = evaluated(tmp_path / "one", "evaluate", str(regressor))
    evaluated(tmp_path / "two", "evaluate", str(regressor), "--samples", "2")
    text = compared("evaluate", tmp_path / "one", tmp_path / "two")
    assert text.count(f'<td class="number">{one["figures"]["one pass"]["mae"]:.4g}</td>') == 2
    assert "answer minus truth" in text
    evaluated(tmp_path / "classes", "evaluate", str(classifier))
    with pytest.raises(ValueError, match="runs: expected networks that answer the same, got height in mm and classes"):
        sections("evaluate", {"one": tmp_path / "one", "two": tmp_path / "classes"})


def test_labels_of_points(segmenter: Path, tmp_path: Path) -> None:
    one = evaluated(tmp_path / "one", "segment", "evaluate", str(segmenter))
    evaluated(tmp_path / "two", "segment", "evaluate", str(segmenter), "--without", "normals")
    text = compared("segment evaluate", tmp_path / "one", tmp_path / "two")
    assert f'<td class="number">{100 * one["mean_iou"]:.2f} %</td>' in text
    assert OTHER in text  # one of them was not given the normals


def test_robustness_has_one_line_per_network(classifier: Path, tmp_path: Path) -> None:
    words = ["evaluate", str(classifier), "--robustness"]
    for name, corruptions in (("one", "noise"), ("two", "noise,scale")):
        assert main([*words, "--corruptions", corruptions, "--limit", "6", "--out", str(tmp_path / name)]) == 0
    text = compared("robustness", tmp_path / "one", tmp_path / "two")
    one = json.loads((tmp_path / "one" / "robustness.json").read_text("utf-8"))
    assert text.count(f'<td class="number">{100 * one["clean"]["accuracy"]:.2f} %</td>') == 2
    assert text.count("plotly-graph-div") == 2  # noise of both, and scale of the second
    assert SAME in text
    both = beside(dict.fromkeys(("one", "two"), one["corruptions"]["noise"]))
    assert [line.name for line in both.data] == ["one", "two"]
    assert both.layout.yaxis.range == (0, 1.03)


def test_clusters_by_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = evaluated(tmp_path / "one", "cluster", "evaluate", "mixtures", "--sets", "9")
    evaluated(tmp_path / "two", "cluster", "evaluate", "mixtures", "--sets", "12")
    assert main(["report", str(tmp_path / "one"), str(tmp_path / "two")]) == 0
    page = tmp_path / "one" / "report-with-two.html"
    assert f"{page}: written" in capsys.readouterr().out
    text = page.read_text("utf-8")
    assert f'<td class="number">{one["figures"]["LL0"]:.4f}</td>' in text
    assert "<h1>one and two</h1>" in text
    assert "--sets 12" in text  # how it was made
    assert main(["report", str(tmp_path / "one")]) == 2
    assert "runs: expected a run, or several evaluations to compare" in capsys.readouterr().err
