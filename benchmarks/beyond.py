"""What do rotary and summed attention cost beside sampled, linear and dense attention?

python benchmarks/beyond.py [--json FILE]
"""

from __future__ import annotations

from attention import Bars, both, finish, options  # first, because it sets variables that torch reads when it loads

from sampled_transformer.support.machine import machine
from sampled_transformer.support.memory import keep_freed_memory
from sampled_transformer_lab.bench.measure import load
from sampled_transformer_lab.bench.subjects import MECHANISMS, Mechanism

SUBSETS = (2, 4, 16, 64, 256)  # n_s
SUBSET_POINTS = 1024
ENOUGH = 4  # seconds per row and size


def subsets() -> dict[str, float]:
    """Times of the block with dense attention inside subsets of n_s points, as ratios to sampled attention."""
    for size in SUBSETS:
        MECHANISMS[str(size)] = Mechanism("sampled", {"inner": "dense", "subset": size})
    times = both(SUBSET_POINTS, *((name, "block") for name in ("sampled", "dense", *map(str, SUBSETS))), enough=ENOUGH)
    ratios = {name: seconds / times["sampled", "block"] for (name, _), seconds in times.items() if name != "sampled"}
    print("  ".join(f"{name}: {ratio:.2f} x" for name, ratio in ratios.items()))
    return ratios


def main() -> None:
    chosen = options(__doc__)
    keep_freed_memory()
    here = {**machine(), "load": load()}
    bars = Bars()
    ours = ("rotary", "summed", "summed-local")
    for points in (256, 1024, 4096, 16384):
        # Dense attention over 16,384 points takes half a minute per call, and the answer is clear.
        names = ("sampled", "linear", *ours, *(["dense"] if points < 16384 else []))
        times = both(points, *((name, "block") for name in names), enough=ENOUGH)
        for name in ours:
            block = times[name, "block"]
            bars.at_most(f"{name}: block, {points} points: time of sampled", block / times["sampled", "block"], 1.3)
            bars.at_most(f"{name}: block, {points} points: time of linear", block / times["linear", "block"], 1.0)
            if 1024 <= points < 16384:
                bars.at_least(f"{name}: block, {points} points: faster than dense", times["dense", "block"] / block, 1)
    command = "python benchmarks/beyond.py"
    finish(chosen, bars, here, command, subset_points=SUBSET_POINTS, subsets=subsets())


if __name__ == "__main__":
    main()
