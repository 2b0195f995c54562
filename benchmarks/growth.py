"""Does the time of sampled attention grow linearly with the number of points?

    python benchmarks/growth.py [--json FILE]

Times the kernel and a block, forward and backward, from 2^11 to 2^17 points: up and down again, so that a drift of the
machine cancels out. The file keeps every timing, so that the slope has an interval.
"""

from __future__ import annotations

from attention import SETTING, options, warmed  # first, because it sets variables that torch reads when it loads

# isort: split
import json
from dataclasses import asdict, replace

import torch

from sampled_transformer.support.machine import machine
from sampled_transformer.support.memory import give_back_memory, keep_freed_memory
from sampled_transformer_lab.bench.fit import fit
from sampled_transformer_lab.bench.measure import load
from sampled_transformer_lab.bench.subjects import Subject

SIZES = tuple(2**power for power in range(11, 18))
BATCHES = {"core": 8, "block": 4}  # tensors too large for the caches that still fit into memory


def main() -> None:
    chosen = options(__doc__)
    keep_freed_memory()
    here, levels = {**machine(), "load": load()}, []
    for level, batch in BATCHES.items():
        times = [{"points": points, "seconds": median(level, batch, points)} for points in [*SIZES, *reversed(SIZES)]]
        exponent = fit([(one["points"], one["seconds"]) for one in times])
        print(f"{level}, {batch} sets of {SIZES[0]:,} to {SIZES[-1]:,} points: {exponent}", flush=True)
        levels.append({"level": level, "passes": "both", "sets": batch, "times": times, **asdict(exponent)})
    if chosen.json is not None:
        versions = {"torch": torch.__version__}
        result = {"command": "python benchmarks/growth.py", "machine": here, "versions": versions, "levels": levels}
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        chosen.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


def median(level: str, batch: int, points: int) -> float:
    """The median of repeated forward and backward passes."""
    subject = Subject("sampled", level, replace(SETTING, batch=batch), points)
    seconds = warmed({"": subject.both}, 4)[""]
    del subject
    give_back_memory()
    return seconds


if __name__ == "__main__":
    main()
