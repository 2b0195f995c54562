from __future__ import annotations

import threading

from sampled_transformer.support.watch import Watch


def test_a_block_that_takes_too_long_is_told_once() -> None:
    late = threading.Event()
    calls: list[int] = []

    def tell() -> None:
        calls.append(1)
        late.set()

    watch = Watch(tell)
    with watch.limit(0.01):
        assert late.wait(60)
    watch.end()
    assert calls == [1]


def test_blocks_that_end_in_time_are_left_alone() -> None:
    """The thread still sleeps for the first block when the later ones begin, and the last has a shorter limit."""
    late = threading.Event()
    watch = Watch(late.set)
    for _ in range(3):
        with watch.limit(600):
            pass
    assert not late.wait(0.05)
    with watch.limit(0.01):
        assert late.wait(60)
    watch.end()


def test_time_between_blocks_does_not_count() -> None:
    late = threading.Event()
    watch = Watch(late.set)
    with watch.limit(0.05):
        pass
    assert not late.wait(0.3)
    watch.end()


def test_the_thread_ends() -> None:
    watch = Watch(lambda: None)
    with watch.limit(600):
        pass
    thread = watch._thread
    assert thread is not None
    watch.end()
    thread.join(60)
    assert not thread.is_alive()
    Watch(lambda: None).end()  # before its thread began
