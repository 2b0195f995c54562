"""Runs really made, on shapes small enough for seconds."""

from __future__ import annotations

import json
import os
import resource
import signal
import struct
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import yaml
from helpers.runs import rows, same, weights

from sampled_transformer.data import write_pack
from sampled_transformer.inference.calibrate import calibrate
from sampled_transformer.inference.trained_network import load
from sampled_transformer.support.signals import Stopped
from sampled_transformer.training import run as runs
from sampled_transformer.training.callbacks import AtomicCheckpoints
from sampled_transformer.training.classify import Classify
from sampled_transformer.training.loading import Batches
from sampled_transformer.training.run import BEST_ON_TEST, BEST_ON_VALIDATION, Run, train
from sampled_transformer.training.run_folder import read_settings
from sampled_transformer.training.settings import DataOptions, OptimiserOptions, Settings, TrainerOptions
from sampled_transformer.weights import load_model

SMALL = {"dim": 16, "heads": 2, "hidden": 16, "embedding": 8, "dropout": 0.1}


@pytest.fixture
def settings(pack_folder, tmp_path) -> Settings:
    data = DataOptions(str(pack_folder), points=24, batch=8, preset="bricks")
    return Settings(data, str(tmp_path / "run"), options=SMALL, epochs=3, trainer=TrainerOptions("cpu"))


def test_a_run_learns_and_leaves_its_folder(settings):
    settings = replace(settings, epochs=12, optimiser=OptimiserOptions(clip=5.0))
    result = train(settings)
    folder = Path(settings.out)
    files = {"config.yaml", "metrics.csv", "model.safetensors", "result.json", "tensorboard"}
    assert {item.name for item in folder.iterdir()} == {*files, "last.ckpt", "previous.ckpt"}
    assert list((folder / "tensorboard").glob("events.*"))
    assert json.loads((folder / "result.json").read_text()) == result
    last = result["figures"]["last epoch"]
    assert last["test_accuracy"] > 0.8
    confusion = torch.tensor(result["confusion"])
    assert confusion.sum(1).tolist() == [5, 5, 5]
    assert int(confusion.trace()) == round(15 * last["test_accuracy"])
    table = rows(folder)
    assert [row["epoch"] for row in table] == [str(epoch) for epoch in range(1, 13)]
    assert float(table[-1]["test_accuracy"]) == last["test_accuracy"]
    assert float(table[-1]["train_loss"]) < float(table[0]["train_loss"])
    assert set(result["figures"]) == {"last epoch", BEST_ON_TEST}
    assert read_settings(folder / "config.yaml", Settings) == settings
    network, description = load_model(folder / "model.safetensors")
    assert description.classes == ("needle", "disc", "ball")
    assert description.notes["data"] == {
        "source": settings.data.source,
        "root": None,
        "preset": "bricks",
        "points": 24,
        "normals": True,
        "up": "",
        "corruptions": {},
    }
    assert description.notes["figures"]["test_accuracy"] == last["test_accuracy"]
    batch = Run.prepare(replace(settings, out="other")).splits.test.batch(slice(None))
    right = network(batch.points[:, :24], batch.normals[:, :24]).argmax(1) == batch.labels
    assert float(right.double().mean()) == pytest.approx(last["test_accuracy"])


def test_the_largest_gradient_of_a_run_is_recorded_before_clipping(settings, tmp_path):
    free = train(settings)
    largest = max(float(row["gradient_norm"]) for row in rows(settings.out))
    assert free["largest_gradient_norm"] == largest > 0
    # A limit that no step reaches changes nothing; a lower one does not hide how large the gradients were.
    optimiser = replace(settings.optimiser, clip=2 * largest)
    loose = train(replace(settings, out=str(tmp_path / "loose"), optimiser=optimiser))
    assert loose["figures"]["last epoch"]["train_loss"] == free["figures"]["last epoch"]["train_loss"]
    optimiser = replace(settings.optimiser, clip=1e-3)
    tight = train(replace(settings, out=str(tmp_path / "tight"), optimiser=optimiser))
    assert tight["largest_gradient_norm"] > 1e-3
    assert tight["figures"]["last epoch"]["train_loss"] != free["figures"]["last epoch"]["train_loss"]


