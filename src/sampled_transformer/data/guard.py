"""Read files in a process of its own, with a limit of memory and time: `with guarded(Limits()): ...`.

Within the block, a file that kills its reader, hangs it or asks for gigabytes costs one DataError. The process stays
for the next file, and another takes its place if it dies. Without such a block, readers run in this process and only
compare what headers claim with the limits.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from importlib.util import find_spec
from itertools import groupby
from math import inf
from pathlib import Path
from typing import Any

from ..support.apart import SECONDS_TO_START, Apart, Died, TimeUp
from ..support.limits import Limits
from ..support.memory import CAN_LIMIT, limited_memory
from ..support.printable import printable
from ..support.time_limits import limit_time, was_late
from .errors import DataError
from .limits import allowance, budget, enough_memory

# What readers import, by suffix: before the memory is limited, because a half-imported library stays broken.
LIBRARIES = {
    **dict.fromkeys((".las", ".laz"), ("laspy", "lazrs")),
    **dict.fromkeys((".glb", ".gltf"), ("trimesh",)),
    ".pcd": ("pypcd4",),
    **dict.fromkeys((".h5", ".hdf5"), ("h5py",)),
}

Request = tuple[Any, ...]  # the arguments of a call; the first is the path of the file

MOST_IDLE = 2  # processes that wait for the next file; more only read where threads ask at once


class Guard:
    """Processes that read files, as many as threads ask at once."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._lock = threading.Lock()
        self._idle: list[Apart] = []
        self._owner = os.getpid()

    def warm(self) -> None:
        """Start a process that will be needed soon."""
        self._put_back(self._idle_or_new())

    def read(self, function: Callable[..., Any], path: Path, *arguments: Any) -> Any:
        """The result of function(path, *arguments) in another process, or a DataError."""
        memory, seconds = self.limits.bytes_for(path), self.limits.seconds_for(path)
        reader = self._take(function, path)
        try:
            with self._errors(path, memory):
                return reader.call(read_limited, (function, path, arguments, memory), seconds, watched(memory))
        finally:
            self._put_back(reader)

    def read_pieces(self, function: Callable[..., Any], path: Path, *arguments: Any) -> Iterator[Any]:
        """What the iterator function(path, *arguments) yields in another process."""
        memory, seconds = self.limits.bytes_for(path), self.limits.seconds_for(path)
        reader = self._take(function, path)
        try:
            with self._errors(path, memory):
                call = function, path, arguments, memory
                yield from reader.stream(read_pieces_limited, call, seconds, watched(memory))
        finally:
            self._put_back(reader)

    def read_each(self, function: Callable[..., Any], requests: Iterable[Request]) -> Iterator[Any]:
        """The results of function(*request) in another process, or what each ends in, a DataError.

        The process goes on to the next file while its caller works on the last one. Files with one limit are asked for
        together.
        """
        for (memory, seconds), same in groupby(requests, lambda one: self._limits(one[0])):
            left = deque(same)
            while left:
                reader = self._take(function, *(path for path, *_ in left))
                try:
                    arguments = function, list(left), memory
                    stream = reader.stream(read_each_limited, arguments, seconds, watched(memory))
                    with closing(stream) as results:
                        for result in results:
                            left.popleft()
                            if not left:
                                deque(results, 0)  # nothing but its end, so that whoever asks no more leaves it idle
                            yield result
                except (Died, TimeUp, MemoryError) as how:
                    if left:  # the first of them killed it, and another process reads the others
                        yield self._explained(how, left.popleft()[0], memory)
                finally:
                    self._put_back(reader)

    def _limits(self, path: Path) -> tuple[int, float]:
        return self.limits.bytes_for(path), self.limits.seconds_for(path)

    def stop(self) -> None:
        """End the processes that wait."""
        with self._lock:
            idle, self._idle = self._idle, []
        for reader in idle:
            reader.stop()

    @contextmanager
    def _errors(self, path: Path, memory: int) -> Iterator[None]:
        try:
            yield
        except (Died, TimeUp, MemoryError) as how:
            raise self._explained(how, path, memory) from None

    def _explained(self, how: Died | TimeUp | MemoryError, path: Path, memory: int) -> DataError:
        if isinstance(how, TimeUp):
            reason = too_slow(self.limits, path)
        elif isinstance(how, MemoryError):
            reason = "not enough memory for what it holds"
        else:
            reason = reason_of_death(str(how), memory)
        return DataError(f"{printable(path)}: {reason}")

    def _take(self, function: Callable[..., Any], *paths: Path) -> Apart:
        """A process that has imported all that the calls need: imports count neither as time nor as memory."""
        reader = self._idle_or_new()
        for path in paths:
            need = function, path.suffix.lower()
            if need in reader.prepared:
                continue
            try:
                reader.call(import_libraries, (path, function), SECONDS_TO_START)
            except (Died, TimeUp) as how:
                raise OSError(f"could not start a process that reads files ({how})") from None
            reader.prepared.add(need)
        return reader

    def _idle_or_new(self) -> Apart:
        with self._lock:
            if self._owner != os.getpid():  # after a fork, the processes belong to the other one
                self._owner, self._idle = os.getpid(), []
            while self._idle:
                reader = self._idle.pop()
                if reader.is_alive:
                    return reader
                reader.stop()
        return Apart()

    def _put_back(self, reader: Apart) -> None:
        with self._lock:
            stays = reader.is_alive and len(self._idle) < MOST_IDLE
            if stays:
                self._idle.append(reader)
        if not stays:
            reader.stop()


