"""The page of `segment evaluate`."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.cli import main
from sampled_transformer.inference.worst_sets import LabelledSet
from sampled_transformer.report.segment_evaluation_page import RIGHT, bars, beside
from sampled_transformer.support.palette import class_colour

pytest.importorskip("plotly")


def test_an_evaluation_has_its_page(segmenter: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (segmenter / "report.html").stat().st_mtime if (segmenter / "report.html").exists() else None
    assert main(["segment", "evaluate", str(segmenter), "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == f"{segmenter / 'evaluate' / 'report.html'}: written\n"
    found = json.loads(captured.out)
    text = (segmenter / "evaluate" / "report.html").read_text("utf-8")
    for title in ("Classes", "Confusion matrix", "Worst sets", "Calibration", "How it was made"):
        assert f"<h2>{title}</h2>" in text
    assert f'<td class="number">{100 * found["mean_iou"]:.2f} %</td>' in text
    assert [one["mean_iou"] for one in found["worst"]] == sorted(one["mean_iou"] for one in found["worst"])
    assert all(escape(one["set"]) in text for one in found["worst"])
    assert found["calibration"]["accuracy"] == pytest.approx(found["accuracy"])
    assert sum(row["points"] for row in found["calibration"]["bins"]) == np.sum(found["confusion"])
    assert "segment evaluate run --data pack --split test --samples 1" in text
    assert text.count("plotly.js v") == 1
    after = (segmenter / "report.html").stat().st_mtime if (segmenter / "report.html").exists() else None
    assert after == before  # the report of the training stays what it is


def test_mistakes_have_the_colour_of_the_wrong_answer() -> None:
    points = np.random.default_rng(0).normal(size=(5, 3))
    one = LabelledSet(3, 0.4, 0.5, points, np.array([0, 0, 1, 1, -1]), np.array([0, 1, 1, 0, 0]))
    drawn = beside(one, {"set": "part <3>"}, ["low", "high"], "z")
    assert [(trace.scene, trace.name, trace.marker.color, len(trace.x)) for trace in drawn.data] == [
        ("scene", "no label", "#c4cbd4", 1),
        ("scene", "low", class_colour(0), 2),
        ("scene", "high", class_colour(1), 2),
        ("scene2", "right or without a label", RIGHT, 3),
        ("scene2", "low", class_colour(0), 1),
        ("scene2", "high", class_colour(1), 1),
    ]
    titles = [note.text for note in drawn.layout.annotations]
    assert titles == ["part &lt;3&gt;<br>truth", "mistakes<br>IoU 40.0 %, right 50.0 %"]


def test_classes_without_points_have_no_bar_and_the_axis_is_whole() -> None:
    rows = [{"class": "low", "iou": 0.25, "points": 4}, {"class": "none", "iou": None, "points": 0}]
    drawn = bars(rows)
    assert list(drawn.data[0].y) == ["low"]
    assert list(drawn.layout.xaxis.range) == [0, 1]
