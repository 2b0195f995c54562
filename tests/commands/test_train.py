"""The commands `train`, `evaluate` and `predict`, run as users run them."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml

from sampled_transformer.cli import main
from sampled_transformer.weights import describe_model, load_model

OFF = "OFF\n4 4 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n"
SMALL = ["--data.points", "16", "--options.dim", "16", "--options.hidden", "16", "--trainer.accelerator", "cpu"]


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "sampled_transformer", *map(str, words)]


@pytest.fixture
def shapes(tmp_path) -> Path:
    for category, height in (("low", "0.1"), ("high", "9")):
        for number in range(6):
            path = tmp_path / "shapes" / category / f"{number}.off"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(OFF.replace("0 0 1", f"0 0 {height}"))
    return tmp_path / "shapes"


def test_own_folder_trained_evaluated_and_asked(shapes, tmp_path, capsys):
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

    assert main(["evaluate", str(out), "--json", "--votes", "2"]) == 0
    result = json.loads(capsys.readouterr().out)
    last = json.loads((out / "result.json").read_text())["figures"]["last epoch"]
    assert result["figures"]["one pass"]["accuracy"] == pytest.approx(last["test_accuracy"])
    assert main(["evaluate", str(out / "model.safetensors"), "--data", str(shapes)]) == 0
    assert "one pass  accuracy" in capsys.readouterr().out

    files = [str(shapes / "low" / "0.off"), str(tmp_path / "none.off"), str(shapes / "high")]
    assert main(["predict", *files, "--weights", str(out), "--top", "1", "--samples", "2"]) == 1
    captured = capsys.readouterr()
    assert captured.err == f"could not be read: {tmp_path}/none.off: No such file or directory\n"
    lines = captured.out.splitlines()
    assert len(lines) == 14
    assert re.fullmatch(r" +[\d.]+ % \+- +[\d.]+  (low|high)", lines[1])
    assert main(["predict", files[0], "--weights", str(out), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)[0]
    assert {row["class"] for row in answer["classes"]} == {"low", "high"}


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
        (["train", "--data", "bricks"], "out: expected the folder of the run"),
        (["train", "--out", "x"], "required: train.data.source"),
        (["train", "--data", "nowhere", "--out", "x"], "nowhere: no such file, folder or data set"),
        (["train", "--data", "bricks", "--out", "x", "--recipe", "best"], "recipe: expected one of basic-dense"),
        (["train", "--data", "bricks", "--out", "x", "--model", "big"], "model: expected one of basic"),
        (["train", "--data", "bricks", "--out", "x", "--attention", "full"], "attention: expected one of dense"),
        (["train", "--data", "bricks", "--out", "x", "--data.preset", "odd"], "data.preset: expected one of"),
        (["train", "--data", "bricks", "--out", "x", "--data.points", "513"], "data.points: expected at most 512"),
        (["train", "--data", "bricks", "--out", "x", "--data.validation", "1"], "data.validation: expected 0 or more"),
        (["train", "--data", "bricks", "--out", "x", "--optimiser.rate", "-1"], "optimiser.rate: expected a positive"),
        (["train", "--data", "bricks", "--out", "x", "--options.size", "3"], "unexpected keyword argument 'size'"),
        (["train", "--data", "bricks", "--out", "x", "--epochs", "0"], "epochs: expected at least 1"),
        (["train", "--data", "bricks", "--out", "x", "--resume"], "x: no run to resume"),
        (["train", "--data", "bricks", "--out", "x", "--config", "none.yaml"], "none.yaml"),
        (["evaluate", "nowhere"], "nowhere: no such file, run folder or packaged weights"),
        (["evaluate", "."], "model.safetensors: no such file"),
        (["predict", "a.off", "--weights", "nowhere"], "packaged weights: bricks"),
        (["predict"], "required: predict.files"),
    ],
)
def test_errors_are_one_line_and_leave_nothing(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
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


def test_commands_do_not_load_the_engine_before_it_is_needed():
    program = "import sys, sampled_transformer.cli; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "lightning", "torchmetrics", "tensorboard"} & set(loaded)
