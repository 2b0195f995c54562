"""How well does SetClassifier with default settings classify radar windows, beside a random forest on statistics?

    OMP_NUM_THREADS=1 python benchmarks/radar.py [--root FOLDER] [--json FILE]

FOLDER holds train.npz and test.npz with whole windows; without it, the windows in the package are used, which have at
most 256 returns. Both methods learn from the training split and are scored once per seed on the test split. The 43
statistics of a window are its size and, of each of the six columns, the mean, the standard deviation, the least and the
largest value, and the three quartiles.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from attention import Bars
from sklearn.ensemble import RandomForestClassifier

from sampled_transformer import SetClassifier
from sampled_transformer.data.sources.radar import load_radar
from sampled_transformer.support.machine import machine
from sampled_transformer_lab.bench.measure import load

SEEDS = (0, 1, 2)
TREES = 500


def statistics(sets: list[np.ndarray]) -> np.ndarray:
    """43 numbers per window, (sets, 43)."""
    return np.array([describe(one) for one in sets])


def describe(rows: np.ndarray) -> np.ndarray:
    moments = [rows.mean(0), rows.std(0), rows.min(0), rows.max(0)]
    return np.concatenate([[len(rows)], *moments, *np.quantile(rows, [0.25, 0.5, 0.75], axis=0)])


def measure(make: Callable[[int], Any], train: tuple[Any, Any], test: tuple[Any, Any], name: str) -> dict[str, Any]:
    """Accuracy, seconds and seconds of CPU time to fit and to predict, one entry per seed."""
    rows: dict[str, list[float]] = {"accuracy": [], "seconds": [], "cpu_seconds": []}
    for seed in SEEDS:
        wall, cpu = time.perf_counter(), time.process_time()
        accuracy = float(make(seed).fit(*train).score(*test))
        rows["accuracy"].append(accuracy)
        rows["seconds"].append(time.perf_counter() - wall)
        rows["cpu_seconds"].append(time.process_time() - cpu)
        print(f"{name}, seed {seed}: {100 * accuracy:.2f} %, {rows['cpu_seconds'][-1]:.0f} s of CPU time", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", help="folder with train.npz and test.npz")
    parser.add_argument("--json", type=Path, help="file to write the figures to")
    chosen = parser.parse_args()
    here = {**machine(), "load": load()}
    train, test = (load_radar(split, chosen.root) for split in ("train", "test"))
    begin = time.perf_counter()
    described = [(statistics(split.sets), split.labels) for split in (train, test)]
    statistics_seconds = time.perf_counter() - begin
    forest = measure(lambda seed: RandomForestClassifier(TREES, random_state=seed), *described, "forest")
    ours = measure(
        lambda seed: SetClassifier(random_state=seed),
        (train.sets, train.labels),
        (test.sets, test.labels),
        "SetClassifier",
    )
    bars = Bars()
    mean = {name: 100 * float(np.mean(rows["accuracy"])) for name, rows in (("forest", forest), ("ours", ours))}
    bars.at_least("SetClassifier(), radar: mean accuracy", mean["ours"], 96, "%")
    bars.at_least("SetClassifier(), radar: ahead of the forest", mean["ours"] - mean["forest"], 0, "points")
    bars.at_most("SetClassifier(), radar: fit and predict, CPU time", max(ours["cpu_seconds"]) / 60, 5, "minutes")
    if chosen.json is not None:
        result = {
            "command": "python benchmarks/radar.py",
            "machine": here,
            "sets": [len(train.sets), len(test.sets)],
            "most_returns": max(len(one) for one in [*train.sets, *test.sets]),
            "seeds": SEEDS,
            "defaults": SetClassifier().get_params(),
            "statistics_seconds": statistics_seconds,
            "forest": forest,
            "set_classifier": ours,
            "bars": bars.rows,
        }
        chosen.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
