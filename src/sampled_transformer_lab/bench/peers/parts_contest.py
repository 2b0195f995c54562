"""Train networks that label points for the same time, then test them: same data, loss and schedule for all."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from sampled_transformer.data import Pack
from sampled_transformer.data.point_transforms import PointAugmentation
from sampled_transformer.inference.iou import class_ious, iou_figures, point_confusion
from sampled_transformer.training.point_loading import PointBatches, PointView, class_weights, network_inputs
from sampled_transformer.training.point_loss import lovasz_loss

from .contest import factor


@dataclass(frozen=True)
class PartsRecipe:
    """AdamW; the rate rises over 10 % of the time and falls along a cosine to zero at its end.

    Classes weigh their share of the points to the power of -balance (1 - share of the time used), as in our recipes.
    """

    points: int = 1024
    batch: int = 16
    weight_decay: float = 0.05
    clip: float = 1.0
    balance: float = 0.5
    turn: Literal["none", "up", "any"] = "none"
    half: bool = False
    seed: int = 0

    def view(self) -> PointView:
        return PointView(self.points, features={"normals": 3})


def train_parts_for(
    network: nn.Module,
    pack: Pack,
    minutes: float,
    rate: float,
    recipe: PartsRecipe,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Any]:
    """Train until the time is over; the steps and epochs that were done, the last loss, and the time used."""
    optimiser = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=recipe.weight_decay)
    steps, loss, begin, worked, started = 0, math.nan, clock(), time.process_time(), time.perf_counter()
    view, weights = recipe.view(), class_weights(pack, recipe.balance)
    batches = PointBatches(pack, view, PointAugmentation(recipe.turn), recipe.batch, recipe.seed, lambda: steps)
    network.train()
    while True:
        for batch in batches:
            share = (clock() - begin) / (60 * minutes)
            if share >= 1:
                return {
                    "steps": steps,
                    "epochs": steps / len(batches),
                    "loss": loss,
                    "seconds": time.perf_counter() - started,
                    "processor_seconds": time.process_time() - worked,  # less where other programs took a share
                }
            for group in optimiser.param_groups:
                group["lr"] = rate * factor(share)
            optimiser.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=recipe.half):
                logits = network(**network_inputs(batch, view))
            labels = batch.point_labels
            assert labels is not None
            answer = points_loss(logits.float(), labels, weights ** (1 - share))
            answer.backward()
            nn.utils.clip_grad_norm_(network.parameters(), recipe.clip)
            optimiser.step()
            steps, loss = steps + 1, answer.item()


def points_loss(logits: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """Weighted cross-entropy and the Lovász loss, the loss of our recipes."""
    return cross_entropy(logits, labels, weights, ignore_index=-1) + lovasz_loss(logits.softmax(1), labels)


@torch.no_grad()
def ious_of(network: nn.Module, pack: Pack, recipe: PartsRecipe) -> dict[str, Any]:
    """Mean IoU, points right and IoU per class, one pass in float32."""
    network.eval()
    view, classes = recipe.view(), len(pack.point_classes)
    matrix = torch.zeros(classes, classes, dtype=torch.int64)
    for batch in PointBatches(pack, view, PointAugmentation(), recipe.batch):
        assert batch.point_labels is not None
        matrix += point_confusion(batch.point_labels, network(**network_inputs(batch, view)).argmax(1), classes)
    return {**iou_figures(matrix), "classes": dict(zip(pack.point_classes, class_ious(matrix).tolist(), strict=True))}
