from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ElementTree
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from sampled_transformer import create_model
from sampled_transformer.clustering.evaluation import best_of, load_mixture_network
from sampled_transformer.clustering.fit import (
    Clusters,
    central_points,
    fit,
    write_clusters,
)
from sampled_transformer.clustering.likelihood import log_likelihood
from sampled_transformer.data.errors import DataError
from sampled_transformer.models.mixture import Mixture
from sampled_transformer.weights import Description, find_weights, save_model

fit_four = partial(fit, clusters=4)  # all that the networks here predict; an untrained one finds no heaps
CENTRES = np.array([[0.0, 0.0], [900.0, 0.0], [0.0, 900.0], [900.0, 900.0]])


def network_file(path: Path, dimension: int = 2) -> Path:
    torch.manual_seed(0)
    options = {"inputs": dimension, "dim": 8, "heads": 2, "attention_options": {"inducing": 4, "reading": "rows"}}
    save_model(
        create_model("set-transformer-mixture", **options), path, Description("set-transformer-mixture", options)
    )
    return path


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    return network_file(tmp_path / "model.safetensors")


@pytest.fixture
def corners() -> np.ndarray:
    """Forty points around each of four corners, far from the origin and in large units."""
    generator = np.random.default_rng(0)
    return (CENTRES[:, None] + generator.normal((5000, -3000), 20, size=(4, 40, 2))).reshape(-1, 2)


def write(path: Path, points: np.ndarray, head: str = "", separator: str = ",") -> Path:
    path.write_text(head + "".join(separator.join(map(repr, row)) + "\n" for row in points.tolist()))
    return path


def test_refined_clusters_are_those_of_the_points(weights: Path, corners: np.ndarray, tmp_path: Path) -> None:
    """The network is untrained: we test the conversion of the points to its frame and of the mixture back."""
    found = fit_four(write(tmp_path / "points.csv", corners), weights, refine=300, samples=4)
    normaliser = np.log(found.weights) - np.log(found.deviations).sum(1) - np.log(2 * np.pi)
    joint = normaliser - (((corners[:, None] - found.means) / found.deviations) ** 2).sum(-1) / 2
    each = np.logaddexp.reduce(joint, axis=1)
    assert found.log_likelihood == pytest.approx(each.mean(), rel=1e-9)
    assert np.array_equal(found.assignments, joint.argmax(1))
    share = np.exp(joint - each[:, None])  # after EM has converged, a step changes nothing
    np.testing.assert_allclose(found.weights, share.mean(0), rtol=1e-3)
    np.testing.assert_allclose(found.means, share.T @ corners / share.sum(0)[:, None], atol=1e-2)
    squares = (corners[:, None] - found.means) ** 2
    spread = np.sqrt((share[..., None] * squares).sum(0) / share.sum(0)[:, None])
    np.testing.assert_allclose(found.deviations, spread, rtol=1e-2)


def test_units_do_not_matter(weights: Path, corners: np.ndarray, tmp_path: Path) -> None:
    one = fit_four(write(tmp_path / "one.csv", corners), weights)
    two = fit_four(write(tmp_path / "two.csv", corners / 1000 + 7), weights)
    np.testing.assert_allclose(two.means, one.means / 1000 + 7, rtol=1e-4)
    np.testing.assert_allclose(two.deviations, one.deviations / 1000, rtol=1e-4)
    assert two.log_likelihood == pytest.approx(one.log_likelihood + 2 * np.log(1000), rel=1e-4)


def single_scale(points: np.ndarray, weights: Path) -> float:
    """The likelihood if the network sees the points at one scale only, that of the training sets."""
    network, _, trained_on = load_mixture_network(weights)
    low, high = points.min(0), points.max(0)
    scale = (high - low).max() / 2 / (trained_on.spread + trained_on.deviation)
    scaled = torch.from_numpy((points - (low + high) / 2) / scale)[None]
    found = best_of(network, scaled.float())
    return log_likelihood(scaled, found.double()).item() - 2 * float(np.log(scale))


def likelihood(points: np.ndarray, found: Clusters) -> float:
    parts = (np.log(found.weights), found.means, found.deviations)
    mixture = Mixture(*(torch.from_numpy(part)[None] for part in parts))
    return log_likelihood(torch.from_numpy(points)[None], mixture).item()


