"""Distribute work over processes, so that the death of a process costs one item, not the whole run."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

SINGLE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Item = TypeVar("Item")
Announce = Callable[[int | None], None]
Work = Callable[[list[Any], Announce], Any]
Pairs = list[tuple[Any, Any]]  # items with their results, in the order of the items
# Runs work on units, which are lists of chunks, and yields their numbers and pairs; engine/engines.py has them.
Engine = Callable[[Work, Iterable[list[list[Any]]]], Iterator[tuple[int, Pairs]]]


class ProcessDied(Exception):
    """The process that worked on an item died."""


@contextmanager
def _later_interrupts() -> Iterator[None]:
    """Let Ctrl-C wait until the end of the block: a process that is half started would complain of its parent.

    A blocked signal is not enough, because another thread of this process may receive it for us.
    """
    if threading.current_thread() is not threading.main_thread():  # it is never interrupted
        yield
        return
    came: list[int] = []
    usual = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if usual is None else usual)
    if came:
        signal.raise_signal(signal.SIGINT)


@contextmanager
def _inherited_settings() -> Iterator[None]:
    """What new processes inherit: numerical libraries use one thread, and Ctrl-C is ignored from the start."""
    before = {name: os.environ.get(name) for name in SINGLE_THREAD}
    os.environ.update(dict.fromkeys(SINGLE_THREAD, "1"))
    if os.name == "posix":
        resource_tracker.ensure_running()  # if it started later, it would unblock Ctrl-C again
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if os.name == "posix":
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _serve(connection: Connection, work: Work) -> None:
    """The loop of a worker: receive a chunk, announce each item, send the result of the chunk."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; only the parent reacts
    try:
        connection.send(("ready", None))
        while True:
            chunk = connection.recv()
            try:
                connection.send(("done", work(chunk, lambda index: connection.send(("at", index)))))
            except ConnectionError:
                raise
            except Exception as error:
                connection.send(("failed", error))
    except (ConnectionError, EOFError):  # the parent is gone
        return


class _Worker:
    """A process, its current chunk and the index of its current item."""

    def __init__(self, work: Work) -> None:
        context = multiprocessing.get_context("spawn")  # a forked process would inherit locks held by other threads
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_serve, args=(theirs, work), daemon=True)
        with _later_interrupts(), _inherited_settings():
            self.process.start()
        theirs.close()
        self.ready = False
        self.chunk: list[Any] = []
        self.index: int | None = 0

    def give(self, chunk: list[Any]) -> None:
        self.chunk, self.index = chunk, 0
        with suppress(ConnectionError):  # the crew notices a dead worker when it waits for it
            self.connection.send(chunk)

    def stop(self) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.join()


