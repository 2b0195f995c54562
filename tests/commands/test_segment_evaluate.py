"""The command `segment evaluate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sampled_transformer.cli import main


def test_figures_for_people_and_programs(segmenter: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["segment", "evaluate", str(segmenter)]) == 0
    text = capsys.readouterr().out
    assert "test split" in text
    assert "mean IoU" in text
    assert main(["segment", "evaluate", str(segmenter), "--json", "--split", "train", "--samples", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["mean_iou"] > 0.7
    assert (found["weights"], found["split"], found["samples"]) == (str(segmenter), "train", 2)
    assert (segmenter / "evaluate" / "report.html").is_file()
    assert json.loads((segmenter / "evaluate" / "result.json").read_text("utf-8"))["mean_iou"] == found["mean_iou"]


def test_features_can_be_left_out(segmenter: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["segment", "evaluate", str(segmenter), "--without", "normals, colour", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["without"] == ["normals", "colour"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "weights: expected WEIGHTS, got nothing"),
        (["bricks"], "expected a network that labels points, a 'segmenter', got a 'basic'"),
        (["RUN", "--data", "bricks"], "bricks, test split: expected point_labels, the class of every point, got none"),
        (["RUN", "--data", "nowhere"], "nowhere: no such file, folder or data set"),
        (
            ["RUN", "--without", "height"],
            "without: expected what the network can do without (colour, intensity, normals)",
        ),
        (["RUN", "--samples", "0"], "samples: expected at least 1, got 0"),
    ],
)
def test_errors_are_one_line(
    segmenter: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["segment", "evaluate", *(str(segmenter) if word == "RUN" else word for word in arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert message in captured.err


def test_other_commands_send_the_network_here(segmenter: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["evaluate", str(segmenter)], ["calibrate", str(segmenter)], ["export", str(segmenter), "n.onnx"]):
        assert main(words) == 2
        captured = capsys.readouterr()
        assert "a 'segmenter'" in captured.err
        assert "`segment predict`" in captured.err
        assert captured.err.count("\n") == 1