def test_one_seed_fixes_everything(settings, tmp_path):
    one = train(settings)
    two = train(replace(settings, out=str(tmp_path / "two")))
    other = train(replace(settings, out=str(tmp_path / "other"), seed=1))
    assert same(weights(settings.out), weights(tmp_path / "two"))
    assert not same(weights(settings.out), weights(tmp_path / "other"))
    losses = [result["figures"]["last epoch"]["train_loss"] for result in (one, two, other)]
    assert losses[0] == losses[1] != losses[2]


# Five steps per epoch: in the first, at an end, in the second, at an end.
@pytest.mark.parametrize("step", [1, 5, 7, 10])
def test_interrupted_and_resumed_is_the_same_run(settings, tmp_path, interrupt, step):
    before = signal.getsignal(signal.SIGINT)
    train(replace(settings, out=str(tmp_path / "whole")))
    interrupt(step)
    with pytest.raises(KeyboardInterrupt, match=r"stopped in epoch \d of 3; go on with: .* --out .*run --resume"):
        train(settings)
    interrupted = json.loads(Path(settings.out, "result.json").read_text())
    assert not interrupted["finished"]
    assert interrupted["epochs"] == step // 5
    load_model(Path(settings.out, "model.safetensors"))
    assert signal.getsignal(signal.SIGINT) is before
    result = train(settings, resume=True)
    assert result["finished"]
    assert same(weights(settings.out), weights(tmp_path / "whole"))
    strip = ("seconds",)
    for one, two in zip(rows(settings.out), rows(tmp_path / "whole"), strict=True):
        assert {k: v for k, v in one.items() if k not in strip} == {k: v for k, v in two.items() if k not in strip}


@pytest.mark.parametrize(("every", "saved"), [("1 step", 7), ("3 steps", 6), ("0.001s", 7), ("600s", 5)])
def test_a_run_that_is_killed_goes_on_from_the_last_timed_checkpoint(settings, tmp_path, monkeypatch, every, saved):
    train(replace(settings, out=str(tmp_path / "whole")))
    settings = replace(settings, trainer=replace(settings.trainer, checkpoint_every=every))
    step = Classify.training_step

    def die_in_step_7(self, batch, batch_idx):
        if self.global_step == 7:
            raise RuntimeError("killed")
        return step(self, batch, batch_idx)

    monkeypatch.setattr(Classify, "training_step", die_in_step_7)
    with pytest.raises(RuntimeError, match="killed"):
        train(settings)
    monkeypatch.setattr(Classify, "training_step", step)
    assert AtomicCheckpoints().load_checkpoint(Path(settings.out, "last.ckpt"))["global_step"] == saved
    train(settings, resume=True)
    assert same(weights(settings.out), weights(tmp_path / "whole"))


def test_resume_after_the_end_adds_epochs_or_nothing(settings):
    train(settings)
    before = weights(settings.out)
    assert train(settings, resume=True)["epochs"] == 3
    assert same(before, weights(settings.out))
    assert train(replace(settings, epochs=5), resume=True)["epochs"] == 5
    assert len(rows(settings.out)) == 5


def test_validation_chooses_and_the_test_split_does_not(settings):
    settings = replace(settings, data=replace(settings.data, validation=0.3), epochs=4)
    result = train(settings)
    table = rows(settings.out)
    best = max(range(4), key=lambda i: (float(table[i]["validation_accuracy"]), -i))
    assert result["figures"][BEST_ON_VALIDATION]["epoch"] == best + 1
    notes = load_model(Path(settings.out, "model-best.safetensors"))[1].notes
    assert notes["figures"]["epoch"] == best + 1
    assert load_model(Path(settings.out, "model.safetensors"))[1].notes["figures"]["epoch"] == 4


