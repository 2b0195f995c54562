from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from sampled_transformer.clustering.settings import ClusterSettings
from sampled_transformer.training.run_folder import (
    StopRequest,
    check_folder,
    config_to_resume,
    read_checkpoint,
    read_settings,
    stopped,
    write_checkpoint,
    write_json,
    write_settings,
    write_table,
)
from sampled_transformer.training.settings import DataOptions, FewShotSettings, Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(DataOptions("bricks"), str(tmp_path / "run"), options={"dim": 8})


def test_settings_are_written_and_read(settings: Settings) -> None:
    write_settings(Path(settings.out), settings)
    assert read_settings(config_to_resume(Path(settings.out)), Settings) == settings


def test_a_folder_that_is_not_empty_is_not_overwritten(settings: Settings) -> None:
    folder = Path(settings.out)
    check_folder(folder, settings, resume=False)
    folder.mkdir()
    check_folder(folder, settings, resume=False)
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"out: expected a new or empty folder, got .*run, which exists already"):
        check_folder(folder, settings, resume=False)


def test_a_run_continues_only_with_its_own_settings(settings: Settings) -> None:
    folder = Path(settings.out)
    with pytest.raises(ValueError, match=r"run: no run to resume; expected a config\.yaml in it"):
        check_folder(folder, settings, resume=True)
    write_settings(folder, settings)
    check_folder(folder, replace(settings, epochs=99), resume=True)
    with pytest.raises(ValueError, match=r"^seed: expected \d+, as when the run in .*run was started, got \d+$"):
        check_folder(folder, replace(settings, seed=1), resume=True)
    with pytest.raises(ValueError, match=r"^options\.new: expected nothing, as when .* was started, got 3$"):
        check_folder(folder, replace(settings, options={**settings.options, "new": 3}), resume=True)
    (folder / "config.yaml").write_text("data: 3\n")
    with pytest.raises(ValueError, match=r"config\.yaml: not the configuration of a run of `train` \(.*data: expected"):
        check_folder(folder, settings, resume=True)
    with pytest.raises(ValueError, match="not the configuration of a run of `cluster train`"):
        check_folder(folder, ClusterSettings(settings.out), resume=True)


def test_tables_have_a_column_per_name(tmp_path: Path) -> None:
    write_table(tmp_path / "a.csv", [{"epoch": 1}, {"epoch": 2, "probe": 0.5}])
    assert (tmp_path / "a.csv").read_text() == "epoch,probe\n1,\n2,0.5\n"
    write_table(tmp_path / "b.csv", [], ["step", "seconds"])
    assert (tmp_path / "b.csv").read_text() == "step,seconds\n"
    write_json(tmp_path / "c.json", {"a": 1})
    assert (tmp_path / "c.json").read_text() == '{\n  "a": 1\n}\n'
    assert len(list(tmp_path.iterdir())) == 3


class Foreign:
    def __reduce__(self) -> tuple:
        return os.mkdir, ("ran",)


def test_checkpoints_hold_tensors_and_cannot_run_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_checkpoint("last.ckpt", {"step": 3, "weights": torch.ones(2)})
    state = read_checkpoint("last.ckpt")
    assert state["step"] == 3
    assert torch.equal(state["weights"], torch.ones(2))
    torch.save({"state": Foreign()}, "bad.ckpt")
    with pytest.raises(Exception, match="Weights only load failed"):
        read_checkpoint("bad.ckpt")
    assert not Path("ran").exists()


@pytest.fixture
def hears_control_c() -> Iterator[None]:
    """A process that was started in the background ignores Ctrl-C, and so may the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("hears_control_c")
def test_the_first_control_c_asks_and_the_second_acts() -> None:
    before = signal.getsignal(signal.SIGINT)
    with StopRequest() as request:
        assert not request.asked
        os.kill(os.getpid(), signal.SIGINT)
        assert request.asked
        assert signal.getsignal(signal.SIGINT) is before
    assert signal.getsignal(signal.SIGINT) is before
    with StopRequest():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_another_thread_leaves_the_signal_alone() -> None:
    before, asked = signal.getsignal(signal.SIGINT), []

    def work() -> None:
        with StopRequest() as request:
            asked.append((request.asked, signal.getsignal(signal.SIGINT) is before))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert asked == [(False, True)]


def test_a_stopped_run_says_how_to_continue(settings: Settings) -> None:
    cluster = ClusterSettings("a b")
    assert stopped(cluster, "after step 3 of 9") == (
        "stopped after step 3 of 9; go on with: sampled-transformer cluster train --out 'a b' --resume"
    )
    few = FewShotSettings(DataOptions("x"), "few", init="pre")
    assert stopped(few, "in fold 2 of 3").endswith("go on with: sampled-transformer fewshot pre --out few --resume")


def test_neither_torch_nor_lightning_is_loaded() -> None:
    program = (
        "import sys, sampled_transformer.training.run_folder; sys.exit(bool({'torch', 'lightning'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
