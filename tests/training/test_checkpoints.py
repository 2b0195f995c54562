"""The last two checkpoints: when they are written, and which one a run continues from."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch

from sampled_transformer.training.checkpoints import (
    Every,
    Timer,
    find_checkpoint,
    read_checkpoint,
    set_aside_damaged,
    write_checkpoint,
)
from sampled_transformer.training.settings import TrainerOptions


@pytest.mark.parametrize(
    ("text", "every"),
    [
        ("600s", Every(600.0)),
        ("10m", Every(600.0)),
        ("1.5h", Every(5400.0)),
        ("90", Every(90.0)),
        (90, Every(90.0)),
        ("500 steps", Every(steps=500)),
        ("1 step", Every(steps=1)),
        ("20steps", Every(steps=20)),
    ],
)
def test_times_and_numbers_of_steps(text: str | int, every: Every) -> None:
    assert Every.read(text, "every") == every


@pytest.mark.parametrize("text", ["", "0", "-1s", "0 steps", "1.5 steps", "ten minutes", "10 d", "nan", "inf", "1e9s"])
def test_other_times_are_refused(text: str) -> None:
    expected = "expected a time or a number of steps, such as 600s, 10m or 500 steps, got "
    with pytest.raises(ValueError, match=f"^trainer.checkpoint_every: {expected}{text!r}$"):
        TrainerOptions(checkpoint_every=text)


def test_runs_save_every_ten_minutes() -> None:
    assert Every.read(TrainerOptions().checkpoint_every, "") == Every(600.0)


def test_a_checkpoint_is_due_after_steps_or_time() -> None:
    timer = Timer(Every(steps=3))
    assert [timer.is_due(step) for step in (0, 2, 3, 4)] == [False, False, True, True]
    timer.restart(4)
    assert [timer.is_due(step) for step in (5, 7)] == [False, True]
    assert not Timer(Every(seconds=600.0)).is_due(10**9)
    assert Timer(Every(seconds=0.0)).is_due(0)


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
    torch.save({"state": Foreign()}, "last.ckpt")
    with pytest.raises(ValueError, match=r"last\.ckpt: damaged checkpoint \(UnpicklingError\); expected one of"):
        find_checkpoint(Path(), lambda state: None)
    assert not Path("ran").exists()


def write(folder: Path, *steps: int) -> None:
    for step in steps:
        write_checkpoint(folder / "last.ckpt", {"step": step, "weights": torch.full((64,), float(step))})


def step_of(state: dict[str, int]) -> int:
    return state["step"]


def test_two_checkpoints_are_kept_and_the_last_is_used(tmp_path: Path) -> None:
    assert find_checkpoint(tmp_path, step_of) is None
    write(tmp_path, 1, 2, 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["last.ckpt", "previous.ckpt"]
    assert read_checkpoint(tmp_path / "previous.ckpt")["step"] == 2
    assert find_checkpoint(tmp_path, step_of) == (tmp_path / "last.ckpt", 3)
    (tmp_path / "last.ckpt").unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert find_checkpoint(tmp_path, step_of) == (tmp_path / "previous.ckpt", 2)


def test_one_wrong_bit_is_noticed_and_the_other_checkpoint_used(tmp_path: Path) -> None:
    write(tmp_path, 1, 2)
    path = tmp_path / "last.ckpt"
    data = bytearray(path.read_bytes())
    data[data.index(torch.full((64,), 2.0).numpy().tobytes()) + 9] ^= 1
    path.write_bytes(data)
    assert read_checkpoint(path)["step"] == 2  # torch itself does not notice
    with pytest.warns(UserWarning, match=r"last\.ckpt: damaged checkpoint \(wrong check sum\), kept as damaged\."):
        used, step = find_checkpoint(tmp_path, step_of)
    assert (used.name, step) == ("previous.ckpt", 1)
    set_aside_damaged(tmp_path, used)
    write(tmp_path, 5)
    steps = {path.name: read_checkpoint(path)["step"] for path in tmp_path.glob("*.ckpt") if path.stem != "damaged"}
    assert steps == {"last.ckpt": 5, "previous.ckpt": 1}  # never the damaged one


def test_a_whole_checkpoint_of_something_else_is_refused(tmp_path: Path) -> None:
    def refuse(state: dict[str, int]) -> None:
        raise ValueError("checkpoint of another network")

    write(tmp_path, 1, 2)
    with pytest.raises(ValueError, match=r"last\.ckpt: checkpoint of another network"):
        find_checkpoint(tmp_path, refuse)
    with pytest.raises(ValueError, match=r"last\.ckpt: damaged checkpoint \(KeyError\); so is previous\.ckpt"):
        find_checkpoint(tmp_path, lambda state: state["missing"])


def test_torch_is_loaded_late() -> None:
    program = "import sys, sampled_transformer.training.checkpoints; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
