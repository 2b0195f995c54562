"""Where linear cost matters: time and memory of whole networks on sets that grow, measured here and now."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..support.memory import give_back_memory
from ..support.workers import Announce, ProcessDied, run_in_order

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
SMALL = 20_000  # points
LIMIT = 20.0  # seconds; the next size would take four times as long with dense attention


class Measured(NamedTuple):
    """One forward pass of a network over one set."""

    points: int
    seconds: float
    megabytes: float | None  # that the pass added to the memory of a fresh process; None where nobody can say


def measure(networks: Mapping[str, Path], sizes: Sequence[int], limit: float = LIMIT) -> Iterator[tuple[str, Measured]]:
    """Classify sets of these sizes with each network, each in a fresh process, until one pass takes `limit` seconds.

    The sets are random directions with their normals: what a network answers does not matter here.
    """
    for name, weights in networks.items():
        for points in sizes:
            [(_, found)] = run_in_order(partial(_measure, weights=str(weights)), [[points]], 1)
            if isinstance(found, ProcessDied):  # not enough memory
                break
            yield name, found
            if found.seconds > limit:
                break


def _measure(chunk: list[int], announce: Announce, weights: str) -> list[Measured]:
    """Run in a worker, whose memory has seen nothing larger."""
    import torch

    from ..weights import load_model

    network, description = load_model(weights)
    network.eval()
    directions = torch.nn.functional.normalize(
        torch.randn(1, chunk[0], 3, generator=torch.Generator().manual_seed(0)), dim=2
    )
    normals = directions if description.options.get("normals", True) else None
    announce(0)
    with torch.inference_mode():
        # The first pass compiles. Half a large set is enough for that; half a small one may need no compiled kernel.
        warm = chunk[0] if chunk[0] <= SMALL else chunk[0] // 2
        network(directions[:, :warm], None if normals is None else normals[:, :warm])
        before, begin = _peak(reset=True), time.perf_counter()
        network(directions, normals)
        seconds, after = time.perf_counter() - begin, _peak()
    added = None if before is None or after is None else after - before
    return [Measured(chunk[0], seconds, added)]


def _peak(reset: bool = False) -> float | None:
    """The largest memory that this process has had, in megabytes; with `reset`, forget larger ones of the past first.

    On Linux, `ru_maxrss` will not do: a new process inherits it from the one that started it.
    """
    try:
        if reset:
            give_back_memory()
            CLEAR.write_text("5")
    except OSError:  # not on this system
        pass
    try:
        lines = STATUS.read_text("ascii").splitlines()
        return next(int(line.split()[1]) / 2**10 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        pass
    try:
        import resource
    except ImportError:  # not on Windows
        return None
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def table(rows: Sequence[tuple[str, Measured]], largest: int) -> str:
    """The measurements as text, and what is left out where a pass would take too long."""
    lines = []
    for name in dict.fromkeys(name for name, _ in rows):
        own = [one for other, one in rows if other == name]
        for one in own:
            memory = "" if one.megabytes is None else f", {one.megabytes:,.0f} MB"
            lines.append(f"  {name:8} {one.points:7,} points: {one.seconds:6.2f} s{memory}")
        if own[-1].points < largest:
            lines.append(f"  {name:8} {largest:7,} points: {guess(own, largest)}")
    return "\n".join(lines)


def guess(own: Sequence[Measured], largest: int) -> str:
    """What a pass that was not made would take, if time goes on growing as it did."""
    if len(own) < 2:
        return "not measured"
    one, two = own[-2:]
    power = math.log(two.seconds / one.seconds) / math.log(two.points / one.points)
    return f"not measured; about {two.seconds * (largest / two.points) ** power:,.0f} s at the measured n^{power:.1f}"
