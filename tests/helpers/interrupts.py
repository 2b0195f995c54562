"""Ctrl-C for programs that tests start."""

from __future__ import annotations

import signal


def restore_interrupts() -> None:
    """A program that a shell started in the background ignores Ctrl-C, and so do its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
