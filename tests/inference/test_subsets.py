"""Points are dealt along a curve: every point once, and each subset covers the whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from sampled_transformer.geometry import space_filling_order
from sampled_transformer.inference import subsets
from sampled_transformer.inference.subsets import Placement, dealt
from sampled_transformer.support import workspace
from sampled_transformer.support.workspace import Workspace
from sampled_transformer.training.point_loading import PointView

POINTS = np.random.default_rng(0).normal(size=(1000, 3)) * [3, 1, 0.2] + [5e5, 5e6, 100]


@pytest.mark.parametrize("size", ["unit", "kept"])
@pytest.mark.parametrize("piece", [77, 5000])
def test_a_placement_is_that_of_the_view(size: str, piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "SLICE", piece)
    view = PointView(64, size=size)
    np.testing.assert_allclose(Placement(view, POINTS)(POINTS), view.place(POINTS), atol=1e-9)


def test_points_that_coincide_are_placed() -> None:
    assert (Placement(PointView(8), np.ones((5, 3)))(np.ones((5, 3))) == 0).all()


@pytest.mark.parametrize("on_disk", [False, True])
def test_the_order_is_that_of_the_curve(on_disk: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "SLICE", 150)
    monkeypatch.setattr(subsets, "SLICE", 150)
    points = np.concatenate([POINTS, POINTS[:300], np.repeat(POINTS[:1], 400, 0)])  # some cells have many
    placement = Placement(PointView(64), points)
    hands = [hand for some in dealt(placement, points, 64, Workspace(tmp_path if on_disk else None)) for hand in some]
    order = space_filling_order(torch.from_numpy(placement(points))[None], "hilbert", bits=20)[0].numpy()
    assert len(hands) == -(-len(points) // 64)
    for number, hand in enumerate(hands):
        np.testing.assert_array_equal(hand, order[number :: len(hands)])
