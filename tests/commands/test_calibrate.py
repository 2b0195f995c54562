from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.cli import main
from sampled_transformer.weights import describe_model


@pytest.fixture
def run(classifier: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(classifier, tmp_path / "run"))


def test_a_run_without_a_held_out_part_says_what_to_do(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", str(run)]) == 2
    error = capsys.readouterr().err
    assert "`train --data.validation 0.05`" in error
    assert error.count("\n") == 1


def test_weights_get_a_temperature_and_predict_says_what_is_strange(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "fitted.safetensors"
    words = ["calibrate", str(run), "--validation", "0.5", "--alarms", "0.2", "--out", str(out)]
    assert main(words) == 0
    text = capsys.readouterr().out.splitlines()
    assert text[0].startswith("temperature ")
    assert text[0].endswith("fitted on 12 held-out training shapes")
    assert text[-2:] == ["shapes are called unfamiliar with a false-alarm rate of 20 %", f"{out}: written"]
    assert "calibration" not in describe_model(run).notes
    assert main([*words[:-2], "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert describe_model(run).notes["calibration"]["temperature"] == result["temperature"]
    np.save(tmp_path / "line.npy", np.linspace([-1, 0, 0], [1, 0, 0], 50))
    np.save(tmp_path / "needle.npy", np.random.default_rng(0).normal(size=(50, 3)) * [0.05, 0.05, 1])
    files = [str(tmp_path / "line.npy"), str(tmp_path / "needle.npy")]
    assert main(["predict", *files, "--weights", str(out), "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)
    assert all(isinstance(answer["familiar"], bool) for answer in answers)
    assert all(0 <= answer["strangeness"] <= 1 for answer in answers)
    assert main(["evaluate", str(out), "--no-report"]) == 0
    assert "unfamiliar: " in capsys.readouterr().out


def test_shipped_weights_are_not_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "bricks", "--validation", "0.1"]) == 2
    assert "out: expected a file, because bricks came with the package, got nothing" in capsys.readouterr().err


@pytest.mark.parametrize("out", ["weights.pt", "none/weights.safetensors"])
def test_a_file_that_cannot_be_written(run: Path, out: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", str(run), "--out", str(tmp_path / out)]) == 2
    assert "out: expected a file" in capsys.readouterr().err


def test_a_network_of_numbers_is_refused(regressor: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", str(regressor), "--validation", "0.5"]) == 2
    assert "expected a classifier, got a network that predicts a number" in capsys.readouterr().err
