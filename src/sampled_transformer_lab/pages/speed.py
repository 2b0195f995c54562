"""The page on speed and memory, from the files that the benchmarks wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..bench.fit import LINEAR, Exponent
from ..bench.tables import TITLES, milliseconds
from .markdown import commands, table
from .networks import networks_section

# Table "Memory usage" of the appendix, GB on an RTX 3090; None is "out of memory".
PAPER_MEMORY: dict[str, tuple[float | None, ...]] = {
    "none": (0.9, 0.9, 0.9, 1.0, 1.1, 1.1, 1.2, 1.5),
    "dense-explicit": (1.2, 1.8, 2.7, 3.9, 11.9, None, None, None),
    "sparse": (1.0, 1.1, 1.2, 1.3, 1.7, 2.1, 2.5, 4.3),
    "sampled": (1.0, 1.1, 1.2, 1.3, 1.7, 2.1, 2.5, 4.2),
    "knn": (1.9, 2.8, 3.7, 4.4, 8.5, 11.4, 16.5, None),
}


INTRODUCTION = (
    "The core is the attention kernel alone; a block is attention, its projections and the feed-forward layer. A bar "
    'is what we set out to reach. "Time of X" is a multiple of the time of X, measured in the same run.'
)


def speed_section(folder: Path) -> list[str]:
    """Everything under results/bench."""
    parts = {
        "attention": bars,
        "growth": growth,
        "beyond": beyond,
        "training": training,
        "mae": autoencoder,
        "clustering": clustering,
        "bench": times,
        "networks": networks,
        "paper-memory": paper_memory,
    }
    lines = [INTRODUCTION, ""]
    for name, write in parts.items():
        path = folder / f"{name}.json"
        if path.is_file():
            lines += write(json.loads(path.read_text("utf-8")))
    return lines


def beyond(result: dict[str, Any]) -> Iterator[str]:
    yield from bars(result, "## Rotary and summed attention compared with sampled, linear and dense attention")
    ratios = result["subsets"]
    yield (
        "Dense attention inside random subsets of n_s points, forward and backward, as a multiple of the time of "
        f"sampled attention, for a block of {result['subset_points']:,} points:"
    )
    yield ""
    yield from table(["n_s", *ratios], [["time", *(f"{ratio:.2f}" for ratio in ratios.values())]])
    yield ""


def bars(result: dict[str, Any], title: str = "## Sampled attention against its bars") -> Iterator[str]:
    yield from (title, "")
    yield from table(
        ["claim", "measured", "bar", "verdict"],
        [
            [row["claim"], f"{row['value']:.3g}", row["bar"].strip(), "met" if row["met"] else "**missed**"]
            for row in result["bars"]
        ],
    )
    yield from made_with(result)


def growth(result: dict[str, Any]) -> Iterator[str]:
    """The exponent of n in the time of the kernel and of a block."""
    yield from ("## Sampled attention against the number of points", "")
    yield (
        "Forward and backward, each size twice, up and down again. The exponent is the slope of log time over log "
        f"points, ± half its 95 % interval. Linear means that the whole interval is at most {LINEAR:g}; not "
        "linear, that all of it is above; else nothing is decided."
    )
    yield ""
    sizes = sorted({time["points"] for one in result["levels"] for time in one["times"]})
    body = []
    for one in result["levels"]:
        taken = {n: [time["seconds"] for time in one["times"] if time["points"] == n] for n in sizes}
        cells = [" and ".join(milliseconds(seconds) for seconds in taken[n]) for n in sizes]
        exponent = Exponent(one["value"], one["interval"])
        body.append([f"{one['level']}, {one['sets']} sets", *cells, str(exponent), exponent.words()])
    yield from table(["ms", *(f"{n:,}" for n in sizes), "exponent", "linear"], body)
    yield from made_with(result)


def training(result: dict[str, Any]) -> Iterator[str]:
    yield from ("## A whole training step of the basic setting", "")
    yield (
        f"{result['points']} points, batches of 64, a plain loop without the training engine. On the same machine "
        f"torch.mm reaches {result['torch_mm_gflops']:.0f} GFLOPS. With all matrix products of the network and its "
        f"gradients a step takes {result['whole_seconds']:.2f} s, of which the products alone would take "
        f"{result['whole_percent']:.0f} % (bar: at least 65 %). The library leaves out products whose gradient is "
        f"zero: a step then takes {result['step_seconds']:.2f} s, {result['points_per_second']:,.0f} points per "
        f"second, and its products alone would take {result['computed_percent']:.0f} %. Loading and augmentation take "
        f"{result['data_percent']:.1f} % (bar: at most 10 %)."
    )
    yield from made_with(result)


def autoencoder(result: dict[str, Any]) -> Iterator[str]:
    return bars(result, "## A step of pre-training the masked autoencoder")


def clustering(result: dict[str, Any]) -> Iterator[str]:
    """Ratios to the first variant, which stands in milliseconds."""
    points = list(dict.fromkeys(row["n"] for row in result["rows"]))
    found = {(row["variant"], row["n"]): row for row in result["rows"]}
    first = result["rows"][0]["variant"]
    yield from ("## A training step of amortised clustering", "")
    yield f"Multiples of the time of {first}, by the number of points per set:"
    yield ""
    yield from table(
        ["network", *(f"{n:,}" for n in points)],
        [
            [
                plain_label(name),
                *(
                    f"{found[name, n]['milliseconds']:.0f} ms" if name == first else f"{found[name, n]['ratio']:.2f}"
                    for n in points
                ),
            ]
            for name in dict.fromkeys(row["variant"] for row in result["rows"])
        ],
    )
    yield from ("", "Processor time of forward and backward pass, clipping and Adam, as in `cluster train`.")
    yield from made_with(result)


def plain_label(variant: str) -> str:
    """The label of a variant; older files write "1 inducing points a point" for "1 inducing point per point"."""
    label = variant.replace(" an inducing point", " per inducing point").replace(" a point", " per point")
    return label.replace(": 1 inducing points", ": 1 inducing point")


def times(result: dict[str, Any]) -> Iterator[str]:
    """Times as ratios to sampled attention, which stands in milliseconds."""
    for level, passes in dict.fromkeys((entry["level"], entry["passes"]) for entry in result["times"]):
        entries = [entry for entry in result["times"] if (entry["level"], entry["passes"]) == (level, passes)]
        points = sorted({entry["points"] for entry in entries})
        seconds = {(entry["mechanism"], entry["points"]): entry.get("seconds") for entry in entries}
        exponent = {
            entry["mechanism"]: f"{entry['exponent']:.2f}"
            for entry in result["exponents"]
            if (entry["level"], entry["passes"]) == (level, passes)
        }
        yield from (f"## One {level}, {TITLES[passes]}", "")
        yield "Multiples of the time of sampled attention, by the number of points:"
        yield ""
        yield from table(
            ["mechanism", *(f"{n:,}" for n in points), "exponent"],
            [
                [
                    name,
                    *(ratio(seconds[name, n], seconds["sampled", n], name == "sampled") for n in points),
                    exponent.get(name, ""),
                ]
                for name in dict.fromkeys(entry["mechanism"] for entry in entries)
                if any(seconds[name, n] for n in points)
            ],
        )
        yield ""
    yield "A dash marks what would not fit, or would take longer than the limit of the command."
    yield from made_with(result)


def networks(result: dict[str, Any]) -> Iterator[str]:
    yield from networks_section(result)
    yield from made_with(result)


def ratio(seconds: float | None, ours: float | None, itself: bool) -> str:
    if seconds is None or ours is None:
        return "-"
    return f"{milliseconds(seconds)} ms" if itself else f"{seconds / ours:.2f}"


def paper_memory(result: dict[str, Any]) -> Iterator[str]:
    points = result["plan"]["points"]
    yield from ("## Memory of the basic network, the paper's table", "")
    yield (
        "Peak memory in GB (10^9 bytes) of one training step with batches of "
        f"{result['plan']['setting']['batch']} in a fresh process, beyond what the process held before. The paper's "
        "figures stand in brackets; they count all of a GPU's memory and do not name a batch size. The paper's "
        "dense attention wrote its matrix out (`dense-explicit`); a fused kernel (`dense`) does not. A dash is out of "
        "memory."
    )
    yield ""
    yield from table(["points", *(f"{n:,}" for n in points)], memory_rows(result, points))
    yield from made_with(result)


def memory_rows(result: dict[str, Any], points: list[int]) -> Iterator[list[str]]:
    peak = {(entry["mechanism"], entry["points"]): entry.get("peak_bytes") for entry in result["memory"]}
    for name in result["plan"]["mechanisms"]:
        cells = []
        for n, paper in zip(points, PAPER_MEMORY.get(name, ("",) * len(points)), strict=True):
            ours = peak[name, n]
            here = "-" if ours is None else f"{ours / 1e9:.2f}"
            cells.append(here if paper == "" else f"{here} ({'-' if paper is None else paper})")
        yield [name, *cells]


def made_with(result: dict[str, Any]) -> Iterator[str]:
    machine = result["machine"]
    busy = f", load {machine['load']:.1f} in the minute before the start" if machine.get("load") is not None else ""
    yield from ("", *commands(result["command"]), "")
    threads = f"{machine['threads']} thread{'s' if machine['threads'] > 1 else ''}"
    yield (
        f"Machine: {machine['processor']}, {threads} on {machine['cores']} cores{busy}; "
        f"torch {result['versions']['torch']}."
    )
    yield ""
