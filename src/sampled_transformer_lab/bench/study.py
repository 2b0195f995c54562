"""A whole benchmark: the plan of its measurements, and how they are made one after the other."""

from __future__ import annotations

import gc
import math
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor

from sampled_transformer.support.machine import machine
from sampled_transformer.support.memory import give_back_memory
from sampled_transformer.support.registry import look_up

from .measure import Bytes, available_memory, interleaved, load, memories
from .setting import LIMIT, REPEATS, Setting
from .subjects import LEVELS, MECHANISMS, Subject, memory_needed

PASSES = ("forward", "both")
SPARE = 0.8  # the share of the available memory that a measurement may take
LARGE = 1024  # exponents are fitted to sets of at least this many points
PATIENCE = 6  # measuring memory makes two calls and may take this many times the limit of one call


@dataclass(frozen=True)
class Plan:
    """What to measure.

    Args:
        points: sizes of the sets.
        mechanisms: names of rows, see MECHANISMS.
        levels: attention alone on q, k and v ("core"), with its projections ("layer"), in its "block", or in the basic
            classification "network".
        passes: "forward", or "both" for forward and backward.
        setting: the other sizes.
        repeats: rounds of each measurement; the result is their median.
        limit: seconds that one call may take. Calls that would probably take longer are left out.
        memory: measure memory, each row in a fresh process.
        times: measure times.
    """

    points: Sequence[int] = (256, 1024, 4096, 16384, 65536, 1048576)
    mechanisms: Sequence[str] = tuple(MECHANISMS)
    levels: Sequence[str] = ("core", "layer", "block")
    passes: Sequence[str] = PASSES
    setting: Setting = field(default_factory=Setting)
    repeats: int = REPEATS
    limit: float = LIMIT
    memory: bool = True
    times: bool = True

    def __post_init__(self) -> None:
        for name, values, known in (
            ("levels", self.levels, LEVELS),
            ("passes", self.passes, PASSES),
            ("mechanisms", self.mechanisms, tuple(MECHANISMS)),
        ):
            if not values:
                raise ValueError(f"{name}: expected at least one, got none")
            for value in values:
                look_up(name, value, dict.fromkeys(known))
        sizes = {"points": min(self.points, default=0), **asdict(self.setting), "repeats": self.repeats}
        for name, size in sizes.items():
            if not isinstance(size, str) and size < 1:
                raise ValueError(f"{name}: expected at least 1, got {size}")
        if len(set(self.points)) < len(self.points):
            raise ValueError(f"points: expected different sizes, got {', '.join(map(str, self.points))}")
        if not self.steps():
            raise ValueError("mechanisms, levels, memory: expected something to measure, got no row with these levels")
        if not self.limit > 0:
            raise ValueError(f"limit: expected a positive number of seconds, got {self.limit}")

    def steps(self) -> int:
        """The number of measurements, for the progress bar."""
        rows = sum(len(self.rows(level)) for level in self.levels) * len(self.points)
        return rows * (len(self.passes) * self.times + self.memory)

    def rows(self, level: str) -> list[str]:
        """The mechanisms that exist at this level."""
        return [name for name in self.mechanisms if level in MECHANISMS[name].levels]


