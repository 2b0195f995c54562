"""Where work runs: in processes of this machine, or in those of a Ray cluster. Both give the same results.

A unit is a list of chunks, and a chunk a list of items. `work(chunk, announce)` returns one result per item, see
`support.workers.run_in_order`. Processes get whole chunks, so a result does not depend on the engine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, Literal

from ..support.workers import Crew, Engine, Pairs, Work, available_cores, numbered

EngineName = Literal["ray"]
MOST_WORKERS = 8  # that we start without being told; each takes a few hundred megabytes


def find_engine(
    name: EngineName | None, workers: int | None = None, address: str | None = None, device: str | None = None
) -> Engine:
    """The engine of a name: `for number, pairs in engine(work, units)` yields the units as they are finished.

    The result of an item whose process died twice is a ProcessDied.

    Args:
        name: "ray", or None for processes of this machine.
        workers: Number of processes (default: one per core, at most 8; in a cluster one per core).
        address: A Ray cluster, such as "auto" (default: one that is started on this machine for the work).
        device: "cuda" reserves one GPU of the cluster per process.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers: expected at least 1 for many files, got {workers}")
    if name is None:
        if address is not None:
            raise ValueError(f"address: expected none without --engine ray, got {address}")
        return partial(run_here, workers=workers or min(available_cores(), MOST_WORKERS))
    from .ray_engine import load_ray, run_on_ray

    load_ray()  # refuses a missing package before any work
    return partial(run_on_ray, workers=workers, address=address, gpus=int((device or "").startswith("cuda")))


def run_here(work: Work, units: Iterable[list[list[Any]]], workers: int) -> Iterator[tuple[int, Pairs]]:
    """Yield each unit's number and its items with their results, in order, from processes of this machine."""
    sizes: deque[int] = deque()

    def chunks() -> Iterator[list[Any]]:
        for unit in units:
            sizes.append(sum(map(len, unit)))
            yield from unit

    number = 0
    pairs: Pairs = []
    with Crew(numbered(work), workers, again=True) as crew:
        for pair in crew.run_in_order(chunks()):
            pairs.append(pair)
            if len(pairs) == sizes[0]:
                yield number, pairs
                sizes.popleft()
                number, pairs = number + 1, []
