"""Resident memory of a program with all its child processes, over time, from Linux's /proc.

We add up the resident pages (VmRSS) of all processes. Pages that several processes share, such as code and memory maps,
count once for each, so that the sum is an upper bound.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

PROC = Path("/proc")


class Sample(NamedTuple):
    """What a program used at one moment."""

    seconds: float  # since the watch began
    resident: int  # bytes, all processes
    processes: int


def resident(process: int) -> int:
    """Resident bytes of one process; 0 if it is gone."""
    try:
        return int((PROC / str(process) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def family(process: int) -> list[int]:
    """The numbers of a process and of all processes below it."""
    children: dict[int, list[int]] = {}
    for path in PROC.iterdir():
        if path.name.isdecimal():
            try:
                text = (path / "stat").read_text()
            except OSError:  # it has ended since
                continue
            children.setdefault(int(text.rpartition(")")[2].split()[1]), []).append(int(path.name))
    found = [process]
    for one in found:
        found += children.get(one, [])
    return found


def processor_seconds(process: int) -> float:
    """Processor time of a process, with that of its children that have ended and been waited for."""
    try:
        words = (PROC / str(process) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")


def threads(process: int) -> int:
    """The number of threads of a process."""
    return len(list((PROC / str(process) / "task").iterdir()))


def open_files(process: int) -> int:
    """The number of files, pipes and sockets that a process has open."""
    return len(list((PROC / str(process) / "fd").iterdir()))


def left_behind(folder: Path) -> int:
    """The number of files and folders in a folder for temporary files, without torch's own cache, which is to stay."""
    return sum(1 for path in folder.rglob("*") if not path.relative_to(folder).parts[0].startswith("torchinductor_"))


class Watch:
    """Samples the memory of a program in a thread, in a `with` block.

    Args:
        process: The number of the process; its children count, too.
        every: Seconds between two samples.
    """

    def __init__(self, process: int, every: float = 0.1) -> None:
        self.process, self.every = process, every
        self.samples: list[Sample] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._begin = time.perf_counter()

    def __enter__(self) -> Watch:
        self._begin = time.perf_counter()
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self.take()
            if self._ended.wait(self.every):
                return

    def take(self) -> Sample:
        """Take one sample now."""
        sizes = [resident(one) for one in family(self.process)]
        sample = Sample(time.perf_counter() - self._begin, sum(sizes), sum(size > 0 for size in sizes))
        self.samples.append(sample)
        return sample

    @property
    def peak(self) -> int:
        """The largest sum of resident bytes."""
        return max((one.resident for one in self.samples), default=0)

    def curve(self, rows: int = 40) -> list[dict[str, Any]]:
        """The largest memory in each of `rows` equal stretches of time, in megabytes."""
        if not self.samples:
            return []
        length = max(self.samples[-1].seconds, 1e-9) / rows
        found: dict[int, Sample] = {}
        for one in self.samples:
            place = min(int(one.seconds / length), rows - 1)
            if place not in found or one.resident > found[place].resident:
                found[place] = one
        return [
            {"seconds": round(one.seconds, 1), "megabytes": megabytes(one.resident), "processes": one.processes}
            for _, one in sorted(found.items())
        ]


def megabytes(size: float) -> float:
    """Bytes in megabytes (10^6 bytes), rounded."""
    return round(size / 1e6, 1)
