"""The theory in practice: train small networks on functions of a set that depend on every pair of points.

The theorem says that sampled attention can approximate them; this measures how well training finds the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sampled_transformer.attention import SampledAttention, number_layers
from sampled_transformer.blocks import TransformerBlock
from sampled_transformer.cycles import Cycles
from sampled_transformer.theory.tables import markdown

TARGETS = ("rank", "farthest", "centre")


@dataclass(frozen=True)
class Trial:
    """One network: its mechanism, its depth, and how many cycles each layer of sampled attention averages."""

    attention: str
    depth: int
    rounds: int = 1


TRIALS = [
    Trial("none", 2),
    *(Trial("sampled", depth) for depth in (1, 2, 4, 8)),
    *(Trial("sampled", 2, rounds) for rounds in (4, 16)),
    *(Trial("linear", depth) for depth in (1, 2, 4)),
    *(Trial("summed", depth) for depth in (1, 2, 4)),
    *(Trial("rotary", depth) for depth in (1, 2, 4)),
    *(Trial("dense", depth) for depth in (1, 2, 4)),
]


class AveragedAttention(SampledAttention):
    """Sampled attention that averages over `samples` cycles in training too, not only in evaluation."""

    def forward(
        self,
        x: Tensor,
        positions: Tensor | None = None,
        mask: Tensor | None = None,
        ptr: Tensor | None = None,
        cycle: Cycles | None = None,
    ) -> Tensor:
        calls = self.samples if self.training and cycle is None else 1
        once = super().forward
        return torch.stack([once(x, positions, mask, ptr, cycle) for _ in range(calls)]).mean(0)


class SetNetwork(nn.Module):
    """Map points (sets, n, 3) to one number per target and point."""

    def __init__(self, trial: Trial, dim: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(3, dim), nn.ReLU(), nn.Linear(dim, dim))
        mechanism = trial.attention
        self.blocks = nn.ModuleList(
            TransformerBlock(dim, heads, mechanism, hidden=2 * dim, norm=True, bias=True) for _ in range(trial.depth)
        )
        if mechanism == "sampled" and trial.rounds > 1:
            for block in self.blocks:
                block.attention = AveragedAttention(dim, heads, bias=True, samples=trial.rounds)
        number_layers(self)
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, len(TARGETS)))

    def forward(self, points: Tensor) -> Tensor:
        x = self.embed(points)
        for block in self.blocks:
            x = block(x, points)
        out: Tensor = self.head(x)
        return out


def targets(points: Tensor) -> Tensor:
    """Rank along the first axis, distance to the farthest point, distance to the centre: (sets, n, 3)."""
    below = (points[:, None, :, 0] < points[:, :, None, 0]).sum(-1) / max(points.shape[1] - 1, 1)
    farthest = torch.cdist(points, points).amax(-1)
    centre = (points - points.mean(1, keepdim=True)).norm(dim=-1)
    return torch.stack([below, farthest, centre], -1)


def random_sets(sets: int, n: int, generator: torch.Generator) -> Tensor:
    """Uniform points in boxes of random place and size, so that a point's coordinates do not reveal its rank."""
    sides = 0.25 + 0.75 * torch.rand(sets, 1, 3, generator=generator)
    corner = (1 - sides) * torch.rand(sets, 1, 3, generator=generator)
    return corner + sides * torch.rand(sets, n, 3, generator=generator)


def train(trial: Trial, steps: int, seed: int = 0, *, n: int = 32, batch: int = 64) -> list[float]:
    """Train one network and return its root mean square error on new sets, per target.

    Errors are in standard deviations of the target: a network that always answers the mean has an error of 1.
    """
    generator = torch.Generator().manual_seed(seed)
    test = random_sets(512, n, generator)
    wanted = targets(test)
    mean, deviation = wanted.mean((0, 1)), wanted.std((0, 1))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = SetNetwork(trial)
        optimiser = torch.optim.AdamW(network.parameters(), weight_decay=0.01)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 3e-3, total_steps=steps)
        for _ in range(steps):
            points = random_sets(batch, n, generator)
            loss = (network(points) - (targets(points) - mean) / deviation).square().mean()
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            schedule.step()
    with torch.no_grad():
        difference = network.eval()(test) - (wanted - mean) / deviation
    return [float(error) for error in difference.square().mean((0, 1)).sqrt()]


def practice_tables(steps: int = 1000, seed: int = 0) -> Iterator[str]:
    """Train every trial: yield one line per trial when it is trained, then the table of all."""
    if steps < 10:
        raise ValueError(f"steps: expected at least 10, got {steps}")
    rows = []
    for trial in TRIALS:
        errors = [f"{value:.3f}" for value in train(trial, steps, seed)]
        rows.append([trial.attention, str(trial.depth), str(trial.rounds), *errors])
        yield "  ".join(rows[-1])
    yield f"\n## Trained networks ({steps} steps, seed {seed}; always answering the mean gives 1)\n"
    yield markdown(["attention", "blocks", "cycles averaged", *TARGETS], rows)
