from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.cli import main


@pytest.fixture
def table(tmp_path: Path) -> Path:
    np.savetxt(tmp_path / "points.csv", np.random.default_rng(0).normal(size=(50, 2)), delimiter=",")
    return tmp_path / "points.csv"


def test_clusters_are_shown_and_written(
    table: Path, clusterer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, picture = tmp_path / "found.json", tmp_path / "found.svg"
    words = ["cluster", "fit", str(table), "--weights", str(clusterer)]
    assert main([*words, "--out", str(found), "--picture", str(picture), "--refine", "2"]) == 0
    printed = capsys.readouterr().out
    assert "points.csv: 50 points, log-likelihood -" in printed
    assert " per point\n" in printed
    assert "  3: weight 0." in printed
    assert json.loads(found.read_text())["points"] == 50
    assert picture.read_text().startswith("<svg")
    assert main([*words, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["clusters"]) == 4


def test_targets_are_checked_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "fit", "points.csv", "--weights", "run", "--picture", "a.png"]) == 2
    assert "picture: expected a file name ending in .svg" in capsys.readouterr().err
