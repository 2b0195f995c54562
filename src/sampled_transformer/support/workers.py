"""Distribute work over processes, so that the death of a process costs one item, not the whole run."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

SINGLE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Announce = Callable[[int], None]
Work = Callable[[list[Any], Announce], Any]


class ProcessDied(Exception):
    """The process that worked on an item died."""


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
        with _inherited_settings():
            self.process.start()
        theirs.close()
        self.ready = False
        self.chunk: list[Any] = []
        self.index = 0

    def give(self, chunk: list[Any]) -> None:
        self.chunk, self.index = chunk, 0
        with suppress(ConnectionError):  # `run_in_processes` notices a dead worker when it waits for it
            self.connection.send(chunk)

    def stop(self) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.join()


def run_in_processes(work: Work, chunks: Iterable[list[Any]], workers: int) -> Iterator[tuple[list[Any], Any]]:
    """Yield (chunk, work(chunk, announce)) in order of completion.

    `work` calls announce(i) before item i of its chunk. If a process dies while working on an item, we yield
    ([item], ProcessDied) and give the rest of the chunk to a new process. An exception raised by `work` is re-raised.
    """
    queue = deque(chunks)
    crew = [_Worker(work) for _ in range(min(workers, len(queue)))]
    try:
        while crew:
            for connection in wait([worker.connection for worker in crew]):
                worker = next(worker for worker in crew if worker.connection is connection)
                try:
                    kind, value = worker.connection.recv()
                except (EOFError, OSError):
                    crew.remove(worker)
                    yield from _handle_death(worker, queue)
                    if queue:
                        crew.append(_Worker(work))
                    continue
                if kind == "at":
                    worker.index = value
                    continue
                if kind == "failed":
                    raise value
                finished, worker.chunk, worker.ready = worker.chunk, [], True
                if queue:
                    worker.give(queue.popleft())
                else:
                    crew.remove(worker)
                    worker.stop()
                if kind == "done":
                    yield finished, value
    finally:
        for worker in crew:
            worker.stop()


def _handle_death(worker: _Worker, queue: deque[list[Any]]) -> Iterator[tuple[list[Any], ProcessDied]]:
    """Report the item that killed the worker, and put the rest of its chunk back into the queue."""
    worker.process.join(5)  # wait for its own exit code before `stop` terminates it
    code = worker.process.exitcode or 0
    worker.stop()
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    if not worker.ready:
        hint = "in a script, put the call below `if __name__ == '__main__':`"
        raise OSError(f"could not start a worker process ({how}); {hint}")
    if worker.chunk:
        culprit = worker.chunk.pop(worker.index)
        if worker.chunk:
            queue.appendleft(worker.chunk)
        yield [culprit], ProcessDied(how)
