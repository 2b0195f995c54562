from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from sampled_transformer.support.time_limits import limit_time, was_late

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no such timers")

PROGRAM = """
import sys, time
from sampled_transformer.support.time_limits import limit_time
limit_time(float(sys.argv[1]))
if sys.argv[2] == "compute":
    while True:
        pass
if sys.argv[2] == "both":  # each is within the limit, as on a machine that others use
    time.sleep(1)
limit_time(0)
begin = time.process_time()
while time.process_time() - begin < 0.5:
    pass
print("done")
"""


def run(seconds: float, what: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(seconds), what], capture_output=True, text=True)
    return done.returncode, done.stdout


def test_computing_is_limited() -> None:
    code, said = run(0.2, "compute")
    assert (code, said) == (-signal.SIGPROF, "")
    assert was_late(code)


def test_waiting_is_not_computing_and_limits_end() -> None:
    assert run(0.2, "both") == (0, "done\n")


def test_codes_of_other_ends_are_not_late() -> None:
    assert was_late(-signal.SIGALRM)
    assert not any(map(was_late, (0, 1, -signal.SIGKILL, -signal.SIGABRT)))


def test_the_clock_is_limited_too() -> None:
    try:
        limit_time(100)
        assert 0 < signal.getitimer(signal.ITIMER_PROF)[0] < 101 < signal.getitimer(signal.ITIMER_REAL)[0] < 1011
    finally:
        limit_time(0)
    assert signal.getitimer(signal.ITIMER_REAL) == signal.getitimer(signal.ITIMER_PROF) == (0, 0)
