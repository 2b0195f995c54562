"""The pool: every item is processed once, and a process that dies costs one item."""

import importlib
import multiprocessing
import os
import signal
import sys
import threading
import time

import pytest

from sampled_transformer.support.workers import (
    Crew,
    ProcessDied,
    available_cores,
    in_chunks,
    numbered,
    run_in_order,
    run_in_processes,
)

WORK = """
import os, signal, time

def square(chunk, announce):
    results = []
    for index, item in enumerate(chunk):
        announce(index)
        if item == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if item == "exit":
            os._exit(7)
        if item == "raise":
            raise ValueError("refused")
        results.append(item * item)
    return results

def whole(chunk, announce):
    for index, _ in enumerate(chunk):
        announce(index)
    announce(None)
    if "kill" in chunk:
        os.kill(os.getpid(), signal.SIGKILL)
    return [item * item for item in chunk]

def first_is_slow(chunk, announce):
    if chunk[0] == 0:
        time.sleep(1)
    return chunk

def threads(chunk, announce):
    return [os.environ["OMP_NUM_THREADS"]]

def slow(chunk, announce):
    announce(0)
    time.sleep(60)

def dies_once(chunk, announce):
    announce(0)
    try:
        open(chunk[0], "x").close()
    except FileExistsError:
        return [len(chunk)] * len(chunk)
    os.kill(os.getpid(), signal.SIGKILL)

def process(chunk, announce):
    return [os.getpid()]
"""


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A module that the processes can import; they cannot import a test."""
    (tmp_path / "work_for_processes.py").write_text(WORK)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("work_for_processes")
    del sys.modules["work_for_processes"]


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_all_chunks_are_done_once(work, workers):
    chunks = [[1, 2], [3], [4, 5, 6]]
    results = list(run_in_processes(work.square, chunks, workers))
    assert sorted(results) == [([1, 2], [1, 4]), ([3], [9]), ([4, 5, 6], [16, 25, 36])]


def test_nothing_to_do(work):
    assert list(run_in_processes(work.square, [], 2)) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_death_costs_one_item(work, workers):
    chunks = [[1, "kill", 2], [3], ["exit"], [4, "kill"]]
    results = list(run_in_processes(work.square, chunks, workers))
    dead = sorted((chunk[0], str(result)) for chunk, result in results if isinstance(result, ProcessDied))
    assert dead == [("exit", "exit code 7"), ("kill", "signal 9"), ("kill", "signal 9")]
    done = sorted((chunk, result) for chunk, result in results if not isinstance(result, ProcessDied))
    assert done == [([1, 2], [1, 4]), ([3], [9]), ([4], [16])]


def test_an_exception_of_the_work_is_raised(work):
    with pytest.raises(ValueError, match="refused"):
        list(run_in_processes(work.square, [[1], ["raise"], [2]], 2))


def test_workers_use_one_thread_each_and_the_parent_keeps_its_own(work, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    assert list(run_in_processes(work.threads, [[0]], 1)) == [([0], ["1"])]
    assert os.environ["OMP_NUM_THREADS"] == "5"
    assert "MKL_NUM_THREADS" not in os.environ


def test_leaving_early_ends_the_processes(work):
    results = run_in_processes(work.slow, [[1], [2]], 2)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 1.5)
    try:
        with pytest.raises(KeyboardInterrupt):
            next(results)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert multiprocessing.active_children() == []


def test_results_in_the_order_of_the_items(work):
    chunks = [[0, 1], [2], [3, 4]]
    results = list(run_in_order(work.first_is_slow, chunks, 2))
    assert results == [(number, number) for number in range(5)]


def test_processes_do_not_run_far_ahead(work):
    taken = []

    def chunks():
        for number in range(50):
            taken.append(number)
            yield [number]

    results = run_in_order(work.first_is_slow, chunks(), 2, ahead=5)
    assert next(results) == (0, 0)
    assert max(taken) <= 6
    assert [item for item, _ in results] == list(range(1, 50))


def test_death_costs_one_item_in_order(work):
    results = list(run_in_order(work.square, [[1, "kill", 2], [3]], 2))
    assert [item for item, _ in results] == [1, "kill", 2, 3]
    assert isinstance(results[1][1], ProcessDied)
    assert [result for item, result in results if item != "kill"] == [1, 4, 9]


def test_death_at_the_whole_chunk_costs_the_item_that_kills_alone(work):
    results = list(run_in_order(work.whole, [[1, "kill", 2], [3]], 1))
    assert [str(result) for _, result in results] == ["1", "signal 9", "4", "9"]


def test_a_crew_keeps_its_processes_from_round_to_round(work):
    with Crew(work.process, 1) as crew:
        first, second = (list(crew.run([[number]])) for number in range(2))
        assert first[0][1] == second[0][1]
        (process,) = multiprocessing.active_children()
        process.kill()  # while it has nothing to do: this costs no item
        process.join()
        ((_, third),) = crew.run([[2]])
        assert third != first[0][1]
    assert multiprocessing.active_children() == []


def test_a_crew_that_tries_again_gives_the_chunk_as_it_was(work, tmp_path):
    with Crew(numbered(work.dies_once), 1, again=True) as crew:
        chunk = [str(tmp_path / "mark"), "other"]
        assert list(crew.run_in_order([chunk])) == [(item, 2) for item in chunk]
    with Crew(numbered(work.square), 1, again=True) as crew:
        results = list(crew.run_in_order([[1, "kill", 2], [3, "kill"]]))
        assert [str(result) for _, result in results] == ["1", "signal 9", "4", "9", "signal 9"]
        with pytest.raises(ValueError, match="refused"):
            list(crew.run_in_order([["raise"]]))
        assert list(crew.run_in_order([[5]])) == [(5, 25)]


def test_an_interrupt_waits_until_a_process_has_started(work, monkeypatch):
    """Another thread can receive the signal although the main thread blocks it; the process must still start whole."""
    ended, started = threading.Event(), []
    thread = threading.Thread(target=ended.wait)
    thread.start()
    start = multiprocessing.context.SpawnProcess.start

    def interrupted(process):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)  # for the interpreter to notice it
        start(process)
        started.append(process)

    monkeypatch.setattr(multiprocessing.context.SpawnProcess, "start", interrupted)
    try:
        with pytest.raises(KeyboardInterrupt):
            list(run_in_processes(work.square, [[2]], 1))
    finally:
        ended.set()
        thread.join()
    assert len(started) == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_chunks_and_cores():
    assert list(in_chunks(iter(range(5)), 2)) == [[0, 1], [2, 3], [4]]
    assert list(in_chunks([], 2)) == []
    assert 1 <= available_cores() <= (os.cpu_count() or 1)
