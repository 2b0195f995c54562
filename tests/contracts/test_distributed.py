"""Two processes that train together, started as users start them; every one of them really runs."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.numbers import write_ellipsoids

from sampled_transformer.data import Pack, load_data, write_pack
from sampled_transformer.inference import regression
from sampled_transformer.inference.evaluation import evaluate
from sampled_transformer.training.callbacks import AtomicCheckpoints
from sampled_transformer.training.run import Run, train
from sampled_transformer.training.settings import DataOptions, OptimiserOptions, Settings, TrainerOptions
from sampled_transformer.weights import load_model

LIMIT = 300  # seconds after which a run hangs; it takes ten on an idle machine
TRAIN = 33  # shapes: 17 for each process, one of them twice
STEPS = 3  # of an epoch, with batches of at most 6 for each process
SMALL = {"dim": 16, "heads": 2, "hidden": 16, "embedding": 8}
TWO = ["--trainer.accelerator", "cpu", "--trainer.devices", "2", "--trainer.strategy", "ddp"]
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]

# The program itself, which notes the shapes and the cycle of every step, and the batch statistics it evaluates with. At
# a step and in a process that SIGNAL names it sends a signal, and at that step the first process is BUSY for a while.
# At the step and in the process that SPOILT names, the loss is not finite.
PROGRAM = """
import json, os, signal, sys, time
from sampled_transformer.attention.sampled import SampledAttention
from sampled_transformer.cli import main
from sampled_transformer.training.classify import Classify
from sampled_transformer.training.task import Task

begin, draw, measure = Task.on_train_batch_start, SampledAttention.draw_one, Classify.on_validation_epoch_start
where = {}

def note(**what):
    with open(os.environ["NOTES"], "a") as file:
        file.write(json.dumps({**where, **what}) + "\\n")

def noted_begin(self, batch, number):
    begin(self, batch, number)
    where.update(rank=self.global_rank, step=self.global_step)
    note(shapes=batch.points[:, 0].tolist())
    name, rank, step = os.environ["SIGNAL"].split()
    if where == {"rank": int(rank), "step": int(step)}:
        own = os.getppid() if "TORCHELASTIC_RUN_ID" in os.environ else 0  # whom a terminal would tell
        os.kill(own if name == "SIGINT" else os.getpid(), signal.Signals[name])
    if where == {"rank": 0, "step": int(step)}:
        time.sleep(float(os.environ["BUSY"]))

def noted_draw(self, x, positions, sets, seed):
    cycle = draw(self, x, positions, sets, seed)
    if seed is None:
        note(cycle=cycle.order.flatten().tolist())
    return cycle

def noted_measure(self):
    measure(self)
    note(statistics=[float(buffer.double().sum()) for buffer in self.network.buffers()])

step = Classify.training_step

def spoilt_step(self, batch, number):
    loss = step(self, batch, number)
    return loss * float("nan") if os.environ.get("SPOILT") == f"{self.global_rank} {self.global_step}" else loss

Classify.training_step = spoilt_step
Task.on_train_batch_start, SampledAttention.draw_one = noted_begin, noted_draw
Classify.on_validation_epoch_start = noted_measure
if __name__ == "__main__":
    sys.exit(main())
