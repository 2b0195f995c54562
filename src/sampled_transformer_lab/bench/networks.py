"""The time of whole networks over the number of points, and the shares of their parts."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from sampled_transformer.models import create_model
from sampled_transformer.support.memory import give_back_memory

from .measure import interleaved, seconds
from .stopwatch import PARTS, watch
from .study import slope

CLASSES = 40
POINTS_PER_GROUP = 16  # points of the cloud per group of the autoencoder: 64 groups at 1,024 points, as in the paper
SIZES = (256, 512, 1024, 2048, 4096, 8192, 16384)
MECHANISMS = ("sampled", "linear", "dense")
PASSES = ("forward", "step")
FITTED = 4  # an exponent is fitted to the largest sizes, this many: three doublings
WATCHED, WATCHED_SECONDS = 3, 0.5  # calls that the stopwatch sees at most, and the seconds after which it has enough

# The paper's sizes. The number of groups grows with the cloud, since attention runs over groups.
NETWORKS: dict[str, Callable[[int], tuple[str, dict[str, Any]]]] = {
    "basic": lambda points: ("basic", {"classes": CLASSES}),
    "hierarchical, 3 stages": lambda points: ("hierarchical", {"classes": CLASSES, "stages": 3}),
    "hierarchical, 5 stages": lambda points: ("hierarchical", {"classes": CLASSES, "stages": 5}),
    "autoencoder": lambda points: ("mae", {"groups": points // POINTS_PER_GROUP}),
}


@dataclass(frozen=True)
class Plan:
    """What to measure.

    Args:
        sizes: points per cloud.
        networks: names in `NETWORKS`.
        batch: clouds per call.
        repeats: rounds of each measurement; the result is their median.
        limit: seconds that one call may take. Calls that might take longer are left out.
    """

    sizes: Sequence[int] = SIZES
    networks: Sequence[str] = tuple(NETWORKS)
    batch: int = 4
    repeats: int = 7
    limit: float = 60.0


class Case:
    """One network with one mechanism on clouds of one size, ready to run.

    Args:
        network: name in `NETWORKS`.
        mechanism: name of the attention.
        passes: "forward" in evaluation, or a training "step": forward, backward and AdamW.
        points: points per cloud.
        batch: number of clouds.
    """

    def __init__(self, network: str, mechanism: str, passes: str, points: int, batch: int) -> None:
        torch.manual_seed(0)
        model, options = NETWORKS[network](points)
        self.network = create_model(model, attention=mechanism, **options).train(passes == "step")
        self.inputs = clouds(batch, points)[: 1 if model == "mae" else 2]  # tokens are made of positions alone
        self.labels = torch.randint(CLASSES, (batch,))
        self.optimiser = torch.optim.AdamW(self.network.parameters(), 1e-3)
        self.run = self.step if passes == "step" else self.forward

    @torch.no_grad()
    def forward(self) -> None:
        self.network(*self.inputs)

    def step(self) -> None:
        self.optimiser.zero_grad()
        out = self.network(*self.inputs)  # class scores (batch, classes), or the autoencoder's losses (batch,)
        (out.mean() if out.dim() == 1 else cross_entropy(out, self.labels)).backward()
        self.optimiser.step()


def clouds(batch: int, points: int) -> tuple[Tensor, Tensor]:
    """Points on ellipsoids, (batch, points, 3), and their normals."""
    axes = 0.2 + 0.8 * torch.rand(batch, 1, 3)
    sphere = normalize(torch.randn(batch, points, 3), dim=2)
    return sphere * axes, normalize(sphere / axes, dim=2)


def measure(plan: Plan) -> Iterator[dict[str, Any]]:
    """One entry per network, passes, mechanism and size: its seconds and shares, or why it was left out.

    All mechanisms and sizes of a network take turns, so that a drift of the machine changes neither their ratios nor
    the exponents.
    """
    for network in plan.networks:
        for passes in PASSES:
            yield from _measure_together(network, passes, plan)
            gc.collect()
            give_back_memory()


def _measure_together(network: str, passes: str, plan: Plan) -> Iterator[dict[str, Any]]:
    cases: dict[str, Case] = {}
    entries: dict[str, dict[str, Any]] = {}
    for mechanism in MECHANISMS:
        smaller: tuple[int, Case, float] | None = None
        for points in sorted(plan.sizes):
            key = f"{mechanism} {points}"
            entries[key] = {"network": network, "passes": passes, "mechanism": mechanism, "points": points}
            if smaller is not None and _takes_too_long(points, *smaller, plan.limit):
                entries[key]["left_out"] = f"might take more than {plan.limit:g} s"
                continue
            cases[key] = Case(network, mechanism, passes, points, plan.batch)
            smaller = points, cases[key], seconds(cases[key].run)  # compiles, and touches the memory
    medians = interleaved({key: case.run for key, case in cases.items()}, plan.repeats)
    for key, entry in entries.items():
        if key in cases:
            entry |= {"seconds": medians[key], "shares": shares(cases[key], min(plan.repeats, WATCHED))}
        yield entry


def _takes_too_long(points: int, fewer: int, case: Case, taken: float, limit: float) -> bool:
    """Whether more points might exceed the limit if the time grew with their square."""
    growth = (points / fewer) ** 2
    if growth * taken > limit:
        taken = min(taken, seconds(case.run))  # the first call may have compiled a kernel
    return growth * taken > limit


def shares(case: Case, calls: int) -> dict[str, float]:
    """The share of each part in the time of several calls, fewer if they are slow; they add up to 1."""
    whole = 0.0
    with watch(case.network) as stopwatch:
        for _ in range(calls):
            if whole < WATCHED_SECONDS:
                whole += seconds(case.run)
    parts = {part: stopwatch.seconds[part] / whole for part in PARTS}
    return parts | {"rest": 1 - sum(parts.values())}


def exponents(entries: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The exponent of n in the time of each row and of its parts, fitted to its largest sizes.

    The slope of log time over log points by least squares, for the whole and for every part that takes any time.
    """
    rows: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for entry in entries:
        if "seconds" in entry:
            rows.setdefault((entry["network"], entry["passes"], entry["mechanism"]), []).append(entry)
    for (network, passes, mechanism), found in rows.items():
        largest = sorted(found, key=lambda entry: int(entry["points"]))[-FITTED:]
        if len(largest) < 2:
            continue
        fitted = {"whole": exponent([(entry["points"], entry["seconds"]) for entry in largest])}
        for part in largest[0]["shares"]:
            times = [(entry["points"], entry["seconds"] * entry["shares"][part]) for entry in largest]
            if all(taken > 0 for _, taken in times):
                fitted[part] = exponent(times)
        yield {
            "network": network,
            "passes": passes,
            "mechanism": mechanism,
            "points": [entry["points"] for entry in largest],
            "exponents": fitted,
        }


def exponent(times: Sequence[tuple[int, float]]) -> float:
    """The slope of log seconds over log points."""
    return slope([(math.log(points), math.log(taken)) for points, taken in times])
