"""The contest of networks that label points: it ends with its wall time, and its figures are those of the network."""

from __future__ import annotations

import pytest
import torch
from helpers.point_packs import SMALL, halves
from torch.nn.functional import cross_entropy

from sampled_transformer.inference.segment_evaluation import measure
from sampled_transformer.models import create_model
from sampled_transformer.training.point_loss import lovasz_loss
from sampled_transformer_lab.bench.peers.parts_contest import PartsRecipe, ious_of, points_loss, train_parts_for

RECIPE = PartsRecipe(points=48, batch=4)


class Clock:
    """A clock on which every look takes ten seconds."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 10
        return self.now


def test_training_ends_with_its_wall_time_and_can_go_through_epochs() -> None:
    torch.manual_seed(0)
    pack = halves(12)
    network = create_model("segmenter", classes=2, features={"normals": 3}, **SMALL)
    before = network.stem[0].weight.clone()
    found = train_parts_for(network, pack, 2.0, 1e-2, RECIPE, Clock())
    assert found["steps"] == 11
    assert found["epochs"] == pytest.approx(11 / 3)
    assert not torch.equal(before, network.stem[0].weight)
    figures = ious_of(network, pack, RECIPE)
    expected = measure(network, pack, RECIPE.view(), 1, (), 4)
    assert figures["mean_iou"] == pytest.approx(expected["mean_iou"])
    assert figures["classes"] == pytest.approx({one["class"]: one["iou"] for one in expected["classes"]})


def test_the_loss_is_that_of_our_recipes() -> None:
    logits, labels, weights = torch.randn(9, 3), torch.arange(9) % 4 - 1, torch.tensor([1.0, 2.0, 3.0])
    expected = cross_entropy(logits, labels, weights, ignore_index=-1) + lovasz_loss(logits.softmax(1), labels)
    assert torch.equal(points_loss(logits, labels, weights), expected)