PRESETS: dict[str, Plan] = {
    # The paper does not state its batch size; 16 fits the slopes of its table.
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
    """Make all measurements, and tell `progress` how many more are done.

    After Ctrl-C the result holds what was measured until then, and "stopped" is true.
    """
    result: dict[str, Any] = {
        "plan": asdict(plan),
        "machine": {**machine(), "device": plan.setting.device, "load": load()},
        "versions": {"torch": torch.__version__, "python": platform.python_version()},
        "stopped": False,
        "times": [],
        "memory": [],
    }
    try:
        if plan.times:
            result["times"].extend(_times(plan, progress))  # extend keeps what came before an interruption
        if plan.memory:
            result["memory"].extend(_memory(plan, progress))
    except KeyboardInterrupt:
        result["stopped"] = True
    result["exponents"] = list(exponents(result["times"]))
    return result


def _times(plan: Plan, progress: Callable[[int], object]) -> Iterator[dict[str, Any]]:
    for level in plan.levels:
        for passes in plan.passes:
            last: dict[str, tuple[int, float]] = {}  # the largest size measured so far, and its seconds
            for points in sorted(plan.points):
                rows = [name for name in plan.rows(level) if passes == "forward" or MECHANISMS[name].backward]
                runs = _prepare(rows, level, passes, plan, points, last)
                reasons = {name: run for name, run in runs.items() if isinstance(run, str)}
                ready = {name: run for name, run in runs.items() if not isinstance(run, str)}
                medians = interleaved(ready, plan.repeats, plan.setting.device)
                del runs, ready
                gc.collect()
                give_back_memory()  # memory that we keep would not count as available
                for name in plan.rows(level):
                    entry = {"level": level, "passes": passes, "mechanism": name, "points": points}
                    if name in medians:
                        last[name] = points, medians[name]
                        yield entry | {"seconds": medians[name]}
                    else:
                        yield entry | {"left_out": reasons.get(name) or "has no backward pass"}
                progress(len(plan.rows(level)))


def _prepare(
    names: list[str], level: str, passes: str, plan: Plan, points: int, last: Mapping[str, tuple[int, float]]
) -> dict[str, Callable[[], None] | str]:
    """The call to measure for each name, or the reason, in one line, why it cannot be measured."""
    runs: dict[str, Callable[[], None] | str] = {}
    shared: dict[Any, Tensor] = {}
    for name in names:
        # Asked for each row in turn, because the rows before it already hold memory.
        reason = _reason(name, level, passes, plan, points, last.get(name))
        if reason is not None:
            runs[name] = reason
            continue
        try:
            subject = Subject(name, level, plan.setting, points, shared)
            call: Callable[[], None] = subject.forward if passes == "forward" else subject.both
            call()
            runs[name] = call
        except Exception as error:  # a compiler or a kernel may fail; the other rows can still be measured
            runs[name] = f"failed: {(str(error).splitlines() or [type(error).__name__])[0][:200]}"
    return runs


def _reason(name: str, level: str, passes: str, plan: Plan, points: int, last: tuple[int, float] | None) -> str | None:
    """Why a measurement is left out, or None."""
    if not _fits(name, level, plan.setting, points, passes == "both"):
        return "does not fit"
    if last is not None:
        growth = 2 if MECHANISMS[name].matrix or name == "dense" else 1
        if last[1] * (points / last[0]) ** growth > plan.limit:
            return f"takes more than {plan.limit:g} s"
    return None


def _fits(name: str, level: str, setting: Setting, points: int, backward: bool) -> bool:
    needed = memory_needed(name, level, setting, points, backward)
    return setting.device != "cpu" or needed <= SPARE * available_memory()


def _memory(plan: Plan, progress: Callable[[int], object]) -> Iterator[dict[str, Any]]:
    for level in plan.levels:
        for name in plan.rows(level):
            backward = "both" in plan.passes and MECHANISMS[name].backward
            sizes = sorted(plan.points)
            fitting = [n for n in sizes if name != "copy" and _fits(name, level, plan.setting, n, backward)]
            patience = PATIENCE * plan.limit
            measured = memories(name, level, plan.setting, fitting, backward, patience) if fitting else []
            taken: dict[int, Bytes | str] = dict(zip(fitting, measured, strict=True))
            for points in sizes:
                entry = {"level": level, "mechanism": name, "points": points}
                answer = taken.get(points, "is only a copy" if name == "copy" else "does not fit")
                if isinstance(answer, str):
                    yield entry | {"left_out": answer}
                else:
                    yield entry | {"peak_bytes": answer.peak, "kept_bytes": answer.kept}
            progress(len(sizes))


def exponents(times: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The slope of log time over log points, fitted by least squares, for each row with at least two sizes.

    The overhead of the calls dominates the times of small sets, so they count only where there are no two larger sets.
    """
    groups: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for entry in times:
        if "seconds" in entry:
            key = entry["level"], entry["passes"], entry["mechanism"]
            groups.setdefault(key, []).append((math.log(entry["points"]), math.log(entry["seconds"])))
    for (level, passes, mechanism), pairs in groups.items():
        large = [pair for pair in pairs if pair[0] >= math.log(LARGE)]
        if len(pairs) > 1:
            exponent = slope(large if len(large) > 1 else pairs)
            yield {"level": level, "passes": passes, "mechanism": mechanism, "exponent": exponent}


def slope(pairs: Sequence[tuple[float, float]]) -> float:
    """The slope of the least-squares line through points (x, y)."""
    x = sum(pair[0] for pair in pairs) / len(pairs)
    y = sum(pair[1] for pair in pairs) / len(pairs)
    return sum((a - x) * (b - y) for a, b in pairs) / sum((a - x) ** 2 for a, _ in pairs)
