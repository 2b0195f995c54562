"""Train a network for a time, then test it: the same data, batches, augmentation and schedule for all."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from sampled_transformer.data import Pack
from sampled_transformer.data.transforms import preset
from sampled_transformer.training.loading import Batches

# Of the processor: what other programs on the machine take does not count, and threads of one network add up.
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "processor": time.process_time}


@dataclass(frozen=True)
class Recipe:
    """AdamW; the rate rises over 10 % of the time and falls along a cosine to zero at its end."""

    points: int = 1024
    batch: int = 32
    weight_decay: float = 0.05
    label_smoothing: float = 0.2
    clip: float = 1.0
    preset: str = "basic-strong"
    half: bool = False
    seed: int = 0


def train_for(
    network: nn.Module,
    pack: Pack,
    minutes: float,
    rate: float,
    recipe: Recipe,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Any]:
    """Train until the time is over; the steps and epochs that were done, and the last loss."""
    train, _ = preset(recipe.preset, recipe.points)
    optimiser = torch.optim.AdamW(network.parameters(), lr=rate, weight_decay=recipe.weight_decay)
    steps, loss, begin, worked, started = 0, math.nan, clock(), time.process_time(), time.perf_counter()
    batches = Batches(pack, train, False, recipe.batch, recipe.seed, lambda: steps)
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
                logits = network(batch.points)
            assert batch.labels is not None
            answer = cross_entropy(logits.float(), batch.labels, label_smoothing=recipe.label_smoothing)
            (answer + getattr(network, "penalty", 0.0)).backward()
            nn.utils.clip_grad_norm_(network.parameters(), recipe.clip)
            optimiser.step()
            steps, loss = steps + 1, answer.item()


def factor(share: float) -> float:
    """Of the rate, at a share of the time."""
    rise = 0.1
    return share / rise if share < rise else (1 + math.cos(math.pi * (share - rise) / (1 - rise))) / 2


@torch.no_grad()
def accuracy_of(network: nn.Module, pack: Pack, recipe: Recipe) -> float:
    """The share of right answers, one pass in float32."""
    _, test = preset(recipe.preset, recipe.points)
    network.eval()
    right = 0
    for batch in Batches(pack, test, False, recipe.batch):
        assert batch.labels is not None
        right += int((network(batch.points).argmax(1) == batch.labels).sum())
    return right / len(pack)


@torch.no_grad()
def time_of_one(network: nn.Module, points: Tensor, repeats: int = 20) -> float:
    """Seconds to classify one cloud: the median."""
    network.eval()
    network(points)
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        network(points)
        times.append(time.perf_counter() - begin)
    return sorted(times)[repeats // 2]


def count_parameters(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())