"""


@dataclass
class Ended:
    """A run that has ended, all its processes included."""

    folder: Path
    code: int
    errors: str
    notes: list[dict[str, Any]]

    def rows(self) -> list[dict[str, str]]:
        with open(self.folder / "metrics.csv", newline="") as file:
            return [{**row, "seconds": ""} for row in csv.DictReader(file)]

    def weights(self) -> dict[str, torch.Tensor]:
        return load_model(self.folder / "model.safetensors")[0].state_dict()

    def is_as(self, other: Ended) -> bool:
        one, two = self.weights(), other.weights()
        return self.rows() == other.rows() and all(torch.equal(one[name], two[name]) for name in one | two)


def start(out: Path, *words: object, sent: str = "SIGKILL -1 -1", busy: int = 0, by: list[str] | None = None) -> Ended:
    """Run the program to its end; `by` are the words of another program that starts it."""
    program, notes = out.with_suffix(".py"), out.with_suffix(".notes")
    program.write_text(PROGRAM)
    notes.unlink(missing_ok=True)
    more = {
        "NOTES": str(notes),
        "SIGNAL": sent,
        "BUSY": str(busy),
        "OMP_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "passive",
    }
    command = [sys.executable, *(by or []), str(program), *map(str, words), "--out", str(out)]
    process = subprocess.Popen(
        command, env={**os.environ, **more}, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        errors = process.communicate(timeout=LIMIT)[1]  # which ends when nobody is left to write
    finally:
        end(process)
    found = [json.loads(line) for line in notes.read_text().splitlines()] if notes.exists() else []
    lines = [line for line in errors.decode().splitlines(True) if "new weights learn little" not in line]  # they are
    return Ended(out, process.returncode, "".join(lines), found)


def end(process: subprocess.Popen[bytes]) -> None:
    """End what hangs; torchrun ends its own when it is asked to."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(40)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """With a pack of needles, discs and balls, of which no two shapes begin with the same point."""
    folder = tmp_path_factory.mktemp("distributed")
    flatness = np.array([[0.05, 0.05, 1.0], [1.0, 1.0, 0.05], [1.0, 1.0, 1.0]])
    (folder / "pack").mkdir()
    for seed, (split, count) in enumerate({"train": TRAIN, "test": 15}.items()):
        labels = np.arange(count) % 3
        clouds = np.random.default_rng(seed).normal(size=(count, 16, 3)) * flatness[labels][:, None]
        pack = Pack.from_arrays(clouds, labels=labels, classes=("needle", "disc", "ball"))
        write_pack(pack, folder / "pack" / f"{split}.npz")
    return folder


def words(folder: Path) -> list[str]:
    """Of the run that is made again and again: sampled attention, batch statistics, dropout."""
    options = [f"--options.{name}={value}" for name, value in {**SMALL, "dropout": 0.1}.items()]
    data = ["--data", str(folder / "pack"), "--data.batch", "6", "--data.preset", "none"]
    return ["train", *data, "--epochs", "3", *options, *TWO]


@pytest.fixture(scope="module")
def whole(folder) -> Ended:
    run = start(folder / "whole", *words(folder))
    assert (run.code, run.errors) == (0, "")
    return run


def test_two_processes_are_one_with_the_same_global_batch(folder):
    pack = load_data(str(folder / "pack"), "train").select(slice(24))  # 24 shapes: 3 steps of 8, or of 4 and 4
    (folder / "even").mkdir()
    write_pack(pack, folder / "even" / "train.npz")
    write_pack(load_data(str(folder / "pack"), "test"), folder / "even" / "test.npz")
    options = {**SMALL, "batch_norm": False}
    optimiser = OptimiserOptions("sgd", rate=0.05, clip=1.0)
    data = DataOptions(str(folder / "even"), batch=8, preset="none")
    settings = Settings(data, str(folder / "one"), "basic", "dense", options, 3, 0, optimiser, TrainerOptions("cpu"))
    before = {name: tensor.clone() for name, tensor in Run.prepare(settings).task.network.state_dict().items()}
    one = Ended(folder / "one", 0, "", [])
    assert train(settings)["finished"]

    line = ["--data", data.source, "--data.batch", 4, "--data.preset", "none", "--attention", "dense", "--epochs", 3]
    line += [f"--options.{name}={json.dumps(value)}" for name, value in options.items()]
    line += ["--optimiser.name", "sgd", "--optimiser.rate", 0.05, "--optimiser.clip", 1]
    two = start(folder / "two", "train", *line, *TWO)
    assert (two.code, two.errors) == (0, "")

    expected, found = one.weights(), two.weights()
    assert max(float((expected[name] - before[name]).abs().max()) for name in before) > 0.01
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor, rtol=1e-4, atol=1e-6)
    for row, other in zip(one.rows(), two.rows(), strict=True):
        assert float(row["train_loss"]) == pytest.approx(float(other["train_loss"]), rel=1e-5)
        assert row["test_accuracy"] == other["test_accuracy"]
    for epoch in range(3):
        assert set(seen(two, epoch, pack).values()) == {1}


def seen(run: Ended, epoch: int, pack: Pack) -> Counter[int]:
    """How often each shape came in an epoch, over all processes."""
    first = pack.batch(slice(None)).points[:, 0].tolist()
    rows = [note["shapes"] for note in run.notes if "shapes" in note and note["step"] // STEPS == epoch]
    counts = Counter(first.index(shape) for row in rows for shape in row)
    assert set(counts) == set(range(len(pack)))
    return counts


def test_every_shape_comes_once_an_epoch_and_is_evaluated_once(whole, folder):
    pack = load_data(str(folder / "pack"), "train")
    for epoch in range(3):
        assert sorted(seen(whole, epoch, pack).values()) == [1] * (TRAIN - 1) + [2]  # both have to have as many
    result = json.loads((whole.folder / "result.json").read_text())
    assert [sum(row) for row in result["confusion"]] == [5, 5, 5]
    assert result["confusion"] == evaluate(whole.folder / "model.safetensors")["confusion"]


def test_two_processes_measure_every_number_once(folder):
    write_ellipsoids(folder / "numbers", train=TRAIN, test=17)
    line = words(folder)
    line[line.index("--data") + 1] = str(folder / "numbers")
    run = start(folder / "numbers-run", *line)
    assert (run.code, run.errors) == (0, "")
    expected = regression.evaluate(run.folder / "model.safetensors")["figures"]["one pass"]
    for name, value in expected.items():
        assert float(run.rows()[-1][f"test_{name}"]) == pytest.approx(value, rel=1e-4)


def test_processes_evaluate_with_the_batch_statistics_that_are_saved(whole):
    one, two = (
        [note["statistics"] for note in whole.notes if "statistics" in note and note["rank"] == rank] for rank in (0, 1)
    )
    network = load_model(whole.folder / "model.safetensors")[0]
    assert len(one) == 3
    assert one == two
    assert one[-1] == [float(buffer.double().sum()) for buffer in network.buffers()]


def test_processes_walk_different_cycles(whole):
    cycles = {(note["rank"], note["step"]): tuple(note["cycle"]) for note in whole.notes if "cycle" in note}
    assert set(cycles) == {(rank, step) for rank in (0, 1) for step in range(3 * STEPS)}
    assert len(set(cycles.values())) == len(cycles)


def test_torchrun_starts_the_same_run(whole, folder):
    run = start(folder / "torchrun", *words(folder), by=TORCHRUN)
    assert run.code == 0, run.errors
    assert run.is_as(whole)
    key = sorted(json.dumps(note) for note in whole.notes)
    assert sorted(json.dumps(note) for note in run.notes) == key


def test_torchrun_with_another_number_of_processes(folder, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    settings = Settings(DataOptions(str(folder / "pack")), str(folder / "alone"), trainer=TrainerOptions("cpu"))
    with pytest.raises(ValueError, match=r"trainer.devices, .*expected a product of 2, .* got 1 \* 1"):
        train(settings)
    assert not (folder / "alone").exists()


def check_goes_on(run: Ended, whole: Ended) -> None:
    """What a run that was stopped has left can be used, and the run goes on to where it would have gone."""
    AtomicCheckpoints().load_checkpoint(run.folder / "last.ckpt")
    assert run.rows()[0] == whole.rows()[0]
    run.weights()
    resumed = start(run.folder, "train", "--resume")
    assert (resumed.code, resumed.errors) == (0, "")
    assert resumed.is_as(whole)


def lost(run: Ended, rank: int) -> str:
    """What a process says that lost another one."""
    place = f"process {rank} of 2 (counted from 0) lost another one; stopped in epoch 2 of 3"
    return f"sampled-transformer: error: {place}; go on with: sampled-transformer train --out {run.folder} --resume\n"


def test_a_killed_process_ends_the_run_which_goes_on(whole, folder):
    run = start(folder / "killed", *words(folder), sent="SIGKILL 1 4")
    assert run.code == 2
    assert run.errors == lost(run, 0)
    check_goes_on(run, whole)


@pytest.mark.slow
def test_the_first_process_killed(whole, folder):
    run = start(folder / "first-killed", *words(folder), sent="SIGKILL 0 4")
    assert run.code == -signal.SIGKILL
    assert run.errors == lost(run, 1)
    check_goes_on(run, whole)


@pytest.mark.slow
def test_a_process_killed_while_the_first_is_busy(whole, folder):
    run = start(folder / "busy-killed", *words(folder), sent="SIGKILL 1 4", busy=60)
    assert run.code == -signal.SIGKILL
    assert len(run.errors.splitlines()) == 1
    assert "[rank: 1] Child process" in run.errors
    check_goes_on(run, whole)


@pytest.mark.slow
@pytest.mark.parametrize("step", [4, 5])  # stops after the fifth step, and after the sixth, which ends an epoch
def test_interrupted(whole, folder, step):
    run = start(folder / f"interrupted-{step}", *words(folder), sent=f"SIGINT 0 {step}")
    assert run.code == 130
    place = f"stopped in epoch {step // 5 + 2} of 3"
    line = f"{place}; go on with: sampled-transformer train --out {run.folder} --resume"
    assert run.errors == f"sampled-transformer: error: {line}\n"
    assert not json.loads((run.folder / "result.json").read_text())["finished"]
    check_goes_on(run, whole)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rank"), [("SIGTERM", 0), ("SIGTERM", 1), ("SIGUSR1", 1)])
def test_a_signal_to_one_process_stops_both(whole, folder, name, rank):
    run = start(folder / f"{name}-{rank}", *words(folder), sent=f"{name} {rank} 4")
    assert run.code == 128 + signal.Signals[name]
    line = f"stopped in epoch 2 of 3; go on with: sampled-transformer train --out {run.folder} --resume"
    assert run.errors == f"sampled-transformer: error: {line}\n"
    check_goes_on(run, whole)


@pytest.mark.slow
def test_a_loss_that_is_not_finite_in_one_process(folder, monkeypatch):
    """Both stop before the step, or both skip it, and the first names the shapes of the other."""
    monkeypatch.setenv("SPOILT", "1 4")
    stopped = start(folder / "spoilt", *words(folder))
    assert stopped.code == 2
    first = load_data(str(folder / "pack"), "train").batch(slice(None)).points[:, 0].tolist()
    noted = [note["shapes"] for note in stopped.notes if "shapes" in note and (note["rank"], note["step"]) == (1, 4)]
    shapes = ", ".join(str(first.index(shape)) for shape in noted[0])
    assert f"error: the loss of step 5, with the shapes {shapes} of the training split, is no longer" in stopped.errors
    assert len(stopped.errors.splitlines()) == 1
    resumed = start(folder / "spoilt", "train", "--resume", "--trainer.nonfinite", "skip")
    assert (resumed.code, resumed.errors) == (0, "")
    assert json.loads((resumed.folder / "result.json").read_text())["skipped_steps"] == 1
    assert all(tensor.isfinite().all() for tensor in resumed.weights().values())


@pytest.mark.slow
def test_interrupted_under_torchrun(whole, folder):
    """Which hands Ctrl-C on to the processes, once, and says a lot itself."""
    run = start(folder / "torchrun-interrupted", *words(folder), by=TORCHRUN, sent="SIGINT 0 4")
    assert run.code != 0
    assert "stopped in epoch 2 of 3; go on with" in run.errors
    check_goes_on(run, whole)


@pytest.mark.slow
def test_pretraining_and_a_killed_process(folder):
    """Its tokeniser has batch statistics: only two processes are as two processes."""
    options = {**SMALL, "depth": 2, "groups": 4, "group_size": 4}
    line = ["--data", folder / "pack", "--data.batch", 6, "--epochs", 2, "--probe_every", 1]
    line += [f"--options.{name}={value}" for name, value in options.items()]
    run = start(folder / "pretrained", "pretrain", *line, *TWO)
    assert (run.code, run.errors) == (0, "")
    assert [row["epoch"] for row in run.rows()] == ["1", "2"]
    assert 0 <= float(run.rows()[-1]["probe_accuracy"]) <= 1
    assert {note["rank"] for note in run.notes} == {0, 1}
    assert load_model(run.folder / "model.safetensors")[1].model == "mae"

    killed = start(folder / "pretrain-killed", "pretrain", *line, *TWO, sent="SIGKILL 1 4")
    assert killed.code == 2
    assert len(killed.errors.splitlines()) == 1
    assert f"epoch 2 of 2; go on with: sampled-transformer pretrain --out {killed.folder} --resume" in killed.errors
    resumed = start(killed.folder, "pretrain", "--resume")
    assert (resumed.code, resumed.errors) == (0, "")
    assert resumed.is_as(run)
