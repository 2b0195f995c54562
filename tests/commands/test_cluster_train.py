from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from sampled_transformer.cli import main
from sampled_transformer.commands.cluster_train import figures_line

SMALL = ["--options.dim", "8", "--options.heads", "2", "--data.points", "[10, 20]", "--batch", "2", "--sets", "10"]


def test_a_recipe_is_trained_and_continues(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn")
    out = tmp_path / "run"
    words = ["cluster", "train", "--recipe", "cluster-columns", "--out", str(out), "--steps", "4", "--every", "2"]
    assert main([*words, *SMALL, "--options.attention_options.kept", "2"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^LL0 -[\d.]+, LL1 -[\d.]+ \(true mixtures: -1\.", printed, re.M)
    assert f"{out}: " in printed
    config = yaml.safe_load((out / "config.yaml").read_text())
    assert config["options"]["attention_options"] == {"inducing": 16, "reading": "columns", "kept": 2}
    assert config["data"]["points"] == [10, 20]
    assert main(["cluster", "train", "--out", str(out), "--resume"]) == 0
    assert figures_line(json.loads((out / "result.json").read_text())["figures"]) in capsys.readouterr().out
    assert main(["cluster", "train", "--out", str(out), "--resume", "--rate", "0.1"]) == 2
    assert "rate: expected 0.001, as when the run in" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "out: expected --out OUT (folder of the run), got nothing"),
        (["--out", "x", "--data", "bricks"], "got --data; did you mean --data.points?"),
        (["--out", "x", "--data.points", "[5]"], "data.points: expected a list of 2 values, got '[5]'"),
        (["--out", "x", "--model", "basic"], "model: expected a network that predicts mixtures, got 'basic'"),
        (
            ["--out", "x", "--recipe", "basic-dense"],
            "expected a recipe of `cluster train`, got 'basic-dense'",
        ),
    ],
)
def test_errors(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn")
    assert main(["cluster", "train", *words]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
