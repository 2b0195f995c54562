from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sampled_transformer.clustering.settings import ClusterSettings
from sampled_transformer.support.signals import Stopped
from sampled_transformer.training.run_folder import (
    check_folder,
    claimed,
    config_to_resume,
    failing_writes,
    read_json,
    read_settings,
    result_without_checkpoint,
    running,
    stopped,
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


def test_what_a_run_wrote_is_read_again(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"a": 1})
    assert read_json(tmp_path / "a.json") == {"a": 1}
    for text in ("", "[1]", "[" * 100_000, '{"a":'):
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(
            ValueError, match=r"a\.json: not a complete JSON file; expected one that the run has written"
        ):
            read_json(tmp_path / "a.json")


def test_a_folder_is_claimed_by_one(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "run"
    with claimed(folder):
        assert [item.name for item in folder.iterdir()] == [".lock"]
        with (
            pytest.raises(ValueError, match=r"^out: expected a place that no other process writes to, got .*run, wh"),
            claimed(folder),
        ):
            pass
        assert folder.is_dir()
    assert not (tmp_path / "deep").exists()  # nothing was written, so nothing is left


def test_a_claimed_folder_keeps_what_is_written_and_loses_leftovers(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with claimed(folder):
        (folder / "config.yaml").touch()
    (folder / ".last.ckpt.0123abcd.tmp").touch()
    (folder / ".mine.tmp").touch()
    with claimed(folder):
        pass
    assert sorted(item.name for item in folder.iterdir()) == [".mine.tmp", "config.yaml"]


def test_folders_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"^out: expected a folder, got the file .*file$"), claimed(tmp_path / "file"):
        pass
    with pytest.raises(ValueError, match=r"^out: expected a place that can be written, got .*run \(Not a dir"):
        claimed(tmp_path / "file" / "run").__enter__()
    with pytest.raises(ValueError, match=r"^out: expected a place that can be written, got /proc/run \("):
        claimed(Path("/proc/run")).__enter__()


def test_errors_of_the_disk_name_the_folder(tmp_path: Path) -> None:
    saved = "the files saved before are complete, and --resume continues from them"
    with pytest.raises(OSError, match=f"run: No space left on device; {saved}$"), failing_writes(Path("run")):
        raise OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(ConnectionError, match=r"^lost$"), failing_writes(Path("run")):
        raise ConnectionError("lost")


def test_a_lack_of_memory_names_the_folder(tmp_path: Path) -> None:
    def asks() -> None:
        with failing_writes(tmp_path):
            bytearray(2**60)

    with pytest.raises(MemoryError, match=rf"^{tmp_path}: not enough memory; the files saved before are complete, and"):
        asks()


def test_a_signal_stops_and_releases(settings: Settings) -> None:
    folder = Path(settings.out)
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with pytest.raises(Stopped, match=r"^stopped$") as stop, running(settings) as came:
            os.kill(os.getpid(), signal.SIGTERM)
        assert (stop.value.code, came) == (143, [signal.SIGTERM])
        assert not folder.exists()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
    with running(settings, first=False):
        assert not folder.exists()  # only the first process takes the lock


def test_whatever_interrupts_a_run_it_says_how_to_go_on(settings: Settings) -> None:
    write_settings(Path(settings.out), settings)
    with pytest.raises(Stopped, match=r"^stopped outside of a step; go on with: ") as stop, running(settings):
        raise KeyboardInterrupt
    assert stop.value.code == 130
    with pytest.raises(Stopped, match=r"^stopped in epoch 3$"), running(settings):
        raise Stopped("stopped in epoch 3")


def test_runs_that_lost_their_checkpoints(tmp_path: Path) -> None:
    assert result_without_checkpoint(tmp_path, 3) is None
    (tmp_path / "metrics.csv").write_text("epoch\n1\n")
    assert result_without_checkpoint(tmp_path, 3) is None  # killed just before the first checkpoint
    (tmp_path / "metrics.csv").write_text("epoch\n1\n2\n")
    with pytest.raises(ValueError, match=r": no checkpoint; expected last\.ckpt or previous\.ckpt, because"):
        result_without_checkpoint(tmp_path, 3)
    (tmp_path / "previous.ckpt").touch()
    assert result_without_checkpoint(tmp_path, 3) is None
    (tmp_path / "previous.ckpt").unlink()
    write_json(tmp_path / "result.json", {"finished": True, "epochs": 3})
    assert result_without_checkpoint(tmp_path, 3) == {"finished": True, "epochs": 3}
    write_json(tmp_path / "result.json", {"finished": False, "epochs": 3})
    with pytest.raises(ValueError, match="no checkpoint"):
        result_without_checkpoint(tmp_path, 3)


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
