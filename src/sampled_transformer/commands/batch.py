"""Answers about many files in parts: what `--out` and `--engine` do in the commands that read files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .messages import remark

if TYPE_CHECKING:
    from ..engine.engines import EngineName
    from ..engine.job import Job


def check_batch(out: str | None, engine: EngineName | None, address: str | None) -> None:
    """Refuse an engine without a folder for the answers, and an address without an engine."""
    if engine is not None and out is None:
        raise ValueError("out: expected a folder for the answers of --engine, got none")
    if address is not None and engine is None:
        raise ValueError(f"address: expected none without --engine, got {address}")


def run_batch(
    job: Job,
    names: Iterable[str],
    out: str,
    engine: EngineName | None = None,
    workers: int | None = None,
    address: str | None = None,
    device: str | None = None,
) -> int:
    """Run a job about files and say what came of it; returns the exit code."""
    from ..engine.engines import find_engine
    from ..engine.job import run_job
    from ..support.printable import printable

    runs = find_engine(engine, workers, address, device)
    try:
        done = run_job(job, names, out, runs, progress=True)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped; the same command goes on from here") from None
    if done.earlier:
        remark("note", [f"{done.earlier} of {done.parts} parts were finished by an earlier run"])
    remark("could not be read", done.failures.values())
    print(f"{printable(out)}: {done.files - done.failed} of {done.files} files in {done.parts} parts")
    return int(bool(done.failures))
