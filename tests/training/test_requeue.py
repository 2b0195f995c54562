"""After SLURM's signal a run saves, and SLURM is asked to start its job again."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from sampled_transformer.training.requeue import job_to_requeue, requeue


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_NTASKS", "1")
    monkeypatch.setenv("SLURM_JOB_ID", "77")
    monkeypatch.setenv("SLURM_JOB_NAME", "train")


@pytest.mark.usefixtures("slurm")
def test_which_job_is_requeued(monkeypatch: pytest.MonkeyPatch) -> None:
    assert job_to_requeue(signal.SIGUSR1) == "77"
    assert job_to_requeue(signal.SIGTERM) is None
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "70")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "3")
    assert job_to_requeue(signal.SIGUSR1) == "70_3"
    monkeypatch.setenv("SLURM_JOB_NAME", "interactive")
    assert job_to_requeue(signal.SIGUSR1) is None


def test_elsewhere_nothing_is_requeued(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("SLURM_NTASKS", raising=False)
    requeue(signal.SIGUSR1)
    assert capsys.readouterr().err == ""


def scontrol(folder: Path, lines: str) -> None:
    (folder / "scontrol").write_text(f"#!/bin/sh\n{lines}\n")
    (folder / "scontrol").chmod(0o755)


@pytest.mark.usefixtures("slurm")
def test_slurm_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    scontrol(tmp_path, f'echo "$@" > {tmp_path}/asked')
    requeue(signal.SIGUSR1)
    assert (tmp_path / "asked").read_text() == "requeue 77\n"
    assert capsys.readouterr().err == "SLURM will start job 77 again\n"
    scontrol(tmp_path, "echo no such job >&2; exit 1")
    requeue(signal.SIGUSR1)
    assert capsys.readouterr().err == "could not requeue SLURM job 77 (no such job)\n"
    (tmp_path / "scontrol").unlink()
    requeue(signal.SIGUSR1)
    assert "could not requeue SLURM job 77 ([Errno 2] No such file" in capsys.readouterr().err
