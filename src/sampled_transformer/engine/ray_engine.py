"""Work in the processes of a Ray cluster, by Ray Data.

Every actor of Ray keeps one process of its own that does the work. A file that kills its reader kills that process, not
the actor, and costs its own answer only. If an actor or its machine dies, Ray starts another and repeats its units.

A cluster that we start ourselves is for this machine alone: it listens on 127.0.0.1, has no dashboard, and reports
nothing to anyone. What travels between processes of a cluster is pickled, as Ray does it; nothing is read from files.
"""

from __future__ import annotations

import logging
import os
import pickle
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any

from ..support.workers import Crew, Pairs, Work, available_cores, in_chunks, numbered

UNITS_AT_ONCE = 1024  # that Ray Data knows of; it keeps a record of each, so we give it a limited number
STORE_BYTES = 256_000_000  # of the object store of a local cluster; Ray spills what does not fit
SECONDS_TO_ANSWER = 10
HERE = "127.0.0.1"
SILENT: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal"}


def load_ray() -> Any:
    """Import Ray, which is an extra; the error says how to install it."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
        import ray.data
    except ImportError:
        raise ValueError('ray is not installed: pip install "sampled-transformer[ray]"') from None
    return ray


@contextmanager
def ray_cluster(address: str | None = None, workers: int | None = None) -> Iterator[Any]:
    """Connect to a cluster, or start one on this machine. One that this process is connected to already is used.

    Args:
        address: Address of the cluster, such as "auto" or "head:6379" (default: start one).
        workers: Number of processes of a cluster that is started (default: one per core).
    """
    ray = load_ray()
    if ray.is_initialized():
        yield ray
        return
    try:
        with _silent():
            _start(ray, workers) if address is None else _connect(ray, address)
    except (RuntimeError, OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:300]
        expected = "a cluster that can be started" if address is None else "a Ray cluster that can be reached"
        raise ValueError(f"address: expected {expected}, got {address} ({reason})") from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _connect(ray: Any, address: str) -> None:
    """Connect to a cluster. Ray itself would wait for minutes if nobody answered at a host and port."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), SECONDS_TO_ANSWER).close()
    ray.init(address, **SILENT)


def _start(ray: Any, workers: int | None) -> None:
    """Start a cluster that only this machine can reach.

    Ray replaces 127.0.0.1 by the machine's address in its network, where anyone could then run code in our name. It
    does not where it takes clusters for unsupported, as on macOS, and it reads when it is imported whether they are.
    """
    from ray._private import ray_constants

    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        ray.init(
            "local",
            num_cpus=workers or available_cores(),
            include_dashboard=False,
            _node_ip_address=HERE,
            object_store_memory=STORE_BYTES,
            **SILENT,
        )
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before
    if ray.util.get_node_ip_address() != HERE:
        ray.shutdown()
        raise RuntimeError(f"this version of Ray does not keep to {HERE}")


class _Actor:
    """One process of the cluster. Its own worker process is made once and loads what it needs once.

    Rows travel pickled, as all that Ray sends between its processes: they are made here and in `_wave`, and no file
    that a user names is ever read this way. Whoever can write to the cluster can run code in it, with or without us.
    """

    def __init__(self, work: Work) -> None:
        self.crew = Crew(numbered(work), 1, again=True)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        try:
            found: Any = list(self.crew.run_in_order(pickle.loads(row["unit"])))
        except Exception as error:  # the same for every unit, such as missing weights: the caller shall see it
            found = error
        return {"number": row["number"], "found": pickle.dumps(found)}


def run_on_ray(
    work: Work, units: Iterable[list[list[Any]]], workers: int | None = None, address: str | None = None, gpus: int = 0
) -> Iterator[tuple[int, Pairs]]:
    """Yield each unit's number and its items with their results, in order of completion; see `engines.find_engine`."""
    waves = in_chunks(enumerate(units), UNITS_AT_ONCE)
    first = next(waves, None)
    if first is None:  # nothing to do, so no cluster is needed
        return
    with ray_cluster(address, workers) as ray, _quiet(ray):
        processes = workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        for wave in chain([first], waves):
            yield from _wave(ray, work, wave, processes, gpus)


def _wave(
    ray: Any, work: Work, units: list[tuple[int, list[list[Any]]]], workers: int, gpus: int
) -> Iterator[tuple[int, Pairs]]:
    rows = [{"number": number, "unit": pickle.dumps(unit)} for number, unit in units]
    missing = {number for number, _ in units}
    found = ray.data.from_items(rows, override_num_blocks=len(rows)).map(
        _Actor,
        fn_constructor_args=(work,),
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=workers, initial_size=min(workers, len(rows))),
        num_cpus=1,
        num_gpus=gpus,
    )
    try:
        for row in found.iter_rows():
            pairs = pickle.loads(row["found"])
            if isinstance(pairs, Exception):
                raise pairs
            if row["number"] in missing:  # once, even if Ray repeated a unit that was finished
                missing.remove(row["number"])
                yield row["number"], pairs
    except ray.exceptions.RayError as error:
        reason = " ".join(str(error).split())[:300]
        raise OSError(
            f"the Ray cluster could not finish the work; the same command goes on from here ({reason})"
        ) from None
    if missing:
        raise OSError(f"the Ray cluster lost {len(missing)} of {len(rows)} units; the same command goes on from here")


@contextmanager
def _silent() -> Iterator[None]:
    """Hide what Ray's own library writes to the error output while it starts; errors are raised all the same."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextmanager
def _quiet(ray: Any) -> Iterator[None]:
    """Let Ray Data print nothing: the program has its own words."""
    context = ray.data.DataContext.get_current()
    settings = {"enable_progress_bars": False, "print_on_execution_start": False}
    before = {name: getattr(context, name) for name in settings}
    logger = logging.getLogger("ray.data")
    level = logger.level
    for name, value in settings.items():
        setattr(context, name, value)
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(context, name, value)
        logger.setLevel(level)
