"""report.html of networks that label points."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

import numpy as np
import pytest
from helpers.point_packs import CLASSES, halves, save_segmenter, write_halves

from sampled_transformer import load
from sampled_transformer.cli import main
from sampled_transformer.data import Pack
from sampled_transformer.inference.segmentation import Segmentation, point_view_of
from sampled_transformer.report.kinds import kind_of
from sampled_transformer.report.segment_page import chosen_sets, class_table, label_set, pair
from sampled_transformer.support.palette import class_colour

pytest.importorskip("plotly")
SMALL = [
    "--options.widths",
    "[8,16]",
    "--trainer.accelerator",
    "cpu",
    "--data.batch",
    "4",
    "--epochs",
    "2",
    "--data.points",
    "48",
]


def test_a_run_has_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pack, out = write_halves(tmp_path / "pack"), tmp_path / "run"
    words = ["segment", "train", "--data", str(pack), "--recipe", "segment-none", "--out", str(out)]
    assert main([*words, *SMALL]) == 0
    assert capsys.readouterr().out.endswith("result.json, report.html\n")
    assert kind_of(out) == "segment train"
    text = (out / "report.html").read_text("utf-8")
    result = json.loads((out / "result.json").read_text("utf-8"))
    last = result["figures"]["last epoch"]
    assert f'<td class="number">{100 * last["test_mean_iou"]:.2f} %</td>' in text
    for one in result["point_classes"]:
        cells = (f"{one['points']:,}", f"{100 * one['iou']:.1f} %")
        assert f"<td>{one['class']}</td>" + "".join(f'<td class="number">{cell}</td>' for cell in cells) in text
    for title in ("Training", "Classes", "Confusion matrix", "Test sets", "How it was made"):
        assert f"<h2>{title}</h2>" in text
    assert escape(result["command"]) in text
    assert (out / "config.yaml").read_text("utf-8").splitlines()[0] in text
    assert text.count("plotly.js v") == 1
    assert "Mistakes" not in text
    # A page can be written again when the data has gone: then it shows no sets.
    (pack / "test.npz").unlink()
    assert main(["report", str(out), "--out", str(tmp_path / "again.html")]) == 0
    again = (tmp_path / "again.html").read_text("utf-8")
    assert "<h2>Confusion matrix</h2>" in again
    assert "<h2>Test sets</h2>" not in again


def test_the_table_of_classes() -> None:
    text = class_table([[6, 2, 0], [1, 3, 0], [0, 0, 0]], ["low", "<high>", "none"])
    cells = [part.partition("<")[0] for part in text.partition("<tbody>")[2].split(">") if part.partition("<")[0]]
    assert cells[:5] == ["low", "8", "66.7 %", "75.0 %", "85.7 %"]
    assert cells[5:10] == ["&lt;high&gt;", "4", "50.0 %", "75.0 %", "60.0 %"]
    assert cells[10:] == ["none", "0", "-", "-", "-"]


def test_sets_are_chosen_for_their_classes() -> None:
    labels = [[0, 0, 0], [0, 1, 1], [2, 2, -1], [0, 1, 3]]
    clouds = [np.random.default_rng(number).normal(size=(3, 3)) for number in range(4)]
    pack = Pack.from_arrays(clouds, point_labels=[np.array(one) for one in labels], point_classes=tuple("abcd"))
    assert chosen_sets(pack) == [3, 2, 0]


def test_a_set_is_labelled_with_the_features_that_the_network_reads(tmp_path: Path) -> None:
    trained = load(save_segmenter(tmp_path / "model.safetensors", features={"colour": 3}))
    pack = halves(2, seed=1)
    points, truth, found = label_set(trained, point_view_of(trained.description, "network"), pack, 1)
    assert points.shape == (64, 3)
    assert np.array_equal(truth, pack.point_labels[1])  # type: ignore[index]
    assert pack.batch([1]).features is not None
    expected = trained.segment(points, {"colour": pack.batch([1]).features["colour"][0]})  # type: ignore[index]
    assert np.array_equal(found.labels, expected.labels)


def test_a_class_has_one_colour_on_both_sides() -> None:
    points = np.random.default_rng(0).normal(size=(6, 3))
    found = Segmentation(np.array([0, 0, 1, 1, 1, 1], np.int16), np.ones(6, np.float32), CLASSES)
    drawn = pair(points, np.array([0, 1, 1, 1, 0, -1]), found, "part <3>")
    names = [(trace.scene, trace.name, trace.marker.color, len(trace.x)) for trace in drawn.data]
    assert names == [
        ("scene", "no label", "#c4cbd4", 1),
        ("scene", "low", class_colour(0), 2),
        ("scene", "high", class_colour(1), 3),
        ("scene2", "low", class_colour(0), 2),
        ("scene2", "high", class_colour(1), 4),
    ]
    titles = [note.text for note in drawn.layout.annotations]
    assert titles == ["part &lt;3&gt;<br>truth", "prediction<br>60.0 % of the points right"]
