"""Signals ask a process to stop: the first is a request, the second acts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from sampled_transformer.support import signals
from sampled_transformer.support.signals import NAMES, Stopped, StopRequest, interrupting


@pytest.fixture(autouse=True)
def usual_handlers() -> Iterator[None]:
    """A process that was started in the background ignores Ctrl-C, and so may the tests."""
    before = {signal.Signals[name]: signal.getsignal(signal.Signals[name]) for name in NAMES}
    for number in before:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_the_first_control_c_asks_and_the_second_acts() -> None:
    before = signal.getsignal(signal.SIGINT)
    with StopRequest() as request:
        assert not request.asked
        os.kill(os.getpid(), signal.SIGINT)
        assert request.asked
        assert request.signal == signal.SIGINT
        assert signal.getsignal(signal.SIGINT) is before
    assert signal.getsignal(signal.SIGINT) is before
    with StopRequest():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("name", NAMES)
def test_every_signal_asks_and_handlers_come_back(name: str) -> None:
    number = signal.Signals[name]
    before = {one: signal.getsignal(signal.Signals[one]) for one in NAMES}
    with StopRequest() as request:
        os.kill(os.getpid(), number)
        assert request.signal == number
        if number != signal.SIGINT:
            os.kill(os.getpid(), number)  # at the same moment: a closed terminal sends two hangups
            assert request.signal == number
    assert {one: signal.getsignal(signal.Signals[one]) for one in NAMES} == before


SECOND = """
import os, signal
from sampled_transformer.support import signals
signals.SAME = 0.0
with signals.StopRequest() as request:
    os.kill(os.getpid(), signal.SIGTERM)
    print(request.signal, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    print("still here", flush=True)
"""


def test_a_second_signal_ends_the_process_at_once() -> None:
    ended = subprocess.run([sys.executable, "-c", SECOND], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (-signal.SIGTERM, "15\n")


def test_another_thread_leaves_the_signals_alone() -> None:
    before, asked = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with StopRequest() as request, interrupting():
            asked.append((request.asked, signal.getsignal(signal.SIGINT) is before))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert asked == [(False, True)]


def test_a_hangup_that_is_ignored_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with interrupting(), StopRequest() as request:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not request.asked


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
def test_signals_interrupt_with_their_exit_code(name: str, code: int) -> None:
    with pytest.raises(Stopped) as stop, interrupting() as came:
        os.kill(os.getpid(), signal.Signals[name])
    assert stop.value.code == code
    assert came == [signal.Signals[name]]
    assert signal.getsignal(signal.Signals[name]) is signal.SIG_DFL
    assert signals.Stopped().code == 130
