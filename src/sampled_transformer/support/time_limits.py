"""End this process when it has computed for too long. What other programs take from it does not count.

The system does it by signals, because nothing else stops a native library. A process that waits does not compute, so
the clock has a limit, too: a generous one, since a busy machine makes everybody wait.
"""

from __future__ import annotations

import signal

PATIENCE = 10  # times the processor time that may pass by the clock
GRACE = 10  # seconds after that, for whoever watches the process to be first

# By their numbers, so that they can be named where the system has neither.
COMPUTED, WAITED = (int(getattr(signal, name, 0)) for name in ("SIGPROF", "SIGALRM"))


def limit_time(seconds: float) -> None:
    """Let this process compute for so many seconds from now on, and end it after that; 0 ends the limit.

    Where the system has no such timers (Windows), nothing happens.
    """
    if not hasattr(signal, "setitimer"):
        return
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE * seconds + GRACE if seconds else 0)


def was_late(code: int) -> bool:
    """Whether a process with this exit code was ended because of its time; the code is minus the signal's number."""
    return code < 0 and -code in (COMPUTED, WAITED)
