"""One writer at a time, however the writer before it ended."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sampled_transformer.support import locks
from sampled_transformer.support.locks import InUse, locked

HOLD = """
import sys, time
from pathlib import Path
from sampled_transformer.support.locks import locked
with locked(Path(sys.argv[1]), "out", "run"):
    print("held", flush=True)
    time.sleep(60)
"""


def hold(path: Path) -> subprocess.Popen[str]:
    """Another process that holds the lock."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_lock_is_held_by_one_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new" / ".lock"
    with locked(path, "out", "runs/a"):
        holder = json.loads(path.read_text())
        assert (holder["host"], holder["process"]) == (socket.gethostname(), os.getpid())
        who = f"process {os.getpid()} on {socket.gethostname()}"
        with (
            pytest.raises(InUse, match=rf"^out: expected a place that no other .* writes to, got runs/a, which {who}"),
            locked(path, "out", "runs/a"),
        ):
            pass
        assert path.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    process = hold(path)
    with pytest.raises(InUse, match=f"which process {process.pid} on "), locked(path, "out", "run"):
        pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert path.exists()
    with locked(path, "out", "run"):
        assert json.loads(path.read_text())["process"] == os.getpid()


def test_an_error_inside_releases_it(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="inside"), locked(tmp_path / ".lock", "out", "run"):
        raise RuntimeError("inside")
    assert not (tmp_path / ".lock").exists()


def elsewhere(path: Path, **more: object) -> None:
    path.write_text(json.dumps({"host": "another.example.org", "process": 7, "since": 0.0, **more}))


def test_a_lock_of_another_host_counts_while_it_is_renewed(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    elsewhere(path)
    with (
        pytest.raises(InUse, match=r"process 7 on another\.example\.org .* \(if it is gone, delete .*\.lock\)$"),
        locked(path, "out", "run"),
    ):
        pass
    assert [item.name for item in tmp_path.iterdir()] == [".lock"]
    old = time.time() - locks.LEFT_AFTER - 60
    os.utime(path, (old, old))
    with locked(path, "out", "run"):
        assert json.loads(path.read_text())["process"] == os.getpid()


@pytest.mark.parametrize("odd", [{"since": 1e300}, {"since": "x"}, {"since": float("nan")}, {"process": 10**30}])
def test_a_lock_of_odd_values_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: dict) -> None:
    path = tmp_path / ".lock"
    elsewhere(path, **odd)
    message = r"^out: expected a place that no other process writes to, got run, which "
    with pytest.raises(InUse, match=message), locked(path, "out", "run"):
        pass
    monkeypatch.setattr(locks, "_lock", lambda handle: None)  # as on some network file systems
    elsewhere(path, **odd, host=socket.gethostname(), **({} if "process" in odd else {"process": 1 << 62}))
    with locked(path, "out", "run"):
        assert json.loads(path.read_text())["process"] == os.getpid()


def test_a_requeued_job_takes_its_own_lock_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / ".lock"
    elsewhere(path, SLURM_JOB_ID="12")
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    with pytest.raises(InUse), locked(path, "out", "run"):  # the same start of the job, on another node
        pass
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    with locked(path, "out", "run"):
        assert json.loads(path.read_text())["SLURM_RESTART_COUNT"] == "1"


def test_the_holder_renews_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "RENEWED_EVERY", 0.01)
    path = tmp_path / ".lock"
    with locked(path, "out", "run"):
        os.utime(path, (0, 0))
        for _ in range(500):
            if path.stat().st_mtime > 0:
                break
            time.sleep(0.01)
        assert path.stat().st_mtime > 0


@pytest.mark.parametrize("content", ["", "[]", "not JSON", '{"host": 3}'])
def test_a_file_that_says_nothing_is_no_lock(tmp_path: Path, content: str) -> None:
    (tmp_path / ".lock").write_text(content)
    if "host" in content:
        os.utime(tmp_path / ".lock", (0, 0))
    with locked(tmp_path / ".lock", "out", "run"):
        pass


def test_without_locks_of_the_kernel_the_process_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "_lock", lambda handle: None)  # as on some network file systems
    path = tmp_path / ".lock"
    process = hold(path)
    with pytest.raises(InUse), locked(path, "out", "run"):
        pass
    process.kill()
    process.wait()
    with locked(path, "out", "run"):
        pass
