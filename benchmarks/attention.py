"""How near does sampled attention come to the speed of memory and matrix products, and how far ahead of dense is it?

    python benchmarks/attention.py [--json FILE]

Every ratio compares medians of interleaved repeats in one process. Bytes are counted, not estimated: autograd's hooks
count those kept for the backward pass, and the resident size of a fresh process gives the peak memory of a pass.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from sampled_transformer.support.compiled import Compiled
from sampled_transformer.support.machine import machine
from sampled_transformer.support.memory import keep_freed_memory
from sampled_transformer_lab.bench.measure import interleaved, kept_bytes, load, memory
from sampled_transformer_lab.bench.setting import Setting
from sampled_transformer_lab.bench.subjects import Subject

SETTING = Setting(batch=8, heads=8, head_dim=32)
ROUNDS = 41  # the speed of a machine changes from second to second


class Bars:
    """Each claim with its bar, printed as soon as it is measured."""

    def __init__(self) -> None:
        self.rows: list[dict[str, object]] = []

    def at_most(self, claim: str, value: float, bar: float, unit: str = "x") -> None:
        self._add(claim, value, bar, unit, value <= bar, "at most")

    def at_least(self, claim: str, value: float, bar: float, unit: str = "x") -> None:
        self._add(claim, value, bar, unit, value >= bar, "at least")

    def _add(self, claim: str, value: float, bar: float, unit: str, met: bool, word: str) -> None:
        self.rows.append({"claim": claim, "value": value, "bar": f"{word} {bar:g} {unit}", "met": met})
        print(f"{'met   ' if met else 'MISSED'}  {claim}: {value:.4g} {unit} ({word} {bar:g})", flush=True)


def both(points: int, *subjects: tuple[str, str], enough: float = 20) -> dict[tuple[str, str], float]:
    """Median seconds of a forward and backward pass, per (mechanism, level)."""
    runs = {" ".join(pair): Subject(*pair, SETTING, points).both for pair in subjects}
    times = warmed(runs, enough)
    return {pair: times[" ".join(pair)] for pair in subjects}


def warmed(runs: dict[str, Callable[[], None]], enough: float) -> dict[str, float]:
    """Medians after two rounds of warm-up, which compile the kernels and touch the memory that later rounds reuse."""
    for run in [*runs.values()] * 2:
        run()
    return interleaved(runs, ROUNDS, enough=enough)


def against_dense(bars: Bars) -> None:
    for points, bar in ((4096, 60), (8192, 120)):
        times = both(points, ("sampled", "core"), ("dense", "core"))
        ratio = times["dense", "core"] / times["sampled", "core"]
        bars.at_least(f"core, {points} points: faster than fused dense attention", ratio, bar)


def against_memory(bars: Bars) -> None:
    for points in (1024, 4096, 16384):
        times = both(points, ("sampled", "core"), ("sampled-per-head", "core"), ("copy", "core"))
        copy = times["copy", "core"]
        bars.at_most(f"core, {points} points: time of copying", times["sampled", "core"] / copy, 3)
        bars.at_most(
            f"core, a cycle per head, {points} points: time of copying", times["sampled-per-head", "core"] / copy, 5
        )


def against_itself(bars: Bars) -> None:
    """The speed-up of compiling; no claim depends on it."""
    subject = Subject("sampled", "core", SETTING, 4096)

    def uncompiled() -> None:
        Compiled.works = False
        subject.both()
        Compiled.works = True

    times = warmed({"compiled": subject.both, "uncompiled": uncompiled}, 25)
    bars.at_least("core, 4096 points: faster than uncompiled", times["uncompiled"] / times["compiled"], 1)


def in_the_block(bars: Bars) -> None:
    for points in (1024, 4096, 16384):
        times = both(points, ("sampled", "core"), ("sampled", "block"), ("products", "block"))
        block = times["sampled", "block"]
        bars.at_most(f"core, {points} points: share of its block", 100 * times["sampled", "core"] / block, 12, "%")
        bars.at_most(f"block, {points} points: time of its six products", block / times["products", "block"], 1.15)


def kept(bars: Bars) -> None:
    points = 4096
    core = kept_bytes(Subject("sampled", "core", SETTING, points))
    inputs = 3 * 4 * SETTING.batch * points * SETTING.dim
    extra = (core - inputs) / (SETTING.batch * points * SETTING.heads * 4)
    bars.at_most("core: numbers of 4 bytes kept per point and head beyond q, k, v", extra, 1, "numbers")
    per_point = [kept_bytes(Subject("sampled", "block", SETTING, n)) / (SETTING.batch * n) for n in (1024, 4096, 16384)]
    change = 100 * (max(per_point) / min(per_point) - 1)
    bars.at_most("block: change of the bytes kept per point from 1,024 to 16,384 points", change, 1, "%")


def a_million(bars: Bars) -> None:
    taken = memory("sampled", "block", Setting(batch=1, heads=2, head_dim=32), 2**20, backward=False)
    assert not isinstance(taken, str), taken
    bars.at_most("block of width 64, 1,048,576 points, forward: peak memory", taken.peak / 1e9, 4, "GB")


def options(about: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


def finish(chosen: argparse.Namespace, bars: Bars, here: dict[str, Any], command: str, **further: object) -> None:
    """Write the figures to the file that --json names, if any."""
    if chosen.json is None:
        return
    result = {"command": command, "machine": here, "versions": {"torch": torch.__version__}, "bars": bars.rows}
    result |= further
    chosen.json.parent.mkdir(parents=True, exist_ok=True)
    chosen.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


def main() -> None:
    chosen = options(__doc__)
    keep_freed_memory()
    here = {**machine(), "load": load()}
    bars = Bars()
    for part in (against_memory, against_itself, in_the_block, against_dense, kept, a_million):
        part(bars)
    finish(chosen, bars, here, "python benchmarks/attention.py")


if __name__ == "__main__":
    main()
