"""Memory of a program and its children, from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sampled_transformer_lab.load.resident import (
    Sample,
    Watch,
    family,
    left_behind,
    megabytes,
    open_files,
    processor_seconds,
    resident,
    threads,
)

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads Linux's /proc")
CHILD = "import sys, time; held = b'1' * 50_000_000; print('ready', flush=True); sys.stdin.read()"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}])"


def test_children_count() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        assert len(family(process.pid)) == 2
        with Watch(process.pid, 0.01) as watch:
            time.sleep(0.05)
        assert watch.peak > 50e6 > resident(process.pid)
        assert watch.samples[0].processes == 2
        assert threads(process.pid) == 1
        assert open_files(process.pid) >= 3
        assert process.stdin is not None
        process.stdin.close()
    assert resident(process.pid) == 0
    assert watch.take().resident == 0


def test_processor_time_grows() -> None:
    before = processor_seconds(os.getpid())
    end = time.process_time() + 0.05
    while time.process_time() < end:
        pass
    assert processor_seconds(os.getpid()) > before
    assert processor_seconds(2**22 + 1) == 0  # there is no such process


def test_a_curve_keeps_the_peaks() -> None:
    watch = Watch(1)
    assert watch.curve() == []
    watch.samples = [Sample(float(number), 1_000_000 * (number == 7), 1) for number in range(11)]
    curve = watch.curve(5)
    assert len(curve) == 5
    assert max(row["megabytes"] for row in curve) == megabytes(watch.peak) == 1.0


def test_what_torch_keeps_is_not_left_behind(tmp_path: Path) -> None:
    (tmp_path / "torchinductor_me" / "cache").mkdir(parents=True)
    assert left_behind(tmp_path) == 0
    (tmp_path / "ours" / "file").mkdir(parents=True)
    assert left_behind(tmp_path) == 2
