"""The commands as the program will offer them, through the same parser."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from jsonargparse import auto_cli

from sampled_transformer.cli import _Parser
from sampled_transformer.commands.cluster import cluster_evaluate, cluster_fit, cluster_train

COMMANDS = {"train": cluster_train, "evaluate": cluster_evaluate, "fit": cluster_fit}


def program(*arguments: str) -> None:
    auto_cli(COMMANDS, args=list(arguments), parser_class=_Parser, exit_on_error=False)


def test_train_evaluate_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn")
    out = str(tmp_path / "run")
    small = ["--options.dim", "8", "--options.heads", "2", "--data.points", "[10, 20]"]
    program("train", "--out", out, *small, "--steps", "4", "--every", "2", "--batch", "2", "--sets", "10")
    printed = capsys.readouterr().out
    assert "LL0 -" in printed
    assert "(true mixtures: -1." in printed
    program("evaluate", out, "--sets", "10", "--json")
    result = json.loads(capsys.readouterr().out)
    assert f"LL0 {result['figures']['LL0']:.4f}" in printed
    program("evaluate", out, "--sets", "10", "--data.points", "[30, 40]", "--covariance", "full")
    assert "LL1 -" in capsys.readouterr().out
    program("evaluate", out, "--sets", "10", "--data.spread", "3", "--device", "cpu", "--json")
    assert json.loads(capsys.readouterr().out)["data"] == {**result["data"], "spread": 3.0}
    points = np.random.default_rng(0).normal(size=(50, 2))
    np.savetxt(tmp_path / "points.csv", points, delimiter=",")
    files = [str(tmp_path / name) for name in ("points.csv", "found.json", "found.svg")]
    program("fit", files[0], "--weights", out, "--out", files[1], "--picture", files[2], "--refine", "2")
    printed = capsys.readouterr().out
    assert "points.csv: 50 points, log-likelihood -" in printed
    assert "  3: weight 0." in printed
    assert json.loads(Path(files[1]).read_text())["points"] == 50
    assert Path(files[2]).read_text().startswith("<svg")
    program("fit", files[0], "--weights", out, "--json")
    assert len(json.loads(capsys.readouterr().out)["clusters"]) == 4


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="out: expected the folder of the run"):
        program("train")
    with pytest.raises(ValueError, match=r"picture: expected a file name ending in \.svg"):
        program("fit", "points.csv", "--weights", "run", "--picture", "a.png")


def test_importing_the_commands_loads_no_torch() -> None:
    program = "import sys, sampled_transformer.commands.cluster; assert not {'torch', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
