from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from sampled_transformer.support.apart import LARGE, Apart, Died, TimeUp

posix = pytest.mark.skipif(os.name != "posix", reason="it sends signals")


@pytest.fixture
def apart() -> Iterator[Apart]:
    process = Apart()
    yield process
    process.stop()


def add(one: int, other: int) -> int:
    print("libraries may print what they like")
    return one + other


def who() -> int:
    return os.getpid()


def folder() -> str:
    return os.getcwd()


def fail(text: str) -> None:
    raise ValueError(text)


class Unsendable(Exception):
    def __reduce__(self) -> str:
        raise TypeError("stays here")


def fail_strangely() -> None:
    raise Unsendable("odd")


def die(how: int) -> None:
    os.kill(os.getpid(), how)


def leave() -> None:
    os._exit(3)


def sleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def spin() -> None:
    while True:
        pass


def keep(size: int) -> int:
    """Have so much memory for long enough to be seen."""
    kept = os.urandom(2**20) * (size // 2**20)
    time.sleep(1)
    return len(kept)


def count(most: int) -> Iterator[int]:
    yield from range(most)


def count_and_die(most: int) -> Iterator[int]:
    yield from range(most)
    os._exit(4)


def grow() -> int:
    return len(bytearray(os.urandom(1) * (LARGE + 2**20)))


def test_calls_go_to_one_process_that_stays(apart: Apart, tmp_path, monkeypatch) -> None:
    assert apart.call(add, (1, 2), 60) == 3
    first = apart.call(who, (), 60)
    assert first == apart.call(who, (), 60) != os.getpid()
    monkeypatch.chdir(tmp_path)
    assert apart.call(folder, (), 60) == str(tmp_path)
    assert apart.is_alive


def test_what_is_raised_is_raised_here(apart: Apart) -> None:
    with pytest.raises(ValueError, match=r"^no$"):
        apart.call(fail, ("no",), 60)
    assert apart.call(add, (1, 2), 60) == 3
    with pytest.raises(RuntimeError, match="Unsendable: odd"):
        apart.call(fail_strangely, (), 60)


@posix
def test_a_death_is_told(apart: Apart) -> None:
    with pytest.raises(Died, match="signal 6"):
        apart.call(die, (signal.SIGABRT,), 60)
    assert not apart.is_alive
    other = Apart()
    with pytest.raises(Died, match="exit code 3"):
        other.call(leave, (), 60)
    other.stop()


def test_time_is_limited(apart: Apart) -> None:
    assert apart.call(sleep, (1.0,), 0.5) == 1.0  # who waits does not compute: others may use the processor
    with pytest.raises(TimeUp):
        apart.call(spin, (), 0.5)
    assert not apart.is_alive
    other = Apart()
    with pytest.raises(TimeUp):
        other.call(sleep, (600,), 0.1)
    assert not other.is_alive
    other.stop()


def test_a_process_that_takes_too_much_memory_is_ended(apart: Apart) -> None:
    assert apart.call(keep, (2**20,), 60, 2**28) == 2**20
    with pytest.raises(Died, match="signal 9"):
        apart.call(keep, (2**30,), 60, 2**28)
    assert not apart.is_alive


def test_parts_come_one_by_one(apart: Apart) -> None:
    assert list(apart.stream(count, (4,), 60)) == [0, 1, 2, 3]
    assert apart.is_alive
    with pytest.raises(Died, match="exit code 4"):
        list(apart.stream(count_and_die, (2,), 60))


def test_a_stream_that_nobody_reads_to_its_end_ends_the_process(apart: Apart) -> None:
    parts = apart.stream(count, (10**9,), 60)
    assert next(parts) == 0
    parts.close()  # type: ignore[attr-defined]
    assert not apart.is_alive


@posix
def test_a_process_that_was_large_is_not_used_again(apart: Apart) -> None:
    assert apart.call(add, (1, 2), 60) == 3
    assert apart.is_alive
    assert apart.call(grow, (), 60) > LARGE
    assert not apart.is_alive


@posix
def test_it_ends_with_its_caller(apart: Apart) -> None:
    number = apart.call(who, (), 60)
    assert apart.process.stdin is not None
    apart.process.stdin.close()
    assert apart.process.wait(60) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


LARGE_CALLER = """
import os
from sampled_transformer.support.apart import LARGE, Apart
assert len(bytearray(os.urandom(1) * (LARGE + 2**20))) > LARGE
process = Apart()
process.call(abs, (-1,), 60)
print(process.is_alive)
process.stop()
"""


@posix
def test_a_large_caller_does_not_make_it_large() -> None:
    done = subprocess.run([sys.executable, "-c", LARGE_CALLER], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
