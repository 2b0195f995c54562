"""Any order of the points of any file gives the same probabilities, and so does any name of the file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sampled_transformer
from sampled_transformer.cli import main
from sampled_transformer.inference.trained_network import TrainedNetwork
from sampled_transformer.models import create_model
from sampled_transformer.weights import Description

POINTS = 48
FORMATS = ["xyz", "txt", "csv", "pts", "npy", "npz", "ply"]
MODELS: dict[str, dict[str, Any]] = {
    "basic": {"dim": 16, "heads": 2, "hidden": 16},
    "hierarchical": {"stages": 2, "widths": (16, 32), "blocks": (1, 1)},
    "mae-classifier": {"groups": 8, "group_size": 6, "dim": 16, "heads": 2, "hidden": 16, "depth": 1},
    "set-transformer": {"dim": 16, "heads": 2, "attention": "sampled"},
    "pyramid": {"widths": (8, 16), "strides": (2, 2), "neighbours": (6, 4), "stem": 8, "head": 16},
}


@pytest.fixture(scope="module", params=MODELS)
def network(request: pytest.FixtureRequest) -> TrainedNetwork:
    options = {"classes": 3, **MODELS[request.param]}
    built = create_model(request.param, **options).eval()
    return TrainedNetwork(built, Description(request.param, options, "abc", {"data": {"points": POINTS}}))


@pytest.fixture(scope="module", params=["bricks", "modelnet40", "modelnet40-points"])
def shipped(request: pytest.FixtureRequest) -> TrainedNetwork:
    return sampled_transformer.load(request.param, "cpu")


def write(path: Path, points: np.ndarray) -> Path:
    kind = path.suffix[1:]
    if kind == "npy":
        np.save(path, points)
    elif kind == "npz":
        np.savez(path, points=points)
    elif kind == "ply":
        rows = "\n".join(" ".join(f"{value:.17g}" for value in row) for row in points)
        names = "".join(f"property double {axis}\n" for axis in "xyz")
        path.write_text(f"ply\nformat ascii 1.0\nelement vertex {len(points)}\n{names}end_header\n{rows}\n")
    else:
        np.savetxt(path, points, fmt="%.17g", delimiter="," if kind == "csv" else " ")
    return path


def cloud(n: int, copies: int, seed: int) -> np.ndarray:
    """Points on a grid, with exact ties between distances; the last `copies` of them repeat the first."""
    points = np.random.default_rng(seed).integers(-4, 5, (n, 3)) / 8.0
    points[0], points[1] = 0.5, -0.5
    points[n - copies :] = points[:copies]
    return points


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(FORMATS), st.integers(4, 3 * POINTS), st.integers(0, 2**31), st.data())
def test_any_permutation_of_any_file_has_the_same_probabilities(
    network: TrainedNetwork, tmp_path: Path, kind: str, n: int, seed: int, data: st.DataObject
) -> None:
    points = cloud(n, data.draw(st.integers(0, n // 2)), seed)
    one, two = tmp_path / f"one.{kind}", tmp_path / f"another name.{kind}"
    write(one, points)
    write(two, points[np.random.default_rng(seed).permutation(n)])
    found = [network.probabilities(path, samples=2).mean for path in (one, two)]
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize("n", [90, 5000])
def test_shipped_weights_give_the_same_probabilities_in_any_order(shipped: TrainedNetwork, n: int) -> None:
    points = np.random.default_rng(0).normal(size=(n, 3)) * [1, 0.5, 0.25]
    points[-20:] = points[:20]
    order = np.random.default_rng(1).permutation(n)
    one, two = (shipped.probabilities(part, samples=2) for part in (points, points[order]))
    np.testing.assert_array_equal(one.mean, two.mean)
    np.testing.assert_array_equal(one.spread, two.spread)


def test_shipped_weights_give_the_same_probabilities_with_normals_in_any_order(shipped: TrainedNetwork) -> None:
    points = np.repeat(np.random.default_rng(0).normal(size=(700, 3)), 2, 0)
    normals, order = np.random.default_rng(1).normal(size=(1400, 3)), np.random.default_rng(2).permutation(1400)
    one = shipped.probabilities(points, normals, samples=1).mean
    np.testing.assert_array_equal(shipped.probabilities(points[order], normals[order], samples=1).mean, one)


def answers(capsys: pytest.CaptureFixture[str], *files: Path) -> list[Any]:
    words = ["predict", *map(str, files), "--weights", "bricks", "--samples", "2", "--json", "--device", "cpu"]
    assert main(words) == 0
    return [answer["classes"] for answer in json.loads(capsys.readouterr().out)]


def test_the_command_gives_the_same_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    points = cloud(400, 30, 0) + np.random.default_rng(1).normal(size=(400, 3)) / 64
    order = np.random.default_rng(2).permutation(400)
    files = [
        write(tmp_path / f"{name}.{kind}", part)
        for name, part in (("a", points), ("b", points[order]))
        for kind in ("xyz", "npy")
    ]
    first, *others = answers(capsys, *files)
    assert others == [first] * 3


def test_a_mesh_is_drawn_by_its_content_not_by_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    box = trimesh.creation.box((1, 2, 3))
    box.export(tmp_path / "a.off")
    shutil.copy(tmp_path / "a.off", tmp_path / "b.off")
    trimesh.Trimesh(box.vertices, box.faces[::-1], process=False).export(tmp_path / "c.off")
    trimesh.creation.box((1, 2, 3.01)).export(tmp_path / "d.off")
    one, *others, different = answers(capsys, *(tmp_path / f"{name}.off" for name in "abcd"))
    assert others == [one] * 2
    assert different != one
