"""The commands `pretrain`, `probe`, `fewshot` and `reconstruct`, run as users run them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from sampled_transformer import create_model
from sampled_transformer.cli import main
from sampled_transformer.data import Pack, write_pack
from sampled_transformer.models.mae import POINT_MAE
from sampled_transformer.training.recipes import list_recipes, recipe_text
from sampled_transformer.training.settings import FINE_TUNING, PRETRAINING, OptimiserOptions

NETWORK = {"dim": 16, "heads": 2, "hidden": 16, "depth": 1, "embedding": 8, "groups": 8, "group_size": 8}
SMALL = [word for name, value in NETWORK.items() for word in (f"--options.{name}", str(value))]
CPU = ["--trainer.accelerator", "cpu"]


@pytest.fixture
def shapes(tmp_path) -> Path:
    """Needles and balls."""
    folder = tmp_path / "shapes"
    folder.mkdir()
    for split, each in (("train", 12), ("test", 6)):
        generator = np.random.default_rng(each)
        labels = np.arange(2 * each) % 2
        points = generator.normal(size=(2 * each, 40, 3)) * np.array([[0.05, 0.05, 1], [1, 1, 1]])[labels][:, None]
        write_pack(Pack.from_arrays(points, labels=labels, classes=("needle", "ball")), folder / f"{split}.npz")
    return folder


def test_from_pre_training_to_few_shots(shapes, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = ["--data", str(shapes), "--data.points", "32", "--data.batch", "8", *CPU]
    words = ["pretrain", *data, "--recipe", "pretrain-dense", "--out", "pre", "--epochs", "2", *SMALL]
    assert main([*words, "--optimiser.warmup", "0"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^epoch 1/2: loss [\d.]+, [\d.]+ s, [\d:]+ left$", text, re.M)
    assert re.search(r"^last epoch, 2: loss [\d.]+, probe [\d.]+ % \(on training shapes\)$", text, re.M)
    config = yaml.safe_load(Path("pre", "config.yaml").read_text())
    assert (config["attention"], config["recipe"], config["options"]["drop_path"]) == ("dense", "pretrain-dense", 0.1)
    assert main(["pretrain", "--out", "pre", "--resume", "--epochs", "3"]) == 0
    assert "last epoch, 3: " in capsys.readouterr().out

    assert main(["probe", "pre", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["shapes"] == [24, 12]
    assert main(["probe", "pre", "--scratch", "--data", str(shapes), "--samples", "2"]) == 0
    assert re.search(r"linear probe  accuracy +[\d.]+ %", capsys.readouterr().out)

    few = ["fewshot", "pre", *data, "--recipe", "fewshot-5way-10shot-small", "--way", "2", "--shot", "4"]
    few += ["--queries", "3", "--folds", "2", "--epochs", "1", "--out", "few"]
    assert main(few) == 0
    text = capsys.readouterr().out
    assert re.search(r"^fold 2/2: [\d.]+ %, [\d.]+ s$", text, re.M)
    assert re.search(r"^2-way 4-shot, 2 folds, one pass: [\d.]+ \+- [\d.]+ %$", text, re.M)
    assert json.loads(Path("few", "result.json").read_text())["recipe"] == "fewshot-5way-10shot-small"
    assert main(few) == 2
    assert "few: exists already" in capsys.readouterr().err
    assert main([*few, "--resume", "--scratch"]) == 2
    assert "scratch: expected what the run in few was started with" in capsys.readouterr().err
    assert main([*few, "--resume", "--folds", "3"]) == 0
    assert "fold 3/3: " in capsys.readouterr().out

    fine = ["train", *data, "--recipe", "finetune-modelnet40", "--attention", "dense", "--init", "pre"]
    assert main([*fine, "--out", "fine", "--epochs", "1", "--optimiser.warmup", "0", *SMALL]) == 0
    assert "encoder.stack (12); new: head (16); not used: mask_token (1)" in capsys.readouterr().out
    words = ["train", *data, "--model", "mae-classifier", "--attention", "dense", "--init", "pre", "--epochs", "1"]
    assert main([*words, "--out", "plain"]) == 0  # the encoder of the weights, without a word of its size
    assert "encoder.stack (12); new: head (16); not used: mask_token (1)" in capsys.readouterr().out
    assert main([*words, "--out", "wide", "--options.dim", "32"]) == 2
    assert "fits another network: options.dim: expected 32, got 16" in capsys.readouterr().err
    assert not Path("wide").exists()
    assert main(["evaluate", "fine", "--votes", "2"]) == 0
    assert "voted over 2 augmentations" in capsys.readouterr().out

    np.save("cloud.npy", np.random.default_rng(0).normal(size=(50, 3)))
    assert main(["reconstruct", "cloud.npy", "--weights", "pre", "--out", "clouds"]) == 0
    assert re.search(r"cloud.npy: 5 of 8 groups masked and rebuilt, Chamfer-L2 [\d.]+", capsys.readouterr().out)
    assert sorted(path.name for path in Path("clouds").iterdir()) == ["original.ply", "rebuilt.ply", "visible.ply"]
    assert main(["predict", "cloud.npy", "--weights", "fine"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pretrain", "--data", "bricks"], "out: expected the folder of the run"),
        (["pretrain", "--data", "bricks", "--out", "x", "--options.mask_ratio", "0"], "mask_ratio: expected more than"),
        (
            ["pretrain", "--data", "bricks", "--out", "x", "--options.mask_ratio", "0.01"],
            "at least one visible and one",
        ),
        (["pretrain", "--data", "bricks", "--out", "x", "--data.points", "50"], "data.points: expected at least 64"),
        (["pretrain", "--data", "bricks", "--out", "x", "--recipe", "pretrain"], "did you mean 'pretrain-"),
        (["train", "--data", "bricks", "--out", "x", "--model", "mae"], "trained by the command `pretrain`"),
        (["probe", "nowhere"], "nowhere: no such file, run folder or packaged weights"),
        (
            ["fewshot", "nowhere", "--data", "bricks", "--out", "x"],
            "nowhere: no such file, run folder or packaged weights",
        ),
        (["fewshot", "x", "--data", "bricks", "--out", "x", "--way", "1"], "way: expected at least 2, got 1"),
        (["reconstruct", "none.ply", "--weights", "nowhere"], "nowhere: no such file, run folder or packaged weights"),
    ],
)
def test_errors_are_one_line_and_leave_nothing(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("sampled-transformer: error: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err
    assert not list(tmp_path.iterdir())


RECIPES = [name for name in list_recipes() if name.split("-")[0] in ("pretrain", "finetune", "fewshot")]


def test_every_recipe_of_the_issue_is_there_with_a_small_twin():
    names = ["pretrain-dense", "pretrain-sampled", "finetune-modelnet40"]
    names += [f"finetune-scanobjectnn-{variant}" for variant in ("objbg", "objonly", "pbt50rs")]
    names += [f"fewshot-{way}way-{shot}shot" for way in (5, 10) for shot in (10, 20)]
    assert {*names, *(f"{name}-small" for name in names), "pretrain-point-mae"} == set(RECIPES)


@pytest.mark.parametrize("name", RECIPES)
def test_recipes_are_understood(name, capsys):
    kind = name.split("-")[0]
    words = {"pretrain": ["pretrain"], "finetune": ["train"], "fewshot": ["fewshot", "run"]}[kind]
    with pytest.raises(SystemExit) as end:
        main([*words, "--recipe", name, "--data", "bricks", "--out", "x", "--print_config"])
    assert end.value.code == 0
    tree = yaml.safe_load(capsys.readouterr().out)
    assert tree["recipe"] == name
    options = OptimiserOptions(**tree["optimiser"])
    if not name.endswith("-small") and name != "pretrain-point-mae":
        assert options == (PRETRAINING if kind == "pretrain" else FINE_TUNING)
        assert tree["epochs"] == (150 if kind == "fewshot" else 300)
        assert tree["data"]["batch"] == (64 if kind == "pretrain" else 32)
    if kind == "fewshot":
        assert name.startswith(f"fewshot-{tree['way']}way-{tree['shot']}shot")
        return
    more = {"classes": 40} if kind == "finetune" else {}
    with torch.device("meta"):
        network = create_model(tree["model"], attention=tree["attention"], **tree["options"], **more)
    expected = "pretrain-sampled-small" if name.endswith("-small") else "pretrain-sampled"
    if name != "pretrain-point-mae":
        recipe = yaml.safe_load(recipe_text(expected))
        with torch.device("meta"):
            assert network.encoder.shape == create_model("mae", **recipe["options"]).encoder.shape


def test_the_recipe_of_point_mae_is_the_preset():
    tree = yaml.safe_load(recipe_text("pretrain-point-mae"))
    assert {"attention": tree["attention"], **tree["options"]} == POINT_MAE


def test_commands_do_not_load_torch_before_it_is_needed():
    program = "import sys, sampled_transformer.commands.mae; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "lightning", "torchmetrics", "sklearn"} & set(loaded)
