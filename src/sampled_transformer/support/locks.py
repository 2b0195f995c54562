"""One writer at a time: a lock file that names the host and the process which holds it.

The kernel holds the lock (`flock`), so it ends with its process, however that ends: a file left behind by a killed
process is no lock. Other hosts may not see the kernel's lock on a shared file system. So the holder also renews the
time of the file, and another host's lock counts as left behind when it was not renewed for five minutes, or when it
belongs to an earlier start of our own SLURM job.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .printable import printable

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

RENEWED_EVERY = 30.0  # seconds
LEFT_AFTER = 300.0  # seconds without renewal


class InUse(ValueError):
    """Another process holds the lock. The message says which."""


@contextmanager
def locked(path: Path, name: str, what: str) -> Iterator[None]:
    """Hold the lock file `path`; raise InUse if another process holds it, `name: expected ..., got what, which ...`.

    Folders that we make for it are removed again if nothing else was written to them.
    """
    made = [one for one in path.parents if not one.exists()]
    try:
        handle = _take(path, name, what)
    except OSError as error:
        raise ValueError(f"{name}: expected a place that can be written, got {what} ({error.strerror})") from None
    done = threading.Event()
    renewal = threading.Thread(target=_renew, args=(path, done), daemon=True)
    renewal.start()
    try:
        yield
    finally:
        done.set()
        renewal.join()
        with suppress(OSError):  # the folder may be gone
            path.unlink(missing_ok=True)  # while we hold it: whoever waits for the old file then looks for a new one
        os.close(handle)
        for one in made:
            with suppress(OSError):  # it is not empty
                one.rmdir()


def _take(path: Path, name: str, what: str) -> int:
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except FileNotFoundError:  # whoever was refused has just removed the folder that it had made
            continue
        try:
            free = _lock(handle)
            holder = _holder(handle)
            if free is None and _runs_here(holder):
                free = False
            if free is False or _is_elsewhere(path, handle, holder):
                expected = "expected a place that no other process writes to"
                raise InUse(f"{name}: {expected}, got {what}, {_shown(holder, path)}")
            with suppress(OSError):
                if os.path.samestat(os.stat(path), os.fstat(handle)):  # not unlinked since we opened it
                    _sign(handle)
                    return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock(handle: int) -> bool | None:
    """Whether the kernel gives us the lock. None means that it has none here, so that the file alone counts."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # some network file systems
        return None
    return True


def _runs_here(holder: Mapping[str, Any]) -> bool:
    """Whether the holder is a living process of this host."""
    number = holder.get("process")
    if holder.get("host") != socket.gethostname() or not isinstance(number, int) or os.name != "posix":
        return False
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # it lives, and belongs to someone else
        return True
    return number != os.getpid()


def _sign(handle: int) -> None:
    job = {name: os.environ[name] for name in ("SLURM_JOB_ID", "SLURM_RESTART_COUNT") if name in os.environ}
    holder = {"host": socket.gethostname(), "process": os.getpid(), "since": time.time(), **job}
    os.ftruncate(handle, 0)
    os.lseek(handle, 0, os.SEEK_SET)
    os.write(handle, (json.dumps(holder) + "\n").encode())


def _holder(handle: int) -> dict[str, Any]:
    try:
        os.lseek(handle, 0, os.SEEK_SET)
        holder = json.loads(os.read(handle, 4096))
    except (ValueError, RecursionError):  # not written yet, or not by us
        return {}
    return holder if isinstance(holder, dict) else {}


def _is_elsewhere(path: Path, handle: int, holder: Mapping[str, Any]) -> bool:
    """Whether the file belongs to a process of another host that seems to be alive."""
    if holder.get("host") in (None, socket.gethostname()) or _is_our_job(holder):
        return False
    return _now(path) - os.fstat(handle).st_mtime < LEFT_AFTER


def _is_our_job(holder: Mapping[str, Any]) -> bool:
    """Whether SLURM has started our job again since: it does that only after it has ended the earlier processes."""
    job, restarts = os.environ.get("SLURM_JOB_ID"), os.environ.get("SLURM_RESTART_COUNT", "0")
    return job is not None and holder.get("SLURM_JOB_ID") == job and restarts != holder.get("SLURM_RESTART_COUNT", "0")


def _now(path: Path) -> float:
    """The time by the clock of the file system, which may differ from ours."""
    probe = path.with_name(f".{path.name[:100]}.{os.getpid():08x}.tmp")
    try:
        probe.touch()
        return probe.stat().st_mtime
    except OSError:
        return time.time()
    finally:
        with suppress(OSError):
            probe.unlink(missing_ok=True)


def _renew(path: Path, done: threading.Event) -> None:
    while not done.wait(RENEWED_EVERY):
        with suppress(OSError):
            os.utime(path)


def _shown(holder: Mapping[str, Any], path: Path) -> str:
    try:
        number, since = int(holder["process"]), time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(holder["since"]))
    except (KeyError, TypeError, ValueError, OverflowError, OSError):  # not written yet, or not by us
        return "which another process has just taken"
    host = printable(str(holder.get("host")))
    own = "" if host == socket.gethostname() else f" (if it is gone, delete {printable(path)})"
    return f"which process {number} on {host} has used since {since}{own}"