def test_what_was_held_out_calibrates_the_weights(settings, capsys):
    settings = replace(settings, data=replace(settings.data, validation=0.65), epochs=2)
    result = train(settings)
    assert result["calibration"]["held_out"] == 21
    assert capsys.readouterr().out.splitlines()[-1].endswith("unfamiliar with a false-alarm rate of 5 %")
    for name in ("model.safetensors", "model-best.safetensors"):
        net = load(Path(settings.out, name))
        assert net.temperature != 1
        assert net.familiarity is not None
    path = Path(settings.out, "model.safetensors")
    assert load(path).temperature == result["calibration"]["temperature"]
    scores = load(path).familiarity.scores
    assert calibrate(path, path)["temperature"] == result["calibration"]["temperature"]  # the same shapes are held out
    assert torch.equal(load(path).familiarity.scores, scores)
    assert train(settings, resume=True)["calibration"] == result["calibration"]
    whole = train(replace(settings, out=f"{settings.out}2", data=replace(settings.data, validation=0.0)))
    assert "calibration" not in whole


def test_failed_save_keeps_the_old_files(settings):
    train(settings)
    before = {item.name: item.read_bytes() for item in Path(settings.out).iterdir() if item.is_file()}

    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before["last.ckpt"]) // 2, hard))  # as if the disk were full
    try:
        with pytest.raises(OSError, match="File too large; the files saved before are complete"):
            train(replace(settings, epochs=5), resume=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert Path(settings.out, "last.ckpt").read_bytes() == before["last.ckpt"]
    load_model(Path(settings.out, "model.safetensors"))
    assert {item.name for item in Path(settings.out).iterdir() if item.is_file()} == set(before)
    assert train(replace(settings, epochs=5), resume=True)["epochs"] == 5


def spoil_step(monkeypatch, *steps):
    """Makes the loss of these steps, counted from 0, infinite, and spoils the batch statistics with it."""
    usual = Classify.training_step

    def spoilt(self, batch, batch_idx):
        loss = usual(self, batch, batch_idx)
        if self.global_step not in steps:
            return loss
        for buffer in self.network.buffers():
            buffer.data.fill_(torch.nan if buffer.is_floating_point() else 0)
        self.totals = self.totals * torch.inf
        return loss * torch.inf

    monkeypatch.setattr(Classify, "training_step", spoilt)


def test_a_loss_that_is_not_finite_stops_the_run_and_spoils_no_file(settings, tmp_path, monkeypatch):
    train(replace(settings, out=str(tmp_path / "one"), epochs=1, optimiser=OptimiserOptions(schedule="constant")))
    settings = replace(settings, optimiser=OptimiserOptions(schedule="constant"))
    spoil_step(monkeypatch, 7)
    shapes = Batches(Run.prepare(replace(settings, out="-")).splits.train, None, False, 8, 0, lambda: 0).shapes(7, 0)
    named = ", ".join(map(str, shapes))
    with pytest.raises(
        ValueError, match=f"the loss of step 8, with the shapes {named} of the training split, is no long"
    ):
        train(settings)
    assert same(weights(settings.out), weights(tmp_path / "one"))
    assert AtomicCheckpoints().load_checkpoint(Path(settings.out, "last.ckpt"))["global_step"] == 5
    skipping = replace(settings, trainer=replace(settings.trainer, nonfinite="skip"))
    result = train(skipping, resume=True)
    assert result["skipped_steps"] == 1
    assert [row["skipped_steps"] for row in rows(settings.out)] == ["", "1", ""]
    assert all(tensor.isfinite().all() for tensor in weights(settings.out).values())


def test_a_skipped_step_leaves_no_trace(settings, tmp_path, monkeypatch):
    """A run whose last step is skipped is the run without it."""
    trainer = replace(settings.trainer, nonfinite="skip")
    settings = replace(settings, epochs=1, trainer=trainer, optimiser=OptimiserOptions(schedule="constant"))
    spoil_step(monkeypatch, 4)
    train(settings)
    monkeypatch.undo()
    stopped = replace(settings, out=str(tmp_path / "four"), trainer=replace(trainer, checkpoint_every="4 steps"))
    usual = Classify.training_step

    def die(self, batch, batch_idx):
        if self.global_step == 4:
            raise RuntimeError("killed")
        return usual(self, batch, batch_idx)

    monkeypatch.setattr(Classify, "training_step", die)
    with pytest.raises(RuntimeError, match="killed"):
        train(stopped)
    state = AtomicCheckpoints().load_checkpoint(tmp_path / "four" / "last.ckpt")["state_dict"]
    found = weights(settings.out)
    # A run of few steps is saved with estimated statistics; its checkpoint keeps the running ones.
    assert all(torch.equal(found[name], state[f"network.{name}"]) for name in found if ".running_" not in name)


def test_a_run_that_can_only_skip_stops(settings, monkeypatch):
    settings = replace(settings, epochs=9, trainer=replace(settings.trainer, nonfinite="skip"))
    spoil_step(monkeypatch, *range(100))
    with pytest.raises(ValueError, match="every step of the epoch was skipped: its loss is no longer finite: lower"):
        train(settings)
    long = replace(settings, out=f"{settings.out}2")
    monkeypatch.undo()
    spoil_step(monkeypatch, *range(8, 13), *range(17, 99))  # of 16 steps per epoch
    with pytest.raises(ValueError, match=r"no longer finite for the 20th time in a row: lower --optimiser\.rate"):
        train(replace(long, data=replace(long.data, batch=2)))
    assert rows(long.out)[0]["skipped_steps"] == "5"


def test_a_gradient_that_is_not_finite_stops_the_run(settings):
    with pytest.raises(ValueError, match=r"the (loss|gradient) of step \d+, with the shapes .* is no longer finite"):
        train(replace(settings, optimiser=OptimiserOptions("sgd", rate=1e30)))


def test_the_same_run_gives_the_same_bytes(settings, tmp_path):
    settings = replace(settings, data=replace(settings.data, validation=0.65), epochs=2)
    train(settings)
    train(replace(settings, out=str(tmp_path / "two")))
    for name in ("model.safetensors", "model-best.safetensors"):
        assert Path(settings.out, name).read_bytes() == Path(tmp_path, "two", name).read_bytes()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"])
def test_signals_save_and_stop_like_control_c(settings, tmp_path, interrupt, name):
    number, before = signal.Signals[name], signal.signal(signal.Signals[name], signal.SIG_DFL)
    try:
        train(replace(settings, out=str(tmp_path / "whole")))
        interrupt(7, number)
        with pytest.raises(Stopped, match=r"stopped in epoch 2 of 3; go on with: .* --out .*run --resume") as stop:
            train(settings)
        assert stop.value.code == 128 + number
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert AtomicCheckpoints().load_checkpoint(Path(settings.out, "last.ckpt"))["global_step"] == 7
    train(settings, resume=True)
    assert same(weights(settings.out), weights(tmp_path / "whole"))


def test_a_signal_before_the_first_step_leaves_nothing(settings, hears_sigterm):
    def prepare(settings):
        os.kill(os.getpid(), signal.SIGTERM)
        return Run.prepare(settings)

    with pytest.raises(Stopped):
        train(settings, prepare=prepare)
    assert not Path(settings.out).exists()


def test_a_signal_after_the_last_epoch(settings, monkeypatch, hears_sigterm):
    finish = runs.finish

    def stop(run, finished):
        os.kill(os.getpid(), signal.SIGTERM)
        return finish(run, finished)

    with monkeypatch.context() as context:
        context.setattr(runs, "finish", stop)
        with pytest.raises(Stopped, match="stopped after the last epoch; go on with: ") as raised:
            train(settings)
    assert raised.value.code == 143
    assert train(settings, resume=True)["finished"]


def inside_a_tensor(path: Path) -> int:
    """A place in the middle of the largest part of a checkpoint."""
    with zipfile.ZipFile(path) as archive:
        part = max(archive.infolist(), key=lambda one: one.file_size)
    name, extra = struct.unpack("<HH", path.read_bytes()[part.header_offset + 26 : part.header_offset + 30])
    return part.header_offset + 30 + name + extra + part.file_size // 2


def test_a_damaged_checkpoint_falls_back_to_the_one_before(settings, tmp_path):
    train(replace(settings, out=str(tmp_path / "whole")))
    train(settings)
    path = Path(settings.out, "last.ckpt")
    data = bytearray(path.read_bytes())
    data[inside_a_tensor(path)] ^= 1  # one bit, which torch itself would not notice
    path.write_bytes(data)
    with pytest.warns(
        UserWarning, match=r"last\.ckpt: damaged checkpoint \(.*\), kept as damaged\.ckpt; .*previous\.ckpt"
    ):
        train(settings, resume=True)
    assert same(weights(settings.out), weights(tmp_path / "whole"))
    assert Path(settings.out, "damaged.ckpt").read_bytes() == data
    path.write_bytes(b"")
    Path(settings.out, "previous.ckpt").write_bytes(b"half")
    with pytest.raises(
        ValueError, match=r"last\.ckpt: damaged checkpoint \(.*\); so is previous\.ckpt; expected one of"
    ):
        train(settings, resume=True)


def test_a_finished_run_without_its_checkpoints_does_not_start_again(settings):
    result = train(settings)
    for name in ("last.ckpt", "previous.ckpt"):
        Path(settings.out, name).unlink()
    before = weights(settings.out)
    assert train(settings, resume=True) == result
    assert same(before, weights(settings.out))
    with pytest.raises(
        ValueError, match=r"run: no checkpoint; expected last\.ckpt or previous\.ckpt, because the run has"
    ):
        train(replace(settings, epochs=5), resume=True)
    Path(settings.out, "result.json").unlink()
    with pytest.raises(ValueError, match=r"run: no checkpoint; expected last\.ckpt"):
        train(settings, resume=True)
    assert same(before, weights(settings.out))


def test_a_run_does_not_go_on_with_other_data(settings, pack_folder, make_pack):
    train(replace(settings, epochs=1))
    kept = (pack_folder / "train.npz").read_bytes()
    write_pack(make_pack(12, 0), pack_folder / "train.npz")
    with pytest.raises(
        ValueError,
        match=r"last\.ckpt: .*on other data: the training split has 36 shapes instead of 33; expected",
    ):
        train(settings, resume=True)
    (pack_folder / "train.npz").write_bytes(kept)
    write_pack(make_pack(5, 2), pack_folder / "test.npz")
    with pytest.raises(ValueError, match="on other data: the test split has other points and normals; expected"):
        train(settings, resume=True)


def test_one_run_per_folder(settings, tmp_path):
    """A folder in use is refused, for a new run and for --resume, and left as it is."""

    def prepare(settings):
        for resume in (False, True):
            with pytest.raises(
                ValueError, match=rf"^out: expected a place that no other .*run, which process {os.getpid()} "
            ):
                train(settings, resume)
        return Run.prepare(settings)

    train(replace(settings, epochs=1), prepare=prepare)
    assert not Path(settings.out, ".lock").exists()


def test_what_killed_writes_left_is_no_obstacle(settings):
    folder = Path(settings.out)
    folder.mkdir()
    (folder / ".config.yaml.0123abcd.tmp").write_text("data: ")
    (folder / ".lock").write_text("{}")
    train(replace(settings, epochs=1))
    (folder / ".last.ckpt.0123abcd.tmp").write_text("half")
    train(settings, resume=True)
    assert not [item for item in folder.iterdir() if item.name.startswith(".")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attention": "dens"}, "attention: expected one of dense, estimated, induced"),
        ({"model": "basik"}, "model: expected one of basic, .*got 'basik'; did you mean 'basic'"),
        ({"options": {"width": 3}}, "options.width: expected an option of the network .basic. .*, got 3"),
        ({"options": {"dim": 10}}, "heads: expected a divisor of dim=10"),
        (
            {"trainer": TrainerOptions("gpu")},
            "trainer: expected options .*, got accelerator gpu, .*gpu",
        ),
        ({"trainer": TrainerOptions("cpu", precision="17")}, "trainer: expected options .*, got .*precision 17 "),
    ],
)
def test_errors_come_before_anything_is_written(settings, change, message):
    if "gpu" in message and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(ValueError, match=message):
        train(replace(settings, **change))
    assert not Path(settings.out).exists()


