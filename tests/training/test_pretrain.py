"""Pre-trainings really made, on shapes small enough for seconds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from helpers.runs import rows, same, weights

from sampled_transformer.data import write_pack
from sampled_transformer.training.pretrain import PretrainRun, pretrain
from sampled_transformer.training.run import Run, train
from sampled_transformer.training.run_folder import read_settings
from sampled_transformer.training.settings import (
    PRETRAINING,
    DataOptions,
    OptimiserOptions,
    PretrainSettings,
    Settings,
    TrainerOptions,
)
from sampled_transformer.weights import load_model

SMALL = {"dim": 16, "heads": 2, "hidden": 16, "depth": 2, "embedding": 8, "groups": 8, "group_size": 8}
CPU = TrainerOptions("cpu")


@pytest.fixture
def settings(pack_folder, tmp_path) -> PretrainSettings:
    (pack_folder / "test.npz").unlink()  # pre-training must not need it
    data = DataOptions(str(pack_folder), points=32, batch=8)
    quick = replace(PRETRAINING, rate=3e-3, warmup=1)
    return PretrainSettings(data, str(tmp_path / "run"), options=SMALL, epochs=3, optimiser=quick, trainer=CPU)


def test_a_pre_training_learns_probes_and_leaves_its_folder(settings):
    settings = replace(settings, epochs=5, probe_every=2)
    result = pretrain(settings)
    folder = Path(settings.out)
    files = {
        "config.yaml",
        "metrics.csv",
        "last.ckpt",
        "previous.ckpt",
        "model.safetensors",
        "result.json",
        "tensorboard",
    }
    assert {item.name for item in folder.iterdir()} == files
    assert json.loads((folder / "result.json").read_text()) == result
    table = rows(folder)
    assert float(table[-1]["train_loss"]) < 0.7 * float(table[0]["train_loss"])
    assert [bool(row["probe_accuracy"]) for row in table] == [False, True, False, True, True]
    assert float(table[-1]["probe_accuracy"]) > 0.6
    assert set(result["figures"]) == {"last epoch"}
    assert result["command"].startswith("sampled-transformer pretrain --data ")
    assert "--model" not in result["command"]
    assert read_settings(folder / "config.yaml", PretrainSettings) == settings
    _, description = load_model(folder / "model.safetensors")
    assert description.model == "mae"
    assert description.options == {"attention": "sampled", "normals": False, **SMALL}
    assert description.notes["data"]["preset"] == "pretrain"


def test_shapes_without_labels_are_enough(settings, make_pack):
    write_pack(replace(make_pack(6, 0), labels=None, classes=()), Path(settings.data.source, "train.npz"))
    result = pretrain(replace(settings, epochs=1))
    assert "probe_accuracy" not in result["figures"]["last epoch"]


def test_the_probe_changes_nothing_of_the_training(settings, tmp_path):
    settings = replace(settings, epochs=2)
    pretrain(replace(settings, probe_every=1))
    pretrain(replace(settings, probe_every=0, out=str(tmp_path / "two")))
    assert same(weights(settings.out), weights(tmp_path / "two"))
    assert "probe_accuracy" not in rows(tmp_path / "two")[-1]


@pytest.mark.parametrize("step", [2, 5])  # five steps per epoch
def test_interrupted_and_resumed_is_the_same_run(settings, tmp_path, interrupt, step):
    settings = replace(settings, epochs=2)
    pretrain(replace(settings, out=str(tmp_path / "whole")))
    interrupt(step)
    with pytest.raises(KeyboardInterrupt, match=r"go on with: sampled-transformer pretrain --out .*run --resume"):
        pretrain(settings)
    pretrain(settings, resume=True)
    assert same(weights(settings.out), weights(tmp_path / "whole"))
    for one, two in zip(rows(settings.out), rows(tmp_path / "whole"), strict=True):
        assert {**one, "seconds": ""} == {**two, "seconds": ""}


def test_fine_tuning_begins_with_the_encoder(settings, make_pack, tmp_path, capsys):
    pretrain(replace(settings, epochs=1))
    write_pack(make_pack(5, 1), Path(settings.data.source, "test.npz"))
    fine = Settings(
        settings.data,
        str(tmp_path / "fine"),
        "mae-classifier",
        "dense",
        SMALL,
        1,
        trainer=CPU,
        init=settings.out,
        optimiser=OptimiserOptions(rate=1e-9),
    )
    run = Run.prepare(replace(fine, out=str(tmp_path / "none")))
    before = weights(settings.out)
    own = run.task.network.state_dict()
    loaded = [name for name in before if name.startswith("encoder.")]
    assert list(run.loaded.loaded) == loaded
    assert all(torch.equal(own[name], before[name]) for name in loaded)
    assert set(run.loaded.fresh) == own.keys() - set(loaded)
    assert run.splits.view.normals is False  # the pack has some, the network takes none
    train(fine)
    said = capsys.readouterr().out.splitlines()
    line = next(line for line in said if "tensors loaded" in line)
    parts = "encoder.embedding (19), encoder.position (4), encoder.stack (22); new: head (16); not used: mask_token (1)"
    assert f"45 of 61 tensors loaded: {parts}" in line
    assert line.endswith("(trained with sampled attention)")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": 32}, "dim 32, got .*model.safetensors with 16"),
        ({"heads": 4}, "heads 4, got .*model.safetensors with 2"),
        ({"depth": 3}, "depth 3, got .*model.safetensors with 2"),
        ({"activation": "gelu"}, "activation gelu, got .*model.safetensors with relu"),
        ({"norm": False}, "norm False, got .*model.safetensors with True"),
    ],
)
def test_weights_of_another_encoder_are_refused(settings, make_pack, tmp_path, options, message):
    run = PretrainRun.prepare(settings)
    Path(settings.out).mkdir()
    run.record.save("model.safetensors", {})
    write_pack(make_pack(5, 1), Path(settings.data.source, "test.npz"))
    fine = Settings(settings.data, str(tmp_path / "fine"), "mae-classifier", options={**SMALL, **options}, trainer=CPU)
    with pytest.raises(ValueError, match=f"init: expected weights of a network with options.{message}"):
        train(replace(fine, init=settings.out))
    assert not Path(fine.out).exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "basic"}, "model: expected 'mae'"),
        ({"attention": "dens"}, "attention: expected one of dense"),
        (
            {"options": {"mask_ratio": 0.999, "groups": 64, "colours": 3}},
            "options.colours: expected an option of the network .mae. ",
        ),
        ({"options": {"attention": "dense"}}, "options.attention: expected none, because --attention decides it"),
        ({"options": {"mask_ratio": 1}}, "mask_ratio: expected more than 0 and less than 1"),
        ({"options": {"groups": 33}}, "data.points: expected at least 33, for 33 groups of 32, got 32"),
        ({"options": {"groups": 4, "group_size": 40}}, "data.points: expected at least 40, for 4 groups of 40, got 32"),
    ],
)
def test_errors_come_before_anything_is_written(settings, change, message):
    with pytest.raises(ValueError, match=message):
        pretrain(replace(settings, **change))
    assert not Path(settings.out).exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": 100}, "data.points: expected at most 48"),
        ({"normals": True}, "data.normals: expected false"),
        ({"preset": "odd"}, "data.preset: expected one of"),
    ],
)
def test_data_that_cannot_be_used(settings, change, message):
    with pytest.raises(ValueError, match=message):
        pretrain(replace(settings, data=replace(settings.data, **change)))


def test_settings_are_checked(settings):
    with pytest.raises(ValueError, match="probe_every: expected 0 or more"):
        replace(settings, probe_every=-1)
    with pytest.raises(ValueError, match=r"data\.validation: expected 0"):
        replace(settings, data=replace(settings.data, validation=0.1))
    with pytest.raises(ValueError, match="model: expected a classifier, got 'mae', which the command `pretrain`"):
        train(Settings(settings.data, settings.out, "mae"))


@pytest.mark.parametrize("rate", [1e8, 1e30])
def test_a_training_that_diverges_is_told_in_one_line(settings, rate):
    with pytest.raises(ValueError, match=r"no longer finite: lower --optimiser\.rate|expected finite features"):
        pretrain(replace(settings, optimiser=replace(settings.optimiser, rate=rate)))
