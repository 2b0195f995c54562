"""The command `train`, run as users run it."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from sampled_transformer.cli import main
from sampled_transformer.inference.trained_network import load
from sampled_transformer.weights import describe_model, load_model

OUT = ["--out", "x"]
SMALL = ["--data.points", "16", "--options.dim", "16", "--options.hidden", "16", "--trainer.accelerator", "cpu"]


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "sampled_transformer", *map(str, words)]


def test_a_folder_of_ones_own_is_trained_on(shapes, tmp_path, capsys):
    out = tmp_path / "run"
    arguments = ["train", "--data", str(shapes), "--recipe", "basic-dense", "--out", str(out), "--epochs", "2", *SMALL]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert re.search(
        r"^epoch 2/2: loss [\d.]+, train [\d.]+ %, test [\d.]+ %, [\d.]+ s, 00:00 left$", captured.out, re.M
    )
    assert re.search(r"^last epoch, 2: test accuracy", captured.out, re.M)
    assert "best epoch (chosen on test, not the headline)" in captured.out
    config = yaml.safe_load((out / "config.yaml").read_text())
    assert (config["attention"], config["recipe"], config["options"]["dim"]) == ("dense", "basic-dense", 16)
    assert config["options"]["batch_norm"] is True
    if find_spec("plotly") is not None:
        assert "dense" in (out / "report.html").read_text("utf-8")


def test_print_config_can_be_trained_with(tmp_path, capsys, shapes):
    with pytest.raises(SystemExit) as end:
        main(["train", "--data", str(shapes), "--recipe", "basic-knn", "--out", "x", "--epochs", "1", "--print_config"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    tree = yaml.safe_load(text)
    assert (tree["attention"], tree["epochs"], tree["optimiser"]["rate"]) == ("knn", 1, 0.002)
    (tmp_path / "own.yaml").write_text(text)
    assert main(["train", "--config", str(tmp_path / "own.yaml"), "--out", str(tmp_path / "run"), *SMALL]) == 0
    assert load_model(tmp_path / "run" / "model.safetensors")[1].options["attention"] == "knn"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "data: expected --data SOURCE (the name of a data set, a pack, or a folder of shapes), got nothing"),
        (["--data", "bricks"], "out: expected --out OUT (folder of the run), got nothing"),
        (["--data", "nowhere", *OUT], "nowhere: no such file, folder or data set"),
        (["--data", "bricks", *OUT, "--recipe", "best"], "recipe: expected one of 51 names, got 'best'"),
        (["--data", "bricks", *OUT, "--recipe", "basic-sample"], "did you mean 'basic-sampled'? (basic-*, "),
        (["--data", "bricks", *OUT, "--recepie", "x"], "got --recepie; did you mean --recipe?"),
        (["--data", "bricks", *OUT, "--lr", "1"], "got --lr; did you mean --optimiser.rate?"),
        (["--data", "bricks", *OUT, "--model", "big"], "model: expected one of basic"),
        (["--data", "bricks", *OUT, "--attention", "full"], "attention: expected one of dense"),
        (["--data", "bricks", *OUT, "--data.preset", "odd"], "data.preset: expected one of"),
        (["--data", "bricks", *OUT, "--data.points", "513"], "data.points: expected at most 512"),
        (["--data", "bricks", *OUT, "--data.validation", "1"], "data.validation: expected 0 or more"),
        (["--data", "bricks", *OUT, "--optimiser.rate", "-1"], "optimiser.rate: expected a positive"),
        (
            ["--data", "bricks", *OUT, "--options.dimm", "3"],
            "options.dimm: expected an option of the network 'basic' (",
        ),
        (["--data", "bricks", *OUT, "--options.dimm", "3"], "got 3; did you mean 'dim'?"),
        (["--data", "bricks", *OUT, "--epochs", "0"], "epochs: expected at least 1"),
        (["--data", "bricks", *OUT, "--resume"], "x: no run to resume"),
        ([*OUT, "--resume"], "x: no run to resume"),
        (
            ["--data", "bricks", *OUT, "--config", "none.yaml"],
            "none.yaml: No such file or directory; expected a YAML file",
        ),
        (["--data", "bricks", *OUT, "--model", "mae"], "which the command `pretrain` trains"),
        (["--data", "bricks", *OUT, "--model", "segmenter"], "which the command `segment train` trains"),
    ],
)
def test_errors_are_one_line_and_leave_nothing(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["train", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("sampled-transformer: error: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err
    assert not list(tmp_path.iterdir())


def test_the_command_in_the_result_makes_the_same_network(tmp_path, shapes, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nested = ["--options.attention_options.samples", "2", "--options.attention_options.order", "mixed"]
    arguments = ["train", "--data", str(shapes), "--recipe", "basic-sampled", "--out", "one", "--epochs", "1", *SMALL]
    assert main([*arguments, "--optimiser.clip", "1", "--data.normals", "false", "--seed", "5", *nested]) == 0
    assert describe_model("one/model.safetensors").options["attention_options"] == {"samples": 2, "order": "mixed"}
    words = shlex.split(json.loads(Path("one", "result.json").read_text())["command"])
    assert main([word if word != "one" else "two" for word in words[1:]]) == 0
    one, two = (load_model(Path(name, "model.safetensors")) for name in ("one", "two"))
    assert one[1].options == two[1].options
    assert all(torch.equal(value, two[0].state_dict()[name]) for name, value in one[0].state_dict().items())


def test_labels_out_of_range_are_one_line(tmp_path, capsys):
    points = np.zeros((4, 16, 3), np.int16)
    for split in ("train", "test"):
        np.savez(tmp_path / f"{split}.npz", points=points, labels=np.array([0, 0, 1, 2]), classes=np.array(["a", "b"]))
    assert main(["train", "--data", str(tmp_path), "--out", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err == (
        f"sampled-transformer: error: {tmp_path}/train.npz: labels: expected 0 to 1, got 0 to 2\n"
    )
    assert not (tmp_path / "run").exists()


def test_control_c_leaves_a_usable_run_that_goes_on(tmp_path):
    out = tmp_path / "run"
    words = command("train", "--data", "bricks", "--out", out, "--epochs", 300, *SMALL)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while process.poll() is None and not (out / "model.safetensors").exists():
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.search(
        rf"error: stopped in epoch \d+ of 300; go on with: sampled-transformer train --out {out} --resume$",
        errors.strip(),
    )
    load_model(out / "model.safetensors")
    done = json.loads((out / "result.json").read_text())["epochs"]
    ending = subprocess.run(
        command("train", "--out", out, "--resume", "--epochs", done + 1), capture_output=True, text=True, check=True
    )
    assert f"epoch {done + 1}/{done + 1}: " in ending.stdout
    assert len((out / "metrics.csv").read_text().splitlines()) == done + 2


def test_two_processes_train_one_run(tmp_path):
    out = tmp_path / "run"
    several = ["--trainer.devices", "2", "--trainer.strategy", "ddp"]
    words = command("train", "--data", "bricks", "--out", out, "--epochs", 1, *SMALL, *several)
    ending = subprocess.run(words, capture_output=True, text=True, check=True)
    assert ending.stdout.count("last epoch, 1: ") == 1
    accuracy = json.loads((out / "result.json").read_text())["figures"]["last epoch"]["test_accuracy"]
    measured = subprocess.run(command("evaluate", out, "--json"), capture_output=True, text=True, check=True)
    assert json.loads(measured.stdout)["figures"]["one pass"]["accuracy"] == pytest.approx(accuracy)


def test_weights_of_a_pre_training_start_a_classifier(
    pretrained, cloud_options, encoder_options, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    loaded = "encoder.stack (12); new: head (16); not used: mask_token (1)"
    fine = [
        "train",
        *cloud_options,
        "--recipe",
        "finetune-modelnet40",
        "--attention",
        "dense",
        "--init",
        str(pretrained),
    ]
    assert main([*fine, "--out", "fine", "--epochs", "1", "--optimiser.warmup", "0", *encoder_options]) == 0
    assert loaded in capsys.readouterr().out
    plain = ["train", *cloud_options, "--model", "mae-classifier", "--init", str(pretrained), "--epochs", "1"]
    assert main([*plain, "--out", "plain"]) == 0  # sizes and mechanism are those of the weights
    assert loaded in capsys.readouterr().out
    assert yaml.safe_load(Path("plain", "config.yaml").read_text())["attention"] == "dense"
    assert main(["train", "--out", "plain", "--resume"]) == 0
    assert main([*plain, "--out", "wide", "--options.dim", "32"]) == 2
    assert "init: expected weights of a network with options.dim 32, got" in capsys.readouterr().err
    assert not Path("wide").exists()


def test_numbers_from_a_folder_to_a_prediction(tmp_path, capsys):
    generator = np.random.default_rng(0)
    rows = ["path;flatness in %"]
    (tmp_path / "shapes" / "more").mkdir(parents=True)
    for number in range(60):
        height = generator.uniform(0.2, 1)
        name = f"{'more/' if number % 2 else ''}{number}.xyz"
        directions = generator.normal(size=(60, 3))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        np.savetxt(tmp_path / "shapes" / name, directions * [1, 1, height])
        rows.append(f"{name};{100 * height}")
    (tmp_path / "shapes" / "targets.csv").write_text("\n".join(rows))
    table = ["--targets", str(tmp_path / "shapes" / "targets.csv"), "--points", "48", "--workers", "1"]
    assert main(["data", "pack", str(tmp_path / "shapes"), str(tmp_path / "pack"), *table]) == 0
    out = tmp_path / "run"
    options = ["--options.dim", "32", "--options.hidden", "32", "--data.batch", "8", "--trainer.accelerator", "cpu"]
    assert main(["train", "--data", str(tmp_path / "pack"), "--out", str(out), "--epochs", "20", *options]) == 0
    captured = capsys.readouterr()
    assert re.search(
        r"^epoch 20/20: loss [\d.]+, train MAE [\d.]+, test R2 0\.\d+, [\d.]+ s, 00:00 left$", captured.out, re.M
    )
    figures = r"test MAE [\d.]+, RMSE [\d.]+, R2 [\d.]+$"
    assert re.search(rf"^last epoch, 20: {figures}", captured.out, re.M)
    assert re.search(rf"^best epoch \(chosen on test, not the headline\), \d+: {figures}", captured.out, re.M)
    assert json.loads((out / "result.json").read_text())["figures"]["last epoch"]["test_r2"] > 0.7
    flat, round_ = directions * [1, 1, 0.25], directions * [1, 1, 0.95]
    net = load(out)
    assert net.predict(flat) == pytest.approx(25, abs=20)
    assert net.predict(round_) == pytest.approx(95, abs=20)
