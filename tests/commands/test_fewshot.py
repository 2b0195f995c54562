from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from sampled_transformer.cli import main


def test_folds_are_measured_and_continue(
    pretrained: Path,
    cloud_options: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["fewshot", str(pretrained), *cloud_options, "--recipe", "fewshot-5way-10shot-small", "--way", "2"]
    words += ["--shot", "4", "--queries", "3", "--folds", "2", "--epochs", "1", "--out", "few"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert re.search(r"^fold 2/2: [\d.]+ %, [\d.]+ s$", text, re.M)
    assert re.search(r"^2-way 4-shot, 2 folds, one pass: [\d.]+ \+- [\d.]+ %$", text, re.M)
    assert text.endswith("result.json and one file per fold, report.html\n")
    assert json.loads(Path("few", "result.json").read_text())["recipe"] == "fewshot-5way-10shot-small"
    assert yaml.safe_load(Path("few", "config.yaml").read_text())["init"] == str(pretrained)
    assert main(words) == 2
    assert "got few, which exists already" in capsys.readouterr().err
    assert main([*words, "--resume", "--scratch"]) == 2
    assert "scratch: expected False, as when the run in few was started, got True" in capsys.readouterr().err
    assert main(["fewshot", str(pretrained), "--out", "few", "--resume", "--folds", "3"]) == 0
    assert "fold 3/3: " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere", "--data", "bricks", "--out", "x"], "nowhere: no such file, run folder or shipped weights"),
        (["x", "--data", "bricks", "--out", "x", "--way", "1"], "way: expected at least 2, got 1"),
        (["--data", "bricks", "--out", "x"], "weights: expected WEIGHTS, got nothing"),
        (["x", "--data", "bricks", "--out", "x", "--model", "mae"], "expected one of its options, got --model"),
    ],
)
def test_errors_are_one_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fewshot", *words]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert message in captured.err
