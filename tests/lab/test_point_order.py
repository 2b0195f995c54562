"""Another order of the points changes no answer, unless cycles are keyed by places; there, averaging helps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from sampled_transformer_lab.point_order import ANSWERS, LAYERS, answers, changed_answers

KEPT = Path(__file__).parents[2] / "results" / "order" / "bricks.json"


def test_shares_of_a_few_shapes() -> None:
    pytest.importorskip("lightning")
    result = changed_answers(shapes=8, shuffles=1)
    assert (result["shapes"], result["points"], result["shuffles"]) == (8, 256, 1)
    assert set(result["changed"]) == {"one pass", LAYERS, ANSWERS}
    assert all(0 <= share <= 1 and share * 8 == round(share * 8) for share in result["changed"].values())
    assert result["by_points"]["changed"] == dict.fromkeys(result["changed"], 0.0)


def test_normals_are_shuffled_with_their_points() -> None:
    class Batch:
        points = torch.tensor([[[1.0, 0.0], [0.0, 3.0]]])
        normals = torch.tensor([[[5.0, 0.0], [0.0, 7.0]]])

    class Network(torch.nn.Module):
        def forward(self, points: torch.Tensor, normals: torch.Tensor) -> torch.Tensor:
            assert torch.equal(points.argmax(-1), normals.argmax(-1))
            return points[:, 0]

    assert answers(Network(), Batch(), torch.tensor([0, 1]), 1).tolist() == [0]
    assert answers(Network(), Batch(), torch.tensor([1, 0]), 1).tolist() == [1]


def test_averaging_helps_in_the_kept_result() -> None:
    kept = json.loads(KEPT.read_text("utf-8"))
    assert set(kept["by_points"]["changed"].values()) == {0.0}
    changed = kept["changed"]
    assert changed[ANSWERS] < changed["one pass"]
    assert changed[LAYERS] < changed["one pass"]
