"""A whole benchmark: which measurements it holds, and how they are made one after the other."""

from __future__ import annotations

import gc
import math
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from ..memory import give_back_memory
from ..registry import look_up
from .measure import available_memory, interleaved, memory
from .subjects import LEVELS, MECHANISMS, Setting, Subject, memory_needed

PASSES = ("forward", "both")
SPARE = 0.8  # of the available memory that a measurement may take
PATIENCE = 6  # times the limit of a call: what one in a fresh process may take, its start included


@dataclass(frozen=True)
class Plan:
    """What to measure.

    Args:
        points: sizes of the sets.
        mechanisms: names, see MECHANISMS.
        levels: attention alone on q, k and v ("core"), with its projections ("layer"), in its "block", or in the basic
            classification "network".
        passes: "forward" alone, or "both" forward and backward.
        setting: the other sizes.
        repeats: rounds of each measurement, of which the median counts.
        limit: seconds that one call may take; what can be expected to take longer is left out.
        memory: also measure bytes, each in a fresh process.
        times: measure seconds.
    """

    points: Sequence[int] = (256, 1024, 4096, 16384, 65536, 1048576)
    mechanisms: Sequence[str] = tuple(MECHANISMS)
    levels: Sequence[str] = ("layer", "block")
    passes: Sequence[str] = PASSES
    setting: Setting = field(default_factory=Setting)
    repeats: int = 7
    limit: float = 10.0
    memory: bool = True
    times: bool = True

    def __post_init__(self) -> None:
        for name, values, known in (
            ("levels", self.levels, LEVELS),
            ("passes", self.passes, PASSES),
            ("mechanisms", self.mechanisms, tuple(MECHANISMS)),
        ):
            if not values:
                raise ValueError(f"{name}: expected at least one")
            for value in values:
                look_up(name, value, dict.fromkeys(known))
        sizes = {"points": min(self.points, default=0), **asdict(self.setting), "repeats": self.repeats}
        for name, size in sizes.items():
            if not isinstance(size, str) and size < 1:
                raise ValueError(f"{name}: expected at least 1, got {size}")
        if not self.limit > 0:
            raise ValueError(f"limit: expected a positive number of seconds, got {self.limit}")

    def steps(self) -> int:
        """How many measurements there are, for the progress bar."""
        rows = sum(len(self.rows(level)) for level in self.levels) * len(self.points)
        return rows * (len(self.passes) * self.times + self.memory)

    def rows(self, level: str) -> list[str]:
        return [name for name in self.mechanisms if level in MECHANISMS[name].levels]


PRESETS: dict[str, Plan] = {
    # The paper does not say its batch size: 16 fits the slopes of its table.
    "paper-memory": Plan(
        points=(256, 512, 768, 1024, 2048, 3072, 4096, 8192),
        mechanisms=("none", "dense-explicit", "dense", "sparse", "sampled", "knn"),
        levels=("network",),
        passes=("both",),
        setting=Setting(batch=16),
        times=False,
    ),
    "quick": Plan(
        points=(256, 1024, 4096),
        mechanisms=("sampled", "linear", "sparse", "induced-16", "knn", "dense", "dense-explicit", "products", "copy"),
        levels=("core", "block"),
        passes=("both",),
        repeats=3,
        memory=False,
    ),
}


def run(plan: Plan, progress: Callable[[int], object] = lambda steps: None) -> dict[str, Any]:
    """Make all measurements. `progress` is told how many more are done.

    Ctrl-C ends it early: the result then holds what was measured before, and says so.
    """
    result: dict[str, Any] = {
        "plan": asdict(plan),
        "machine": {
            "cores": os.cpu_count(),
            "threads": torch.get_num_threads(),
            "processor": platform.machine(),
            "device": plan.setting.device,
        },
        "versions": {"torch": torch.__version__, "python": platform.python_version()},
        "stopped": False,
        "times": [],
        "memory": [],
    }
    try:
        if plan.times:
            result["times"].extend(_times(plan, progress))  # keeps what came before an interruption
        if plan.memory:
            result["memory"].extend(_memory(plan, progress))
    except KeyboardInterrupt:
        result["stopped"] = True
    result["exponents"] = list(exponents(result["times"]))
    return result