def test_several_scales_are_never_less_likely_than_one(weights: Path, corners: np.ndarray, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    gained = []
    for number in range(6):
        means = generator.uniform(-3, 3, size=(4, 2)) * (number + 1)
        points = (means[:, None] + generator.normal(0, 0.3, size=(4, 30, 2))).reshape(-1, 2)
        path = write(tmp_path / f"{number}.csv", points)
        found = fit_four(path, weights)
        assert found.log_likelihood == fit_four(path, weights).log_likelihood
        assert found.log_likelihood == pytest.approx(likelihood(points, found))
        gained.append(found.log_likelihood - single_scale(points, weights))
    assert min(gained) > -1e-5
    assert max(gained) > 0.1


@pytest.mark.parametrize("far", [1e5, -1e9])
def test_one_stray_point_changes_little(weights: Path, corners: np.ndarray, tmp_path: Path, far: float) -> None:
    usual = likelihood(corners, fit_four(write(tmp_path / "usual.csv", corners), weights))
    strayed = np.concatenate([corners, [[far, 0.0]]])
    found = fit_four(write(tmp_path / "strayed.csv", strayed), weights)
    assert len(found.assignments) == 161
    assert likelihood(corners, found) > usual - 0.2
    assert single_scale(strayed, weights) < usual - 2  # what it was


def test_central_points(corners: np.ndarray) -> None:
    assert np.array_equal(central_points(corners), corners)
    strayed = np.concatenate([[[1e5, 0.0]], corners, [[0.0, -1e5]]])
    assert np.array_equal(central_points(strayed), corners)
    cross = np.array([[0.0, 1], [0, -1], [1, 0], [-1, 0]])  # without the extremes of each axis, one place remains
    assert np.array_equal(central_points(cross), cross)
    assert np.array_equal(central_points(cross[:2]), cross[:2])


def test_more_samples_are_never_worse(weights: Path, corners: np.ndarray, tmp_path: Path) -> None:
    path = write(tmp_path / "points.csv", corners)
    values = [fit_four(path, weights, samples=samples).log_likelihood for samples in (1, 2, 8)]
    assert values == sorted(values)
    assert values[0] < values[-1]


def test_most_points_the_same(weights: Path, tmp_path: Path) -> None:
    points = np.concatenate([np.full((200, 2), 7.0), np.random.default_rng(0).normal(size=(4, 2))])
    assert np.isfinite(fit_four(write(tmp_path / "same.csv", points), weights, refine=2).log_likelihood)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2\n3,4\n5,6\n", "expected at least 4 points for 4 clusters, got 3"),
        ("1,2\n" * 9, "expected different points, got 9 equal ones"),
        ("1,2\n3,4\n5,6\n" * 3, "expected at least 4 different points, got 3"),
        ("1,2\n3,4\nnan,6\n7,8\n", "expected finite numbers, got NaN or infinity in point 3"),
        ("1,2\n3,4\n5,inf\n7,8\n", "NaN or infinity in point 3"),
        ("1,2,3\n" * 9, r"expected 2 numbers per point, as in the network, got shape \(9, 3\)"),
        ("1\n" * 9, "expected 2 numbers per point"),
        ("1,2\n3,4\n5,1e308\n7,-1e308\n", r"expected coordinates below 1e\+150, got 1e\+308"),
        ("1,2\n3\n", "line 2: expected 2 numbers, as in the first line, got 1"),
        ("1,2\n3,4\n5,six\n", "line 3: expected numbers, got 'six'"),
        ("1,2\n1,,2\n", "line 2: expected a number in every field, got none in field 2"),
        ("1,2\n3;4;\n", "line 2: expected a number in every field, got none in field 3"),
        (",x,y\n0,1,2\n,3,4\n", "line 3: expected a number in every field, got none in field 1"),
        ("x,y\n", "expected at least one line of numbers"),
        ("", "empty file"),
    ],
)
def test_bad_points_are_told_in_one_line(weights: Path, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "points.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=rf"points\.csv: {message}|points\.csv: .*{message}"):
        fit_four(path, weights)


def test_bad_files_and_options(weights: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.csv: No such file"):
        fit_four(tmp_path / "none.csv", weights)
    (tmp_path / "a.docx").write_text("x")
    with pytest.raises(DataError, match=r"a\.docx: unknown format"):
        fit_four(tmp_path / "a.docx", weights)
    (tmp_path / "a.ply").write_text("x")
    with pytest.raises(DataError, match=r"a\.ply: expected points with 2 coordinates.*got a format for 3-D points"):
        fit_four(tmp_path / "a.ply", weights)
    with pytest.raises(DataError, match=r"a\.ply: "):
        fit_four(tmp_path / "a.ply", network_file(tmp_path / "three.safetensors", 3))
    with pytest.raises(ValueError, match="refine: expected at least 0 EM steps, got -1"):
        fit_four(tmp_path / "a.ply", weights, refine=-1)
    with pytest.raises(ValueError, match="samples: expected at least 1, got 0"):
        fit_four(tmp_path / "a.ply", weights, samples=0)
    np.save(tmp_path / "text.npy", np.full((9, 2), "a"))
    with pytest.raises(DataError, match=r"text\.npy: "):
        fit_four(tmp_path / "text.npy", weights)


def test_results_as_files(weights: Path, corners: np.ndarray, tmp_path: Path) -> None:
    found = fit_four(write(tmp_path / "points.csv", corners), weights, refine=5)
    for name in ("out.json", "out.csv", "out.svg"):
        write_clusters(found, tmp_path / name)
    tree = json.loads((tmp_path / "out.json").read_text())
    assert [cluster["mean"] for cluster in tree["clusters"]] == found.means.tolist()
    assert sum(cluster["points"] for cluster in tree["clusters"]) == tree["points"] == 160
    assert tree["assignments"] == found.assignments.tolist()
    with open(tmp_path / "out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [[float(row["x1"]), float(row["x2"])] for row in rows] == corners.tolist()
    assert [int(row["cluster"]) for row in rows] == found.assignments.tolist()
    own = found.means[found.assignments]
    assert [float(row["mean_x2"]) for row in rows] == own[:, 1].tolist()
    root = ElementTree.parse(tmp_path / "out.svg").getroot()
    names = [child.tag.partition("}")[2] for child in root]
    assert names.count("circle") == 160
    assert names.count("ellipse") == 4
    *numbers, reach = (child.text for child in root.iter("{http://www.w3.org/2000/svg}text"))
    assert numbers == ["0", "1", "2", "3"]
    low, high = corners.min(0), corners.max(0)
    assert reach == f"x1 {low[0]:.4g} to {high[0]:.4g}, x2 {low[1]:.4g} to {high[1]:.4g}"
    for child in root.iter("{http://www.w3.org/2000/svg}circle"):
        assert 0 <= float(child.attrib["cx"]) <= 640
        assert 0 <= float(child.attrib["cy"]) <= 640


def test_names_of_columns_are_kept(weights: Path, corners: np.ndarray, tmp_path: Path) -> None:
    table = write(tmp_path / "points.csv", corners, "weight <kg>,cluster\n")
    found = fit_four(table, weights)
    assert found.columns == ("weight <kg>", "cluster")
    assert found.summary()["columns"] == ["weight <kg>", "cluster"]
    write_clusters(found, tmp_path / "out.csv")
    with open(tmp_path / "out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        *("weight <kg>", "cluster", "cluster_found", "weight"),
        *("mean_weight <kg>", "mean_cluster", "deviation_weight <kg>", "deviation_cluster"),
    ]
    assert [float(row["weight <kg>"]) for row in rows] == corners[:, 0].tolist()
    assert [int(row["cluster_found"]) for row in rows] == found.assignments.tolist()
    write_clusters(found, tmp_path / "out.svg")
    root = ElementTree.parse(tmp_path / "out.svg").getroot()
    assert list(root)[-1].text.startswith("weight <kg> ")


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_the_shipped_weights_count_heaps(corners: np.ndarray, tmp_path: Path, count: int) -> None:
    path = write(tmp_path / "points.csv", corners[: 40 * count], "width,height\n")
    found = fit(path, find_weights("mixtures"), samples=2)
    assert sorted(np.bincount(found.assignments).tolist()) == [40] * count
    for given in (1, 2, 4):
        assert len(fit(path, find_weights("mixtures"), clusters=given).weights) == given


def test_an_outlier_does_not_change_the_number(corners: np.ndarray, tmp_path: Path) -> None:
    strayed = np.concatenate([corners[:120], [[1e6, 1e6]]])
    found = fit(write(tmp_path / "points.csv", strayed), find_weights("mixtures"), samples=2)
    assert sorted(np.bincount(found.assignments).tolist()) == [40, 40, 41]


def test_numbers_of_clusters(weights: Path, corners: np.ndarray, tmp_path: Path) -> None:
    path = write(tmp_path / "points.csv", corners[:3])
    assert len(fit(path, weights, clusters=2).weights) == 2
    assert 1 <= len(fit(path, weights).weights) <= 4
    with pytest.raises(DataError, match="expected at least 4 points for 4 clusters, got 3"):
        fit(path, weights, clusters=4)
    for wrong in (0, 5, "three"):
        message = f"clusters: expected auto, or 1 to 4, which these weights know, got {wrong}"
        with pytest.raises(ValueError, match=message):
            fit(path, weights, clusters=wrong)


@pytest.mark.parametrize("dimension", [1, 3])
def test_pictures_of_other_dimensions(tmp_path: Path, dimension: int) -> None:
    weights = network_file(tmp_path / "model.safetensors", dimension)
    points = np.random.default_rng(0).normal(size=(20, dimension))
    write_clusters(fit_four(write(tmp_path / "points.csv", points), weights), tmp_path / "out.svg")
    root = ElementTree.parse(tmp_path / "out.svg").getroot()
    assert (" x2 " in list(root)[-1].text) == (dimension > 1)


def test_a_picture_of_points_that_vary_in_the_third_coordinate_alone(tmp_path: Path) -> None:
    weights = network_file(tmp_path / "model.safetensors", 3)
    points = np.ones((20, 3))
    points[:, 2] = np.arange(20)
    write_clusters(fit_four(write(tmp_path / "points.csv", points), weights), tmp_path / "out.svg")
    assert '"nan"' not in (tmp_path / "out.svg").read_text()
