"""The page of `cluster fit`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.cli import main
from sampled_transformer.clustering.fit import MOST_DRAWN, Clusters
from sampled_transformer.report.cluster_fit_page import fit_page, plane, space

pytest.importorskip("plotly")


def clusters(points: int, dimension: int) -> Clusters:
    cloud = np.random.default_rng(0).normal(size=(points, dimension))
    own = np.arange(points) % 2
    means, deviations = np.zeros((2, dimension)), np.ones((2, dimension))
    names = tuple(f"<{axis}>" for axis in range(dimension))
    return Clusters("a&b.csv", cloud, np.array([0.25, 0.75]), means, deviations, own, -1.5, names)


def test_cluster_fit_writes_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, page = tmp_path / "points.csv", tmp_path / "page.html"
    np.savetxt(table, np.random.default_rng(0).normal(size=(50, 2)), delimiter=",", header="a,b", comments="")
    assert main(["cluster", "fit", str(table), "--clusters", "2", "--page", str(page)]) == 0
    assert capsys.readouterr().err.endswith(f"{page}: written\n")
    text = page.read_text("utf-8")
    assert text.count("<td>cluster ") == 2
    assert "mean a</th>" in text
    assert "sampled-transformer cluster fit points.csv --weights mixtures --clusters 2 --samples 8" in text
    assert str(tmp_path) not in text
    assert text.count("plotly.js v") == 1
    assert main(["cluster", "fit", str(table), "--page", str(tmp_path / "no" / "page.html")]) == 2
    assert "page: expected a file in a folder that exists" in capsys.readouterr().err


def test_names_are_escaped_and_few_points_are_drawn() -> None:
    text = fit_page(clusters(MOST_DRAWN + 7, 4), {"command": "fit"})
    assert "<h1>Clusters of a&amp;b.csv</h1>" in text
    assert "mean &lt;3&gt;" in text
    assert f"{MOST_DRAWN:,} of them are drawn" in text


@pytest.mark.parametrize("dimension", [1, 2])
def test_flat_points_have_an_ellipse_per_cluster(dimension: int) -> None:
    found = clusters(10, dimension)
    kinds = [(trace.name, trace.mode, len(trace.x)) for trace in plane(found).data]
    assert kinds == [(f"cluster {own}", mode, n) for own in (0, 1) for mode, n in (("markers", 5), ("lines", 73))]
    widest = max(plane(found).data[1].x)
    assert widest == pytest.approx(2.0)  # two deviations


def test_points_in_space_can_be_turned() -> None:
    assert [(trace.type, trace.name, len(trace.z)) for trace in space(clusters(10, 3)).data] == [
        ("scatter3d", "cluster 0", 5),
        ("scatter3d", "cluster 1", 5),
    ]