class Crew:
    """Processes that stay for several rounds of work. Chunks that a dead process left behind come first.

    `with Crew(work, workers) as crew:` ends the processes at the end.

    Args:
        work: As in `run_in_processes`.
        workers: Number of processes.
        again: Give a chunk whose process died to another one as it is, once. A process may die for reasons that are
            not in its item, and in long work over many machines it will.
    """

    def __init__(self, work: Work, workers: int, again: bool = False) -> None:
        self.work, self.workers, self.again = work, workers, again
        self.busy: list[_Worker] = []
        self.idle: list[_Worker] = []
        self.left: deque[list[Any]] = deque()
        self.died: list[list[Any]] = []  # chunks that were given again

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def run(self, chunks: Iterable[list[Any]]) -> Iterator[tuple[list[Any], Any]]:
        """One round of `run_in_processes`."""
        yield from self._run(iter(chunks), lambda _: True)

    def run_in_order(self, chunks: Iterable[list[Any]], ahead: int = 4096) -> Iterator[tuple[Any, Any]]:
        """One round of `run_in_order`. Processes number the items, so `work` has to be made by `numbered`."""
        done: dict[int, tuple[Any, Any]] = {}
        first = 0  # the number of the next item to yield

        def fits(chunk: list[tuple[int, Any]]) -> bool:
            return chunk[0][0] < first + ahead

        for chunk, found in self._run(_numbered(chunks), fits):
            results = [found] if isinstance(found, ProcessDied) else found
            done |= {number: (item, result) for (number, item), result in zip(chunk, results, strict=True)}
            while first in done:
                first += 1
                yield done.pop(first - 1)

    def _run(self, chunks: Iterator[list[Any]], fits: Callable[[list[Any]], bool]) -> Iterator[tuple[list[Any], Any]]:
        """Yield what is finished. The next chunk waits until it fits."""
        coming = next(chunks, None)
        while True:
            while self.has_room():
                if self.left:
                    self.give(self.left.popleft())
                elif coming is not None and fits(coming):
                    self.give(coming)
                    coming = next(chunks, None)
                else:
                    break
            if not self.busy:
                return
            yield from self.receive()

    def has_room(self) -> bool:
        return len(self.busy) < self.workers

    def give(self, chunk: list[Any]) -> None:
        self.idle = [worker for worker in self.idle if worker.process.is_alive()]
        worker = self.idle.pop() if self.idle else _Worker(self.work)
        worker.give(chunk)
        self.busy.append(worker)

    def receive(self) -> Iterator[tuple[list[Any], Any]]:
        """Wait for news and yield what is finished."""
        for connection in wait([worker.connection for worker in self.busy]):
            worker = next(worker for worker in self.busy if worker.connection is connection)
            try:
                kind, value = worker.connection.recv()
            except (EOFError, OSError):
                self.busy.remove(worker)
                yield from self._handle_death(worker)
                continue
            if kind == "ready":
                worker.ready = True
            elif kind == "at":
                worker.index = value
            else:
                self.busy.remove(worker)
                self.idle.append(worker)
                if kind == "failed":
                    raise value
                yield worker.chunk, value

    def _handle_death(self, worker: _Worker) -> Iterator[tuple[list[Any], ProcessDied]]:
        """Report the item that killed the worker, and keep the rest of its chunk for another one.

        If it died while working on the chunk as a whole, every item gets a chunk of its own, so that only the one that
        kills again is lost.
        """
        worker.process.join(5)  # wait for its own exit code before `stop` terminates it
        code = worker.process.exitcode or 0
        worker.stop()
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        if not worker.ready:
            hint = "in a script, put the call below `if __name__ == '__main__':`"
            raise OSError(f"could not start a worker process ({how}); {hint}")
        if self.again and not any(chunk is worker.chunk for chunk in self.died):
            self.died.append(worker.chunk)
            self.left.appendleft(worker.chunk)
            return
        if worker.index is None and len(worker.chunk) > 1:
            self.left.extend([item] for item in worker.chunk)
            return
        culprit = worker.chunk.pop(worker.index or 0)
        if worker.chunk:
            self.left.appendleft(worker.chunk)
        yield [culprit], ProcessDied(how)

    def stop(self) -> None:
        for worker in (*self.busy, *self.idle):
            worker.stop()


def run_in_processes(work: Work, chunks: Iterable[list[Any]], workers: int) -> Iterator[tuple[list[Any], Any]]:
    """Yield (chunk, work(chunk, announce)) in order of completion; chunks are taken when a process is free.

    `work` calls announce(i) before item i of its chunk, and announce(None) before it works on all of them at once. If a
    process dies while working on an item, we yield ([item], ProcessDied) and give the rest of the chunk to a new
    process. An exception raised by `work` is re-raised.
    """
    with Crew(work, workers) as crew:
        yield from crew.run(chunks)


def run_in_order(work: Work, chunks: Iterable[list[Any]], workers: int, ahead: int = 4096) -> Iterator[tuple[Any, Any]]:
    """Yield (item, result) in the order of the items; `work` returns a list with one result per item of its chunk.

    The result of an item whose process died is a ProcessDied, see `run_in_processes`. Processes work at most `ahead`
    items ahead of the last result that was yielded, which bounds the memory.
    """
    with Crew(numbered(work), workers) as crew:
        yield from crew.run_in_order(chunks, ahead)


def _numbered(chunks: Iterable[list[Any]]) -> Iterator[list[tuple[int, Any]]]:
    number = itertools.count()
    for chunk in chunks:
        yield [(next(number), item) for item in chunk]


def numbered(work: Work) -> Work:
    """The same work on numbered items, for `Crew.run_in_order`."""
    return partial(_without_numbers, work=work)


def _without_numbers(chunk: list[tuple[int, Any]], announce: Announce, work: Work) -> Any:
    return work([item for _, item in chunk], announce)


def in_chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Lists of `size` items, the last one perhaps shorter."""
    coming = iter(items)
    while chunk := list(itertools.islice(coming, size)):
        yield chunk


def available_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
