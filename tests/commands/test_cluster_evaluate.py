from __future__ import annotations

import json
from pathlib import Path

import pytest

from sampled_transformer.cli import main
from sampled_transformer.commands.cluster_train import figures_line


def test_figures_are_those_of_the_training(clusterer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "evaluate", str(clusterer), "--sets", "10", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["figures"]["LL0"] == pytest.approx(
        json.loads((clusterer / "result.json").read_text())["figures"]["LL0"]
    )
    assert main(["cluster", "evaluate", str(clusterer), "--sets", "10"]) == 0
    assert capsys.readouterr().out == figures_line(result["figures"]) + "\n"
    kept = json.loads((clusterer / "evaluate" / "result.json").read_text("utf-8"))
    assert (kept["figures"], kept["command"].split()[1:3]) == (result["figures"], ["cluster", "evaluate"])


def test_other_sets_may_be_measured(clusterer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["cluster", "evaluate", str(clusterer), "--sets", "10", "--device", "cpu", "--json"]
    assert main([*words, "--data.spread", "3", "--covariance", "full"]) == 0
    data = json.loads(capsys.readouterr().out)["data"]
    assert (data["spread"], data["points"]) == (3.0, [10, 20])
    assert main([*words, "--data.points", "[30, 40]"]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["points"] == [30, 40]
    assert main([*words, "--covariance", "round"]) == 2
    assert "covariance: expected one of diagonal, spherical, full, got 'round'" in capsys.readouterr().err