def _times(plan: Plan, progress: Callable[[int], object]) -> Iterator[dict[str, Any]]:
    for level in plan.levels:
        for passes in plan.passes:
            last: dict[str, tuple[int, float]] = {}  # the largest size that was measured, and its seconds
            for points in sorted(plan.points):
                rows = [name for name in plan.rows(level) if passes == "forward" or MECHANISMS[name].backward]
                reasons = {name: _reason(name, level, plan, points, last.get(name)) for name in rows}
                runs = _prepare(
                    [name for name, reason in reasons.items() if reason is None], level, passes, plan, points
                )
                reasons.update({name: run for name, run in runs.items() if isinstance(run, str)})
                ready = {name: run for name, run in runs.items() if not isinstance(run, str)}
                medians = interleaved(ready, plan.repeats, plan.setting.device)
                del runs, ready
                gc.collect()
                give_back_memory()  # what is kept would not count as available
                for name in plan.rows(level):
                    entry = {"level": level, "passes": passes, "mechanism": name, "points": points}
                    if name in medians:
                        last[name] = points, medians[name]
                        yield entry | {"seconds": medians[name]}
                    else:
                        yield entry | {"left_out": reasons.get(name) or "has no backward pass"}
                progress(len(plan.rows(level)))


def _prepare(names: list[str], level: str, passes: str, plan: Plan, points: int) -> dict[str, Callable[[], None] | str]:
    """What to call for each; or the error, in one line, of those that do not work here."""
    runs: dict[str, Callable[[], None] | str] = {}
    for name in names:
        try:
            subject = Subject(name, level, plan.setting, points)
            call = subject.forward if passes == "forward" else subject.both
            call()
            runs[name] = call
        except Exception as error:  # of a compiler, of a kernel: the others are still worth measuring
            runs[name] = f"failed: {(str(error).splitlines() or [type(error).__name__])[0][:200]}"
    return runs


def _reason(name: str, level: str, plan: Plan, points: int, last: tuple[int, float] | None) -> str | None:
    """Why a measurement is left out, if it is."""
    if plan.setting.device == "cpu" and memory_needed(name, level, plan.setting, points) > SPARE * available_memory():
        return "does not fit"
    if last is not None:
        growth = 2 if MECHANISMS[name].matrix or name == "dense" else 1
        if last[1] * (points / last[0]) ** growth > plan.limit:
            return f"takes more than {plan.limit:g} s"
    return None


def _memory(plan: Plan, progress: Callable[[int], object]) -> Iterator[dict[str, Any]]:
    for level in plan.levels:
        for name in plan.rows(level):
            patient = True
            for points in sorted(plan.points):
                entry = {"level": level, "mechanism": name, "points": points}
                fits = memory_needed(name, level, plan.setting, points) <= SPARE * available_memory()
                if name == "copy" or not fits or not patient:
                    yield entry | {
                        "left_out": "does not fit" if not fits else "takes too long" if not patient else "a copy"
                    }
                else:
                    begin = time.monotonic()
                    yield entry | _bytes(name, level, plan.setting, points)
                    patient = time.monotonic() - begin < PATIENCE * plan.limit
                progress(1)


def _bytes(name: str, level: str, setting: Setting, points: int) -> dict[str, int | None]:
    taken = memory(name, level, setting, points, MECHANISMS[name].backward)
    return {"peak_bytes": taken.peak if taken else None, "kept_bytes": taken.kept if taken else None}


def exponents(times: Sequence[dict[str, Any]], smallest: int = 0) -> Iterator[dict[str, Any]]:
    """The slope of log time over log points, by least squares, of each row with two sizes or more."""
    groups: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for entry in times:
        if "seconds" in entry and entry["points"] >= smallest:
            key = entry["level"], entry["passes"], entry["mechanism"]
            groups.setdefault(key, []).append((math.log(entry["points"]), math.log(entry["seconds"])))
    for (level, passes, mechanism), pairs in groups.items():
        if len(pairs) > 1:
            yield {"level": level, "passes": passes, "mechanism": mechanism, "exponent": slope(pairs)}


def slope(pairs: Sequence[tuple[float, float]]) -> float:
    x = sum(pair[0] for pair in pairs) / len(pairs)
    y = sum(pair[1] for pair in pairs) / len(pairs)
    return sum((a - x) * (b - y) for a, b in pairs) / sum((a - x) ** 2 for a, _ in pairs)
