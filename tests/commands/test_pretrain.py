from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from sampled_transformer.cli import main


def test_trained_probed_and_continued(
    cloud_options: list[str], encoder_options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "pre"
    words = ["pretrain", *cloud_options, "--recipe", "pretrain-dense", "--out", str(out), "--epochs", "2"]
    assert main([*words, *encoder_options, "--optimiser.warmup", "0"]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^epoch 1/2: loss [\d.]+, [\d.]+ s, [\d:]+ left$", text, re.M)
    assert re.search(r"^last epoch, 2: loss [\d.]+, probe [\d.]+ % \(on training shapes\)$", text, re.M)
    config = yaml.safe_load((out / "config.yaml").read_text())
    assert (config["attention"], config["recipe"], config["options"]["drop_path"]) == ("dense", "pretrain-dense", 0.1)
    assert main(["pretrain", "--out", str(out), "--resume", "--epochs", "3"]) == 0
    assert "last epoch, 3: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--data", "bricks"], "out: expected --out OUT (folder of the run), got nothing"),
        (["--data", "bricks", "--out", "x", "--options.mask_ratio", "0"], "mask_ratio: expected more than"),
        (["--data", "bricks", "--out", "x", "--options.mask_ratio", "0.01"], "at least one visible and one"),
        (["--data", "bricks", "--out", "x", "--data.points", "50"], "data.points: expected at least 64"),
        (["--data", "bricks", "--out", "x", "--recipe", "pretrain"], "did you mean 'pretrain-"),
        (["--data", "bricks", "--out", "x", "--data.normals", "true"], "data.normals: expected false"),
    ],
)
def test_errors_are_one_line_and_leave_nothing(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["pretrain", *words]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert message in captured.err
    assert not list(tmp_path.iterdir())
