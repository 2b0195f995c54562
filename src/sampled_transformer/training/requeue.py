"""SLURM's requeueing: a job that gets SIGUSR1 before its time is over saves, and is started again.

Lightning does this too, but from within the signal's handler: it saves in the middle of a step, in a file of its own,
and trains on until it is killed. A run of ours finishes its step, saves as it does after Ctrl-C, and ends.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

INTERACTIVE = ("bash", "interactive")  # names of jobs that someone works in; Lightning leaves these alone, too


def job_to_requeue(number: int) -> str | None:
    """The SLURM job to start again after this signal; None if it is not SLURM's, or the job is interactive."""
    if number != getattr(signal, "SIGUSR1", None) or "SLURM_NTASKS" not in os.environ:
        return None
    if os.environ.get("SLURM_JOB_NAME") in INTERACTIVE:
        return None
    array = os.environ.get("SLURM_ARRAY_JOB_ID")
    if array is not None:
        return f"{array}_{os.environ.get('SLURM_ARRAY_TASK_ID', '0')}"
    return os.environ.get("SLURM_JOB_ID")


def requeue(number: int) -> None:
    """Ask SLURM to start the job again, if that is what the signal means; says so in one line."""
    job = job_to_requeue(number)
    if job is None:
        return
    try:
        answer = subprocess.run(["scontrol", "requeue", job], capture_output=True, text=True, timeout=60)
        problem = "" if answer.returncode == 0 else " ".join(answer.stderr.split()) or f"code {answer.returncode}"
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = " ".join(str(error).split())
    said = f"SLURM will start job {job} again" if not problem else f"could not requeue SLURM job {job} ({problem})"
    print(said, file=sys.stderr, flush=True)
