from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.cli import main

pytestmark = pytest.mark.usefixtures("own_folder")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    np.savetxt(tmp_path / "points.csv", np.random.default_rng(0).normal(size=(50, 2)), delimiter=",")
    return tmp_path / "points.csv"


def test_clusters_are_shown_and_written(
    table: Path, clusterer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, picture = tmp_path / "found.json", tmp_path / "found.svg"
    words = ["cluster", "fit", str(table), "--weights", str(clusterer)]
    words += ["--clusters", "4"]
    assert main([*words, "--out", str(found), "--picture", str(picture), "--refine", "2"]) == 0
    printed = capsys.readouterr().out
    assert "points.csv: 50 points, 4 clusters, log-likelihood -" in printed
    assert " per point\n" in printed
    assert "  3: weight 0." in printed
    assert json.loads(found.read_text())["points"] == 50
    assert picture.read_text().startswith("<svg")
    assert main([*words, "--json"]) == 0
    shown = capsys.readouterr()
    assert len(json.loads(shown.out)["clusters"]) == 4
    assert shown.err.endswith("runs/fit-points/report.html: written\n")
    assert "points.csv" in (tmp_path / "runs/fit-points/report.html").read_text("utf-8")


def test_targets_are_checked_first(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "fit", "points.csv", "--weights", "run", "--picture", "a.png"]) == 2
    assert "picture: expected a file name ending in .svg" in capsys.readouterr().err


def test_three_heaps_are_three_clusters_with_the_names_of_the_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    centres = np.array([[0, 0], [30, 5], [10, 40]])
    points = (centres[:, None] + np.random.default_rng(0).normal(0, 2, (3, 60, 2))).reshape(-1, 2)
    table, out = tmp_path / "heaps.csv", tmp_path / "out.csv"
    np.savetxt(table, points, delimiter=",", header="width,height", comments="")
    assert main(["cluster", "fit", str(table), "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "heaps.csv: 180 points, 3 clusters, log-likelihood" in printed
    assert "\n  columns: width height\n" in printed
    assert out.read_text().splitlines()[0].startswith("width,height,cluster,weight,mean_width,")
    assert main(["cluster", "fit", str(table), "--clusters", "2", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["clusters"]) == 2
    assert main(["cluster", "fit", str(table), "--clusters", "5"]) == 2
    assert "clusters: expected auto, or 1 to 4, which these weights know, got 5" in capsys.readouterr().err