def test_folders_that_cannot_be_used(settings, tmp_path):
    with pytest.raises(ValueError, match=r"no run to resume; expected a config\.yaml"):
        train(settings, resume=True)
    Path(settings.out).mkdir()
    Path(settings.out, "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="which exists already; choose another one, or --resume"):
        train(settings)
    Path(settings.out, "config.yaml").write_text("data: 3\n")
    with pytest.raises(ValueError, match="not the configuration of a run"):
        train(settings, resume=True)


def test_a_run_goes_on_only_with_its_own_options_and_checkpoint(settings, tmp_path):
    settings = replace(settings, epochs=1)
    train(settings)
    with pytest.raises(ValueError, match=r"seed: expected 0, as when the run in .* was started, got 4"):
        train(replace(settings, seed=4), resume=True)
    with pytest.raises(ValueError, match=r"trainer.devices: expected 1, as when the run in .* was started, got 2"):
        train(replace(settings, trainer=TrainerOptions("cpu", devices=2)), resume=True)
    other = replace(settings, out=str(tmp_path / "wide"), options={**SMALL, "dim": 32})
    train(other)
    checkpoint = Path(settings.out, "last.ckpt")
    checkpoint.write_bytes(Path(other.out, "last.ckpt").read_bytes())
    with pytest.raises(ValueError, match=r"last.ckpt: checkpoint of another network"):
        train(settings, resume=True)
    checkpoint.write_bytes(b"PK\x03\x04 half")
    with pytest.raises(ValueError, match=r"last.ckpt: damaged checkpoint"):
        train(settings, resume=True)


class Foreign:
    def __reduce__(self):
        return os.mkdir, ("ran",)


def test_a_foreign_checkpoint_cannot_run_code(settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"state_dict": Foreign()}, tmp_path / "bad.ckpt")
    with pytest.raises(Exception, match="Weights only load failed"):
        AtomicCheckpoints().load_checkpoint(tmp_path / "bad.ckpt")
    assert not Path("ran").exists()