class Expendable:
    """Reads in this process, which others start again if it dies. Its limits are those of a `Guard`."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    def read(self, function: Callable[..., Any], path: Path, *arguments: Any) -> Any:
        with _limited_time(self.limits.seconds_for(path)):
            return read_limited(function, path, arguments, self.limits.bytes_for(path))

    def read_pieces(self, function: Callable[..., Any], path: Path, *arguments: Any) -> Iterator[Any]:
        seconds, end = self.limits.seconds_for(path), object()
        parts = read_pieces_limited(function, path, arguments, self.limits.bytes_for(path))
        while True:  # each piece has its own time, and what the caller does with it is not the file's fault
            with _limited_time(seconds):
                part = next(parts, end)
            if part is end:
                return
            yield part

    def read_each(self, function: Callable[..., Any], requests: Iterable[Request]) -> Iterator[Any]:
        yield from _one_by_one(self.read, function, requests)

    def warm(self) -> None: ...

    def stop(self) -> None: ...


_guard: Guard | Expendable | None = None
_spare: Guard | None = None  # for what is always read apart


@contextmanager
def guarded(limits: Limits | None = None) -> Iterator[Guard]:
    """Read every file in a process of its own within the block, in all threads of this process."""
    global _guard
    before, own = _guard, Guard(limits or Limits())
    _guard = own
    try:
        yield own
    finally:
        _guard = before
        own.stop()


def guard_here(limits: Limits, expendable: bool = False) -> None:
    """Guard this process for good, which others have started; nothing changes if it is guarded with these limits.

    Args:
        limits: Of each file.
        expendable: Read in this process: it may die, and whoever started it goes on.
    """
    global _guard
    kind = Expendable if expendable else Guard
    if type(_guard) is not kind or _guard.limits != limits:
        _guard = kind(limits)
        _guard.warm()


def current_limits() -> Limits:
    """The limits that hold here."""
    return Limits() if _guard is None else _guard.limits


def read_file(function: Callable[..., Any], path: Path, *arguments: Any) -> Any:
    """The result of function(path, *arguments), in another process if this one is guarded."""
    if _guard is not None:
        return _guard.read(function, path, *arguments)
    with budget(Limits().bytes_for(path)):
        return function(path, *arguments)


def read_pieces(function: Callable[..., Any], path: Path, *arguments: Any) -> Iterator[Any]:
    """What the iterator function(path, *arguments) yields, in another process if this one is guarded."""
    yield from function(path, *arguments) if _guard is None else _guard.read_pieces(function, path, *arguments)


def read_each(function: Callable[..., Any], requests: Iterable[Request]) -> Iterator[Any]:
    """The results of function(*request) for many files, or the DataErrors that they end in, in their order."""
    if _guard is None:
        return _one_by_one(read_file, function, requests)
    return _guard.read_each(function, requests)


def _one_by_one(read: Callable[..., Any], function: Callable[..., Any], requests: Iterable[Request]) -> Iterator[Any]:
    for request in requests:
        try:
            with enough_memory(printable(request[0])):
                result = read(function, *request)
        except DataError as error:
            result = error
        yield result


def read_apart(function: Callable[..., Any], path: Path, *arguments: Any) -> Any:
    """The result of function(path, *arguments) in another process, even if this one is not guarded."""
    global _spare
    if _guard is not None:
        return _guard.read(function, path, *arguments)
    _spare = _spare or Guard(Limits())
    return _spare.read(function, path, *arguments)


def read_limited(function: Callable[..., Any], path: Path, arguments: tuple[Any, ...], memory: int) -> Any:
    """Run in the process that reads: the result, or a DataError if it needs more memory."""
    import_libraries(path)
    try:
        with budget(memory), limited_memory(memory):
            return function(path, *arguments)
    except MemoryError:
        raise DataError(f"{printable(path)}: reading it takes more than {allowance(memory)}") from None


def read_pieces_limited(
    function: Callable[..., Any], path: Path, arguments: tuple[Any, ...], memory: int
) -> Iterator[Any]:
    """The same for an iterator. Only a piece is in memory, so what the header claims of the whole does not count."""
    import_libraries(path)
    try:
        with limited_memory(memory):
            yield from function(path, *arguments)
    except MemoryError:
        raise DataError(f"{printable(path)}: reading it takes more than {allowance(memory)}") from None


def read_each_limited(function: Callable[..., Any], requests: list[Request], memory: int) -> Iterator[Any]:
    """The same for several files, each of which may take that much. What a file ends in is a result, too."""
    yield from _one_by_one(
        lambda _, path, *arguments: read_limited(function, path, arguments, memory), function, requests
    )


def import_libraries(path: Path, _function: Callable[..., Any] | None = None) -> None:
    """Import what a file needs; the function is imported already when it comes here."""
    for name in LIBRARIES.get(path.suffix.lower(), ()):
        if find_spec(name) is not None:
            import_module(name)


def reason_of_death(how: str, memory: int) -> str:
    """Why there is nothing from a process that died while it read a file."""
    return f"the process that read it died ({how}); the file may be damaged, or need more than {allowance(memory)}"


def too_slow(limits: Limits, path: Path) -> str:
    """Why there is nothing from a process that was ended because of its time."""
    return f"reading it takes more than {limits.seconds_for(path):g} s; --reading.seconds allows more"


def explain_death(how: str, path: Path, limits: Limits) -> str:
    """The line about a file whose process died, be it because of its time or not; `how` is "signal 9", for example."""
    kind, _, number = how.partition(" ")
    late = kind == "signal" and was_late(-int(number))
    return f"{printable(path)}: {too_slow(limits, path) if late else reason_of_death(how, limits.bytes_for(path))}"


def watched(memory: int) -> float:
    """The memory that the caller has to watch, because the process cannot limit its own."""
    return inf if CAN_LIMIT else memory


@contextmanager
def _limited_time(seconds: float) -> Iterator[None]:
    """End this process if the block takes longer, where the system can."""
    limit_time(seconds)
    try:
        yield
    finally:
        limit_time(0)
