from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.point_packs import save_segmenter
from helpers.trained import save_small

from sampled_transformer.cli import main
from sampled_transformer.inference.robustness import NOTE
from sampled_transformer.weights import add_notes


def test_what_a_file_says_about_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = save_small(tmp_path / "w.safetensors", "basic-positions")
    assert main(["weights", "info", str(path)]) == 0
    text = capsys.readouterr().out
    assert f"{path}: basic (" in text
    assert "Classes: needle, disc, ball" in text
    assert "Robustness: not measured" in text
    figures = {"data": "shapes", "shapes": 9, "clean": 0.9, "curves": {"noise": [[0.1, 0.8]], "points": [[64, 0.5]]}}
    add_notes(path, {NOTE: figures})
    assert main(["weights", "info", str(path)]) == 0
    text = capsys.readouterr().out
    assert "Robustness, on 9 test shapes of shapes, accuracy in %: 90.0 on clean shapes" in text
    assert "noise (standard deviation, radius of the shape = 1): 80.0 at 0.1" in text
    assert text.index("number of points") < text.index("noise (")
    assert main(["weights", "info", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["notes"][NOTE] == figures
    assert found["classes"] == ["needle", "disc", "ball"]


def test_robustness_is_not_asked_of_labels_per_point(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weights", "info", str(save_segmenter(tmp_path / "w.safetensors"))]) == 0
    text = capsys.readouterr().out
    assert "segmenter (" in text
    assert "Robustness" not in text


@pytest.mark.parametrize("name", ["modelnet40-mae", "mixtures", "brick-parts"])
def test_robustness_is_not_asked_of_networks_that_cannot_be_measured(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["weights", "info", name]) == 0
    text = capsys.readouterr().out
    assert "Robustness" not in text
    assert "calibrate" not in text


def test_wrong_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["weights", "info", "brick"]) == 2
    assert "did you mean 'bricks'" in capsys.readouterr().err
    assert main(["weights", "info"]) == 2
    assert "expected WEIGHTS, got nothing" in capsys.readouterr().err
