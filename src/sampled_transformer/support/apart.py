"""Call functions in a process of its own that stays: `Apart`. What happens there costs only the call.

The process is small, because it imports only what the functions need, and it does not run the caller's script again. It
ends when its caller closes the pipe or dies. Calls and results are pickled between the two; nothing of it is a file.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf
from typing import Any

from .memory import resident_memory
from .time_limits import GRACE, PATIENCE, limit_time, was_late
from .watch import Watch
from .workers import SINGLE_THREAD

START = "import sys; sys.path[:] = {path!r}; from sampled_transformer.support.apart import serve; serve()"
SECONDS_TO_START = 120  # on a machine that is busy
LOOK = 0.25  # seconds between two looks at the memory of the process
LARGE = 2**29  # bytes; a process that once had that much is not used again, because freed memory may stay with it


class Died(Exception):
    """The process died during the call; the text says how."""


class TimeUp(Exception):
    """The call computed, or waited, for longer than it may."""


class Apart:
    """A process that calls functions, one at a time.

    Functions are found by their module and name, so they have to be at the top of a module.
    """

    def __init__(self) -> None:
        environment = {**os.environ, **dict.fromkeys(SINGLE_THREAD, "1")}
        self.process = subprocess.Popen(
            [sys.executable, "-c", START.format(path=[place or os.getcwd() for place in sys.path])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # Ctrl-C in a terminal is for the caller, who ends this process
        )
        self.is_ready = self.is_used_up = self.is_late = False
        self._watch = Watch(self._expire)
        self.prepared: set[Any] = set()  # for the caller to remember what the process has imported

    @property
    def is_alive(self) -> bool:
        return not self.is_used_up and self.process.poll() is None

    def call(self, function: Callable[..., Any], arguments: Sequence[Any], seconds: float, memory: float = inf) -> Any:
        """The result of function(*arguments), or what it raises; `Died` or `TimeUp` if there is neither.

        Args:
            function, arguments: What to call.
            seconds: Processor time that it may take. By the clock it may take ten times as long.
            memory: Bytes that it may take. We look every quarter of a second; `limited_memory` is exact, but on Linux
                alone.
        """
        self._send(function, arguments, seconds)
        return self._receive(PATIENCE * seconds, memory)[1]

    def stream(
        self, function: Callable[..., Any], arguments: Sequence[Any], seconds: float, memory: float = inf
    ) -> Generator[Any, None, None]:
        """What the iterator function(*arguments) yields; each item may take `seconds`, see `call`."""
        self._send(function, arguments, seconds)
        finished = False
        try:
            while (found := self._receive(PATIENCE * seconds, memory))[0] == "part":
                yield found[1]
            finished = True
        finally:
            if not finished:  # what it would still send is nobody's any more
                self.stop()

    def stop(self) -> None:
        self.is_used_up = True
        self._watch.end()
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                pipe.close()  # type: ignore[union-attr]

    def _send(self, function: Callable[..., Any], arguments: Sequence[Any], seconds: float) -> None:
        if not self.is_ready:
            try:
                self._receive(SECONDS_TO_START)
            except (Died, TimeUp) as how:
                raise OSError(f"could not start a process that reads files ({how or 'no answer'})") from None
            self.is_ready = True
        assert self.process.stdin is not None
        request = pickle.dumps((function, tuple(arguments)))
        try:
            pickle.dump((os.getcwd(), seconds, request), self.process.stdin)
            self.process.stdin.flush()
        except OSError:
            raise self._died() from None
        except BaseException:  # Ctrl-C in the middle of a message
            self.stop()
            raise

    def _receive(self, seconds: float, memory: float = inf) -> tuple[str, Any]:
        """The next answer, which may take so many seconds by the clock, and so many bytes."""
        assert self.process.stdout is not None
        try:
            with self._watch.limit(seconds), self._limited(memory):
                kind, value, is_last = pickle.load(self.process.stdout)
        except MemoryError:  # the answer does not fit here, whatever the process can do
            self.stop()
            raise
        except Exception:
            raise self._died() from None
        except BaseException:
            self.stop()
            raise
        finally:
            self.is_used_up |= self.is_late
        self.is_used_up |= is_last
        if kind == "raised":
            raise value
        return kind, value

    def _expire(self) -> None:
        self.is_late = True
        self.process.kill()

    @contextmanager
    def _limited(self, memory: float) -> Iterator[None]:
        """End the process within the block if it has more memory than it may, unless that is infinite."""
        if memory == inf:
            yield
            return
        done = threading.Event()
        look = threading.Thread(target=self._look, args=(done, memory), daemon=True)
        look.start()
        try:
            yield
        finally:
            done.set()
            look.join()

    def _look(self, done: threading.Event, memory: float) -> None:
        before = resident_memory(self.process.pid)
        while not done.wait(LOOK):
            if resident_memory(self.process.pid) - before > memory:
                self.process.kill()
                return

    def _died(self) -> Died | TimeUp:
        self.is_used_up = True
        try:
            code = self.process.wait(GRACE)
        except subprocess.TimeoutExpired:  # it closed its pipe, but lives
            self.stop()
            return Died("it stopped answering")
        if self.is_late or was_late(code):
            return TimeUp()
        return Died(f"signal {-code}" if code < 0 else f"exit code {code}")


def serve() -> None:
    """The loop of the process: call what is asked for, and answer."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever libraries print goes nowhere
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("SIGPROF", "SIGALRM"):  # our own limits of time, whatever the caller ignores
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    _answer(answers, "ready", None)
    while True:
        try:
            folder, seconds, request = pickle.load(sys.stdin.buffer)
        except (EOFError, pickle.UnpicklingError):  # the caller is gone
            return
        try:
            with suppress(OSError):
                os.chdir(folder)
            limit_time(seconds)
            function, arguments = pickle.loads(request)
            result = function(*arguments)
            if isinstance(result, Iterator):
                for part in result:
                    limit_time(0)  # the caller may be slow to take it
                    _answer(answers, "part", part)
                    limit_time(seconds)
                result = None
            limit_time(0)
            _answer(answers, "value", result, was_large())
        except OSError as error:
            if answers.closed or isinstance(error, BrokenPipeError):
                return
            _answer(answers, "raised", error, was_large())
        except Exception as error:
            _answer(answers, "raised", error, was_large())
        finally:
            limit_time(0)


def _answer(answers: Any, kind: str, value: Any, is_last: bool = False) -> None:
    try:
        pickle.dump((kind, value, is_last), answers, protocol=5)
    except (pickle.PicklingError, TypeError, AttributeError):
        if kind != "raised":
            raise
        pickle.dump((kind, RuntimeError(f"{type(value).__name__}: {value}"), True), answers, protocol=5)
    answers.flush()


def was_large() -> bool:
    """Whether this process once had so much memory that it should not be used again."""
    return peak_memory() > LARGE


def peak_memory() -> int:
    """The most memory that this process has had, in bytes; 0 where the system does not tell.

    On Linux `ru_maxrss` begins with that of the process that started this one, which may be a large one.
    """
    with suppress(OSError, ValueError, IndexError, StopIteration), open("/proc/self/status", encoding="ascii") as file:
        return 1024 * int(next(line for line in file if line.startswith("VmHWM:")).split()[1])
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
