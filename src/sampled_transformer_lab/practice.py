"""The theory in practice: train small networks on functions of a set that depend on every pair of points.

The theorem says that a network with one fixed cycle can approximate such functions. It says nothing about training, nor
about the fresh cycles that sampled attention draws here. This measures both, for every mechanism.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from sampled_transformer.attention import SampledAttention, number_layers
from sampled_transformer.blocks import TransformerBlock
from sampled_transformer.cycles import Cycles
from sampled_transformer.sets import Integers
from sampled_transformer.support.machine import machine
from sampled_transformer.theory.tables import markdown

TARGETS = ("rank", "farthest", "centre")


POINTS, BATCH = 32, 32


@dataclass(frozen=True)
class Trial:
    """One network: its mechanism, its depth, and R, how many others each point reads per layer along its cycle.

    With R > 1, "sampled" averages the outputs of R cycles, and "estimated" reads R points in one softmax.
    """

    attention: str
    depth: int
    rounds: int = 1


# Every mechanism with two blocks, and for three of them more or fewer blocks, or more points per layer.
TRIALS = [
    Trial("none", 2),
    *(Trial("sampled", depth) for depth in (1, 2, 4, 8)),
    Trial("sampled", 2, 4),
    Trial("estimated", 2, 4),
    *(Trial(name, 2) for name in ("sparse", "knn", "stratified", "induced", "linear", "summed", "rotary")),
    *(Trial("dense", depth) for depth in (1, 2, 4)),
]


class AveragedAttention(SampledAttention):
    """Sampled attention that averages over `samples` cycles in training too, not only in evaluation."""

    def forward(  # type: ignore[override]  # the blocks of these trials give no more
        self,
        x: Tensor,
        positions: Tensor | None = None,
        mask: Tensor | None = None,
        ptr: Integers | None = None,
        cycle: Cycles | None = None,
        **others: Any,
    ) -> Tensor:
        calls = self.samples if self.training and cycle is None else 1
        once = super().forward
        return torch.stack([once(x, positions, mask, ptr, cycle, **others) for _ in range(calls)]).mean(0)


class SetNetwork(nn.Module):
    """Map points (sets, n, 3) to one number per target and point."""

    def __init__(self, trial: Trial, dim: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(3, dim), nn.ReLU(), nn.Linear(dim, dim))
        mechanism = trial.attention
        reading: dict[str, Any] = {"rounds": trial.rounds} if mechanism == "estimated" else {}
        self.blocks = nn.ModuleList(
            TransformerBlock(dim, heads, mechanism, hidden=2 * dim, norm=True, bias=True, **reading)
            for _ in range(trial.depth)
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


def train(trial: Trial, steps: int, seed: int = 0, *, n: int = POINTS, batch: int = BATCH) -> list[float]:
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


def study(steps: int = 1000, seed: int = 0, known: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    """Train every trial, and yield all that is known after each one; the results page reads the last.

    `known` is what an interrupted study yielded. Its trials are not trained again if it is the same study: the steps,
    the seed, the sizes and the versions must agree.
    """
    if steps < 10:
        raise ValueError(f"steps: expected at least 10, got {steps}")
    trials: list[dict[str, Any]] = []
    found = {
        "command": f"sampled-transformer theory --practice --steps {steps} --seed {seed}",
        "points": POINTS,
        "batch": BATCH,
        "steps": steps,
        "seed": seed,
        "trials": trials,
        "seconds": 0.0,
        "machine": machine(),
        "versions": {"torch": torch.__version__},
    }
    same = known is not None and all(known.get(key) == found[key] for key in found if key not in ("trials", "seconds"))
    before = known["trials"] if known is not None and same else []
    for trial in TRIALS:
        row = {"attention": trial.attention, "blocks": trial.depth, "rounds": trial.rounds}
        made = [one for one in before if row.items() <= one.items()]
        trials.append(made[0] if made else {**row, **timed(trial, steps, seed)})
        found["seconds"] = round(sum(one["seconds"] for one in trials), 3)
        yield found


def timed(trial: Trial, steps: int, seed: int) -> dict[str, Any]:
    """Train one network: its errors, and the seconds that it took."""
    begin = time.perf_counter()
    errors = dict(zip(TARGETS, train(trial, steps, seed), strict=True))
    return {"errors": errors, "seconds": round(time.perf_counter() - begin, 3)}


def row_of(trial: dict[str, Any]) -> list[str]:
    """One line of the table."""
    errors = (f"{trial['errors'][name]:.3f}" for name in TARGETS)
    return [trial["attention"], str(trial["blocks"]), str(trial["rounds"]), *errors]


def table(result: dict[str, Any]) -> str:
    """The errors as a Markdown table, one row per trial."""
    return markdown(["attention", "blocks", "R", *TARGETS], [row_of(trial) for trial in result["trials"]])
