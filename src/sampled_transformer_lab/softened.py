"""How the proof's network with softmax and ReLUs approaches the exact one, as tau and the ramps shrink.

Off the ramps the softened network is constant on each grid cell, so the largest error there is a maximum over the
cells. The distance d_p of Eq. 2 also counts the inputs on ramps. They are few and their errors are large, so we draw
them on their own:

    d_p^p = (1 - q) mean over cells |error|^p + q mean over inputs on ramps |error|^p,   q = 1 - (1 - r)^(nd)
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sampled_transformer.support.machine import machine
from sampled_transformer.theory import FUNCTIONS, Approximation, Setting, approximate
from sampled_transformer.theory.approximation import Floats, cell_centres
from sampled_transformer.theory.grid import all_inputs
from sampled_transformer.theory.softened import Softened, project, score_gap
from sampled_transformer.theory.tables import markdown

# (n, d, 1 / delta), by the size of the ids. Those of the last grid do not fit into the 53 bits of float64.
GRIDS = [(2, 1, 2), (2, 1, 3), (2, 2, 2), (3, 1, 2), (3, 1, 3), (3, 2, 2), (4, 1, 2), (4, 1, 3)]
TEMPERATURES = [2.0**-power for power in range(12)]
RAMPS = [2.0**-power for power in (2, 5, 10, 15, 20, 25, 30)]
RAMP = 2.0**-20  # while tau changes
FLOAT_BITS = 53  # integers of more bits are rounded in float64
FUNCTION = "farthest"
SAMPLES = 2000
P = 2
TABLES = [
    ("Largest error off the ramps", "temperatures", "tau", "outputs"),
    ("Distance d_2, clipped", "temperatures", "tau", "distance"),
    ("Largest error of an id, in steps of delta", "temperatures", "tau", "ids"),
    ("Smallest distance of two ids, in steps of delta", "temperatures", "tau", "nearest"),
    ("Distance d_2 against the ramps, clipped", "ramps", "ramp", "clipped"),
    ("Distance d_2 against the ramps, not clipped", "ramps", "ramp", "plain"),
]


def share_on_ramps(setting: Setting, ramp: float) -> float:
    """q, the probability that some coordinate of a uniform input lies on a ramp."""
    return float(-np.expm1(setting.n * setting.d * np.log1p(-ramp)))


def inputs_on_ramps(setting: Setting, ramp: float, count: int, seed: int = 0) -> Floats:
    """Uniform inputs (count, d, n) among those with at least one coordinate on a ramp, the last share of its cell.

    We draw the first coordinate that is on a ramp, then those after it. Those before it are not on one.
    """
    generator = np.random.default_rng(seed)
    coordinates = setting.n * setting.d
    chance = (1 - ramp) ** np.arange(coordinates)
    first = generator.choice(coordinates, size=(count, 1), p=chance / chance.sum())
    place = np.arange(coordinates)
    on = (place == first) | ((place > first) & (generator.random((count, coordinates)) < ramp))
    inside = 1 - generator.random((count, coordinates))  # in (0, 1]: a cell ends before its upper bound
    offset = np.where(on, 1 - ramp * inside, (1 - ramp) * (1 - inside))
    cells = generator.integers(setting.steps, size=(count, coordinates))
    return ((cells + offset) / setting.steps).reshape(count, setting.d, setting.n)


def distance_on_all(softened: Softened, samples: int = SAMPLES, seed: int = 0) -> float:
    """d_p between the softened and the exact network, by the formula above."""
    network, setting = softened.network, softened.setting
    parts = [
        cell_centres(all_inputs(setting), setting),
        inputs_on_ramps(setting, softened.ramp, samples, seed),
    ]
    clear, ramps = (float((np.abs(softened(x) - network(x)) ** P).sum(axis=(1, 2)).mean()) for x in parts)
    share = share_on_ramps(setting, softened.ramp)
    return float(((1 - share) * clear + share * ramps) ** (1 / P))


def ids_after(softened: Softened) -> tuple[float, float]:
    """The largest error of an id over all cells, and the smallest distance of two ids, both in steps of delta."""
    setting = softened.setting
    centres = cell_centres(all_inputs(setting), setting)
    found = project(softened.attend(softened.quantise(centres)), setting)
    exact = softened.exact.ids.astype(np.float64)
    nearest = min(two - one for one, two in pairwise(sorted(found.reshape(-1).tolist())))
    return float(np.abs(found - exact).max()) / 2, nearest / 2


def by_temperature(network: Approximation, taus: Sequence[float], samples: int, seed: int) -> list[dict[str, float]]:
    """Errors against tau, with narrow ramps."""
    centres = cell_centres(all_inputs(network.setting), network.setting)
    rows = []
    for tau in taus:
        softened = Softened(network, tau, RAMP)
        ids, nearest = ids_after(softened)
        largest = float(np.abs(softened(centres) - network(centres)).max())
        distance = distance_on_all(Softened(network, tau, RAMP, clipped=True), samples, seed)
        rows.append({"tau": tau, "ids": ids, "nearest": nearest, "outputs": largest, "distance": distance})
    return rows


def by_ramp(
    network: Approximation, ramps: Sequence[float], tau: float, samples: int, seed: int
) -> list[dict[str, float]]:
    """Errors against the width of the ramps, with small tau: as cited, and with the last layer that clips."""
    rows = []
    for ramp in ramps:
        plain, clipped = (
            distance_on_all(Softened(network, tau, ramp, clipped=clip), samples, seed) for clip in (False, True)
        )
        share = share_on_ramps(network.setting, ramp)
        rows.append({"ramp": ramp, "share": share, "plain": plain, "clipped": clipped})
    return rows


def study(
    grids: Sequence[tuple[int, int, int]] = GRIDS,
    taus: Sequence[float] = TEMPERATURES,
    ramps: Sequence[float] = RAMPS,
    samples: int = SAMPLES,
    seed: int = 0,
) -> dict[str, Any]:
    """Measure every grid; the results page reads what this returns."""
    begin = time.perf_counter()
    found = []
    for n, d, steps in grids:
        network = approximate(FUNCTIONS[FUNCTION], n, d, f"1/{steps}")
        found.append(
            {
                "n": n,
                "d": d,
                "delta": f"1/{steps}",
                "inputs": network.setting.inputs,
                "layers": network.layers,
                "bits": max(network.values).bit_length(),
                "gap": float(score_gap(network)),
                "temperatures": by_temperature(network, taus, samples, seed),
                "ramps": by_ramp(network, ramps, min(taus), samples, seed),
            }
        )
    return {
        "command": f"sampled-transformer theory --softened --seed {seed}",
        "function": FUNCTION,
        "p": P,
        "ramp": RAMP,
        "samples": samples,
        "seed": seed,
        "grids": found,
        "seconds": round(time.perf_counter() - begin, 3),
        "machine": machine(),
        "versions": {"numpy": np.__version__},
    }


def short(value: float) -> str:
    """An error in two digits; an error of zero is exact."""
    return "0" if value == 0 else f"{value:.1e}"


def power(value: float) -> str:
    """A power of two as text."""
    return f"2^{round(math.log2(value))}"


def name_of(grid: dict[str, Any]) -> str:
    return f"n={grid['n']}, d={grid['d']}, {grid['delta']}"


def measured_gap(grid: dict[str, Any]) -> float:
    """The gap g of an error exp(-g / tau), from the two smallest errors of ids that are not zero."""
    one, two = [row for row in grid["temperatures"] if row["ids"] > 0][-2:]
    return math.log(one["ids"] / two["ids"]) / float(1 / two["tau"] - 1 / one["tau"])


def grid_table(result: dict[str, Any]) -> str:
    """The grids: layers, bits of the largest id, and the gap of the scores against the measured one."""
    rows = []
    for grid in result["grids"]:
        measured = f"{measured_gap(grid):.4f}" if grid["bits"] <= FLOAT_BITS else "ids are rounded"
        layers = " + ".join(map(str, grid["layers"]))
        rows.append([name_of(grid), str(grid["inputs"]), layers, str(grid["bits"]), f"{grid['gap']:.4f}", measured])
    return markdown(["grid", "cells", "layers", "bits of an id", "gap of scores", "measured"], rows)


def error_table(result: dict[str, Any], series: str, against: str, figure: str) -> str:
    """One figure of a series, "temperatures" or "ramps", against "tau" or "ramp"; one column per grid."""
    grids = result["grids"]
    rows = [
        [power(row[against]), *(short(grid[series][place][figure]) for grid in grids)]
        for place, row in enumerate(grids[0][series])
    ]
    return markdown([against, *map(name_of, grids)], rows)


def tables(result: dict[str, Any]) -> Iterator[str]:
    """All figures as Markdown tables, each under a heading that says what it is."""
    yield "## Grids\n"
    yield grid_table(result)
    for title, *columns in TABLES:
        yield f"\n## {title}\n"
        yield error_table(result, *columns)