def test_the_command_of_a_run_names_what_is_not_usual(settings):
    command = replace(settings, attention="dense", recipe="basic-none").command()
    assert command.startswith(f"sampled-transformer train --data {settings.data.source} --data.points 24 ")
    assert "--attention dense" in command
    assert "recipe" not in command
    assert "optimiser" not in command


def test_config_is_yaml_that_people_can_read(settings):
    train(replace(settings, epochs=1))
    tree = yaml.safe_load(Path(settings.out, "config.yaml").read_text())
    assert tree["data"]["points"] == 24
    assert tree["options"] == SMALL


@pytest.mark.parametrize(
    ("name", "value", "who"),
    [("classes", 5, "the data"), ("normals", False, "--data.normals"), ("attention", "dense", "--attention")],
)
def test_options_that_others_decide_are_refused(settings, name, value, who):
    with pytest.raises(ValueError, match=rf"options.{name}: expected none, because {who} decides it, got {value!r}"):
        train(replace(settings, options={**SMALL, name: value}))
    assert not Path(settings.out).exists()


def test_answers_that_are_not_finite_end_a_run(settings):
    wild = replace(settings, optimiser=OptimiserOptions(rate=1e30, schedule="constant"), epochs=1)
    with pytest.raises(ValueError, match="no longer finite"):
        train(replace(wild, data=replace(wild.data, batch=1000)))  # one step: the loss before it is finite
