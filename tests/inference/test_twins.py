"""Which axis two networks take for up: both are asked, and only the twin about few points."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

from sampled_transformer.data.axes import AXES, rotation
from sampled_transformer.inference.defaults import DEFAULT_TWIN, DEFAULT_WEIGHTS
from sampled_transformer.inference.predictor import Predictor
from sampled_transformer.inference.prepared import Prepared, prepare_sides, seen_by
from sampled_transformer.inference.trained_network import TrainedNetwork, load
from sampled_transformer.inference.twins import as_few, has_few, joint_scores
from sampled_transformer.inference.upright import folder_up
from sampled_transformer.weights import find_weights


@pytest.fixture(scope="module")
def nets() -> list[TrainedNetwork]:
    return [load(name, "cpu", batch=6) for name in (DEFAULT_WEIGHTS, DEFAULT_TWIN)]


def cone(points: int, up: str, radius: float = 0.5, seed: int = 0) -> np.ndarray:
    """Points of the surface of a cone, with `up` up."""
    mesh = trimesh.creation.cone(radius=radius, height=1.2)
    found, _ = trimesh.sample.sample_surface(mesh, points, seed=seed)
    return np.asarray(found) @ rotation("z", up).T


def sides_of(net: TrainedNetwork, points: np.ndarray) -> list[list[Prepared]]:
    return prepare_sides(net.view, points, up="auto")[0]


def test_few_points_are_for_the_twin_alone(nets: list[TrainedNetwork]) -> None:
    first, twin = nets
    few, many = (sides_of(first, cone(count, "y")) for count in (767, 768))
    assert [has_few(own[0]) for own in (*few, *many)] == [True, False]
    others = [twin.side_scores([[seen_by(twin.view, one) for one in own]], 1)[0] for own in (*few, *many)]
    found = joint_scores(first, twin, [*few, *many], 1)
    np.testing.assert_allclose(found[0], others[0], atol=1e-6)
    np.testing.assert_allclose(found[1], (others[1] + first.side_scores(many, 1)[0]) / 2, atol=1e-6)


def test_few_points_are_unfamiliar_if_they_are_so_as_they_are_and_filled_up(
    tmp_path: Path, nets: list[TrainedNetwork]
) -> None:
    twin = nets[1]
    both = Predictor(find_weights(DEFAULT_WEIGHTS), 1, "cpu", twin=find_weights(DEFAULT_TWIN))
    seen = set()
    for count in (64, 128, 256, 300, 512):
        for shape, points in {
            "cone": cone(count, "z"),
            "noise": np.random.default_rng(0).normal(size=(count, 3)),
        }.items():
            np.save(tmp_path / f"{shape}.npy", points)
            filled = prepare_sides(twin.view, points)[0][0][0]
            judged = [twin.probabilities(one, samples=1) for one in (as_few(twin.view, filled), filled)]
            answer = both.answer(tmp_path / f"{shape}.npy")
            assert answer.familiar is any(found.familiar for found in judged)
            assert answer.strangeness == pytest.approx(min(found.strangeness for found in judged))
            seen.add(tuple(found.familiar for found in judged))
    assert len(seen) > 2  # the two ways differ


@pytest.mark.parametrize("up", ["y", "-x"])
def test_a_sparse_file_stands_upright_for_predict(tmp_path: Path, up: str, nets: list[TrainedNetwork]) -> None:
    points = cone(256, up)
    np.save(tmp_path / "cone.npy", points)
    assert AXES[int(nets[0].side_scores(sides_of(nets[0], points), 1)[0].argmax())] != up  # which cannot read so few
    both = Predictor(find_weights(DEFAULT_WEIGHTS), 1, "cpu", up="auto", twin=find_weights(DEFAULT_TWIN))
    answer = both.answer(tmp_path / "cone.npy")
    assert (answer.up, answer.weights, answer.classes[0]["class"]) == (up, DEFAULT_TWIN, "cone")
    assert f"{up} taken for up, the likeliest of 6" in answer.notes


def test_a_folder_of_sparse_files_stands_upright(tmp_path: Path) -> None:
    for number, radius in enumerate((0.4, 0.5, 0.6)):
        np.save(tmp_path / f"{number}.npy", cone(256, "y", radius, number))
    axis, why = folder_up(tmp_path)
    assert axis == "y"
    assert f"the likeliest to {DEFAULT_WEIGHTS} and {DEFAULT_TWIN}, for " in why
