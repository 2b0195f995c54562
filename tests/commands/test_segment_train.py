"""The command `segment train`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import laspy
import numpy as np
import pytest
import yaml
from helpers.point_packs import halves
from helpers.runs import rows

from sampled_transformer.cli import main
from sampled_transformer.data import write_pack
from sampled_transformer.weights import describe_model

SMALL = ["--options.widths", "[8,16]", "--trainer.accelerator", "cpu", "--data.batch", "4"]


def test_a_pack_is_trained_on_and_a_run_goes_on(
    halves_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    words = ["segment", "train", "--data", str(halves_folder), "--recipe", "segment-none", "--out", str(out)]
    own = ["--data.points", "48", "--epochs", "2", "--loss.also", "dice", "--optimiser.rate", "0.01"]
    assert main([*words, *own, *SMALL]) == 0
    text = capsys.readouterr().out
    assert re.search(
        r"^epoch 2/2: loss [\d.]+, train [\d.]+ %, test mean IoU [\d.]+ %, [\d.]+ s, 00:00 left$", text, re.M
    )
    assert re.search(r"^last epoch, 2: test mean IoU [\d.]+ %, points right [\d.]+ %$", text, re.M)
    assert re.search(r"^  low: IoU [\d.]+ %$", text, re.M)
    config = yaml.safe_load((out / "config.yaml").read_text())
    assert (config["attention"], config["recipe"], config["loss"]["also"]) == ("none", "segment-none", "dice")
    assert (config["data"]["points"], config["options"]["widths"]) == (48, [8, 16])
    assert main([*words, "--resume"]) == 0
    assert len(rows(out)) == 2
    assert describe_model(out / "model.safetensors").notes["data"]["points"] == 48


def test_ignored_classes_and_features_by_name(
    tmp_path: Path, halves_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    three = ("low", "high", "odd")
    (tmp_path / "pack").mkdir()
    for split, sets in (("train", 6), ("test", 2)):
        pack = halves(sets, point_classes=three)
        pack.point_labels[:, :9] = 2
        write_pack(pack, tmp_path / "pack" / f"{split}.npz")
    words = ["segment", "train", "--data", str(tmp_path / "pack"), "--out", str(tmp_path / "run"), "--epochs", "1"]
    own = ["--loss.ignore", '["odd"]', "--data.features", '["colour"]', "--data.normals", "false"]
    assert main([*words, *own, *SMALL]) == 0
    assert "  odd: IoU no points" in capsys.readouterr().out
    assert describe_model(tmp_path / "run" / "model.safetensors").options["features"] == {"colour": 3}


def test_a_folder_of_labelled_surveys_and_the_way_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Train on LAS files as they come, in map coordinates, and label one: the classes keep the numbers of LAS."""
    monkeypatch.chdir(tmp_path)
    for split, name, seed in (("train", "west.las", 0), ("train", "north.laz", 1), ("test", "east.las", 2)):
        write_survey(tmp_path / "surveys" / split / name, seed)
    own = ["--data.part", "crop", "--data.points", "200", "--data.features", '["intensity"]', "--epochs", "8"]
    train = ["segment", "train", "--data", "surveys", "--recipe", "segment-none", "--out", "run", *own, *SMALL]
    assert main([*train, "--optimiser.rate", "0.01"]) == 0
    assert re.search(r"^  ground: IoU [\d.]+ %\n  building: IoU [\d.]+ %$", capsys.readouterr().out, re.M)
    assert main(["segment", "evaluate", "run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mean_iou"] > 0.7
    bare = laspy.read("surveys/test/east.las")
    truth = np.array(bare.classification)
    bare.classification[:] = 0
    bare.write("bare.las")
    assert main(["segment", "predict", "bare.las", "--weights", "run"]) == 0
    assert (np.asarray(laspy.read("labelled/bare.las").classification) == truth).mean() > 0.85


def write_survey(path: Path, seed: int) -> None:
    """Ground at 100 m, roofs 5 m above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(seed)
    points = generator.uniform(0, 20, (800, 3)) * [1, 1, 0.05]
    is_roof = points[:, 0] % 10 > 6
    points[is_roof, 2] += 5
    header = laspy.LasHeader(point_format=1, version="1.2")
    header.offsets, header.scales = [500_000, 4_000_000, 0], [0.001] * 3
    las = laspy.LasData(header)
    las.x, las.y, las.z = (points + [500_000, 4_000_000, 100]).T
    las.classification, las.intensity = np.where(is_roof, 6, 2), generator.integers(0, 1000, 800)
    las.write(path)


OUT = ["--out", "x"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "data: expected --data SOURCE"),
        (["--data", "bricks", *OUT], "bricks, train split: expected point_labels, the class of every point, got none"),
        (["--data", "PACK", *OUT, "--model", "basic"], "model: expected 'segmenter', the network that labels points"),
        (["--data", "PACK", *OUT, "--recipe", "basic-sampled"], "recipe: expected"),
        (["--data", "PACK", *OUT, "--data.points", "65"], "data.points: expected at most 64"),
        (["--data", "PACK", *OUT, "--data.features", '["color"]'], "did you mean 'colour'"),
        (["--data", "PACK", *OUT, "--loss.ignore", '["top"]'], "loss.ignore: expected one of high, low, got 'top'"),
        (["--data", "PACK", *OUT, "--loss.also", "jaccard"], "loss.also: expected"),
        (
            ["--data", "PACK", *OUT, "--options.classes", "3"],
            "options.classes: expected none, because the data decides",
        ),
        (["--data", "PACK", *OUT, "--options.wdths", "3"], "did you mean 'widths'"),
        (["--data", "PACK", *OUT, "--options.widths", "[0]"], "widths: expected positive numbers"),
        (["--data", "PACK", *OUT, "--data.validation", "1"], "data.validation: expected 0 or more"),
        (["--data", "PACK", *OUT, "--resume"], "x: no run to resume"),
    ],
)
def test_errors_are_one_line_and_leave_nothing(
    arguments: list[str],
    message: str,
    halves_folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["segment", "train", *(str(halves_folder) if word == "PACK" else word for word in arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("sampled-transformer: error: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err
    assert not list(tmp_path.iterdir())
