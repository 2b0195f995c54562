from __future__ import annotations

import json
import os
import shlex
import signal
import statistics
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from helpers.runs import same

from sampled_transformer import create_model
from sampled_transformer.cli import main
from sampled_transformer.data import write_pack
from sampled_transformer.support.signals import Stopped
from sampled_transformer.training import fewshot
from sampled_transformer.training.batch_statistics import estimate_statistics
from sampled_transformer.training.classify import Classify
from sampled_transformer.training.fewshot import FewShot, classifier_options, few_shot
from sampled_transformer.training.loading import Splits
from sampled_transformer.training.run import RunData
from sampled_transformer.training.run_folder import claimed
from sampled_transformer.training.settings import (
    FINE_TUNING,
    DataOptions,
    FewShotSettings,
    OptimiserOptions,
    TrainerOptions,
)
from sampled_transformer.weights import Description, WeightsError, add_notes, load_model, save_model

SMALL = {"dim": 16, "heads": 2, "hidden": 16, "depth": 2, "embedding": 8, "groups": 8, "group_size": 8}


@pytest.fixture
def settings(tmp_path, pack_folder, make_pack) -> FewShotSettings:
    write_pack(make_pack(8, 1), pack_folder / "test.npz")
    torch.manual_seed(5)
    options = {"attention": "sampled", "normals": False, "mask_ratio": 0.5, "decoder_depth": 2, **SMALL}
    save_model(create_model("mae", **options), tmp_path / "mae.safetensors", Description("mae", options))
    return FewShotSettings(
        DataOptions(str(pack_folder), points=32, batch=8, preset="bricks"),
        str(tmp_path / "out"),
        epochs=12,
        optimiser=replace(FINE_TUNING, rate=5e-3, warmup=1),
        trainer=TrainerOptions("cpu"),
        init=str(tmp_path / "mae.safetensors"),
        way=2,
        shot=6,
        folds=3,
        queries=5,
        samples=2,
    )


def test_folds_are_measured_and_summed_up(settings):
    seen = []
    result = few_shot(settings, report=lambda one: seen.append(one["fold"]))
    assert seen == [0, 1, 2]
    folder = Path(settings.out)
    files = {"config.yaml", "fold-0.json", "fold-1.json", "fold-2.json", "result.json"}
    assert {item.name for item in folder.iterdir()} == files
    folds = [json.loads((folder / f"fold-{number}.json").read_text()) for number in range(3)]
    values = [one["accuracy"] for one in folds]
    assert result["figures"]["accuracy"]["mean"] == pytest.approx(sum(values) / 3)
    assert result["figures"]["accuracy"]["deviation"] == pytest.approx(statistics.pstdev(values))
    assert result["figures"]["accuracy"]["mean"] > 0.75  # needles, discs and balls are easily told apart
    assert set(result["figures"]) == {"accuracy", "averaged_accuracy"}
    assert all(value * 10 == pytest.approx(round(value * 10)) for value in values)  # 2 ways, 5 queries
    assert json.loads((folder / "result.json").read_text()) == result
    assert set(result["versions"]) == {"sampled_transformer", "torch"}
    assert result["command"].startswith(f"sampled-transformer fewshot {settings.init} --data ")


def test_a_few_steps_leave_statistics_that_fit_the_weights(settings):
    shared = FewShot(replace(settings, epochs=2))
    network, task = shared.network(settings.way, 0), shared.fold(0)
    shared.fine_tune(network, task, 0)
    found = {name: value.clone() for name, value in network.state_dict().items()}
    batches = RunData(Splits(task.train, task.test, None, shared.view), settings.data.batch, 0).sample_batches()
    before = estimate_statistics(network, batches)
    assert same(network.state_dict(), found)
    assert len(before) > 0


def test_stopped_folds_go_on_and_give_the_same(settings, tmp_path, monkeypatch):
    settings = replace(settings, epochs=2)
    whole = few_shot(replace(settings, out=str(tmp_path / "whole")))
    measure = FewShot.measure

    def stop(self, number):
        if number == 1:
            raise KeyboardInterrupt
        return measure(self, number)

    with monkeypatch.context() as context:
        context.setattr(FewShot, "measure", stop)
        with pytest.raises(
            KeyboardInterrupt,
            match=r"stopped in fold 2 of 3; go on with: sampled-transformer fewshot .*mae.safetensors --out .*--resume",
        ):
            few_shot(settings)
    first = Path(settings.out, "fold-0.json").read_text()
    result = few_shot(settings, resume=True)
    assert Path(settings.out, "fold-0.json").read_text() == first
    plain = [[{**one, "seconds": 0} for one in answer["folds"]] for answer in (whole, result)]
    assert plain[0] == plain[1]
    more = few_shot(replace(settings, folds=4), resume=True)
    assert len(more["folds"]) == 4
    with pytest.raises(ValueError, match="exists already"):
        few_shot(settings)
    with pytest.raises(ValueError, match=r"shot: expected 6, as when the run in .* was started, got 5"):
        few_shot(replace(settings, shot=5), resume=True)


def test_a_frozen_encoder_is_read_as_it_is(settings, tmp_path, monkeypatch):
    seen = []
    features_of = fewshot.features_of
    monkeypatch.setattr(
        fewshot, "features_of", lambda network, *a, **k: seen.append(network) or features_of(network, *a, **k)
    )
    frozen = replace(settings, frozen=True)
    result = few_shot(frozen)
    stored = fewshot_state(settings)
    for network in seen:
        state = network.state_dict()
        assert all(torch.equal(state[name], value) for name, value in stored.items() if name.startswith("encoder."))
    assert result["figures"]["accuracy"]["mean"] > 0.75
    assert set(result["figures"]) == {"accuracy", "averaged_accuracy"}
    assert result["frozen"]
    assert result["epochs"] == 0
    assert "--frozen" in shlex.split(result["command"])
    again = few_shot(replace(frozen, epochs=1, out=str(tmp_path / "again")))  # nothing is trained
    assert again["figures"] == result["figures"]


def test_the_encoder_comes_from_the_file_unless_from_scratch(settings):
    shared = FewShot(settings)
    stored = create_model("mae", **{**SMALL, "mask_ratio": 0.5, "decoder_depth": 2})
    stored.load_state_dict(fewshot_state(settings))
    own = shared.network(2, 0).state_dict()
    encoder = {name: value for name, value in stored.state_dict().items() if name.startswith("encoder.")}
    assert all(torch.equal(own[name], value) for name, value in encoder.items())
    fresh = FewShot(replace(settings, scratch=True)).network(2, 0).state_dict()
    assert not torch.equal(fresh["encoder.position.0.weight"], encoder["encoder.position.0.weight"])
    one, two = (shared.network(2, number).state_dict()["head.0.weight"] for number in (0, 1))
    assert not torch.equal(one, two)


def fewshot_state(settings: FewShotSettings) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    return load_file(settings.init)


def test_options_of_the_classifier(settings):
    described = Description("mae", {"attention": "dense", "dim": 8, "mask_ratio": 0.5, "decoder_depth": 2})
    assert classifier_options(described, "x") == {"attention": "dense", "dim": 8}
    assert classifier_options(Description("mae-classifier", {"classes": 3}), "x") == {"attention": "sampled"}
    with pytest.raises(ValueError, match="x: expected a 'mae' or 'mae-classifier', got a 'basic'"):
        classifier_options(Description("basic", {}), "x")
    options = {"attention": "sampled", "attention_options": {"cycles": "per-head"}, **SMALL}  # which dense has not
    save_model(create_model("mae", **options), settings.init, Description("mae", options))
    network = FewShot(replace(settings, attention="dense", options={"pooling": "cls-max"})).network(2, 0)
    assert network.encoder.attention == "dense"
    assert network.pooling == "cls-max"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shot": 12}, "way: expected at most 0, got 2, because 0 of 3 classes have 12 shapes for training and 5"),
        ({"queries": 9}, "way: expected at most 0, got 2, because 0 of 3 classes have 6 shapes for training and 9"),
        ({"way": 4}, "way: expected at most 3, got 4, because 3 of 3 classes"),
        ({"options": {"groups": 40}}, "data.points: expected at least 40, for 40 groups of 8, got 32"),
        ({"options": {"heads": 4}}, "options.heads 4, got .* with 2"),
        ({"options": {"classes": 7}}, "options.classes: expected none, because the data decides it, got 7"),
        ({"init": "nowhere"}, "nowhere: no such file, run folder or shipped weights"),
        ({"trainer": TrainerOptions("cpu", precision="17")}, "trainer: .*17"),
    ],
)
def test_errors_come_before_anything_is_written(settings, change, message):
    with pytest.raises(ValueError, match=message):
        few_shot(replace(settings, **change))
    assert not Path(settings.out).exists()


@pytest.mark.parametrize(("name", "value"), [("way", 1), ("shot", 0), ("folds", 0), ("queries", 0), ("samples", 0)])
def test_numbers_are_checked(settings, name, value):
    with pytest.raises(ValueError, match=f"{name}: expected at least"):
        replace(settings, **{name: value})
    with pytest.raises(ValueError, match=r"trainer\.devices, trainer\.num_nodes: expected 1"):
        replace(settings, trainer=TrainerOptions("cpu", devices=2))
    assert fewshot.load_both(settings.data, 1024)[2].normals is False


def test_the_command_of_a_run_from_scratch_can_be_run(settings):
    words = shlex.split(replace(settings, scratch=True).command())
    assert "--scratch" in words
    with pytest.raises(SystemExit) as stopped:
        main([*words[1:], "--print_config"])
    assert stopped.value.code == 0


def test_a_fold_that_diverges_is_named_with_its_step_and_shapes(settings):
    spoilt = replace(settings, optimiser=OptimiserOptions("sgd", rate=1e30, warmup=0))
    with pytest.raises(
        ValueError, match=r"^fold 1 of 3: the (loss|gradient) of step \d+, with the shapes [\d, ]+ of the"
    ):
        few_shot(spoilt)


def test_folds_of_other_weights_are_not_mixed(settings, tmp_path):
    few_shot(replace(settings, folds=1, epochs=1))
    path = tmp_path / "mae.safetensors"
    network, description = load_model(path)
    torch.nn.init.zeros_(network.mask_token)
    save_model(network, path, description)
    with pytest.raises(WeightsError, match="measured with weights that"):
        few_shot(replace(settings, folds=2, epochs=1), resume=True)


def test_clouds_have_the_points_of_the_weights(settings, tmp_path):
    path = tmp_path / "mae.safetensors"
    network, description = load_model(path)
    save_model(network, path, replace(description, notes={"data": {"preset": "bricks", "points": 24}}))
    assert FewShot(replace(settings, data=replace(settings.data, points=None))).view.points == 24


def test_folds_of_other_data_are_not_mixed(settings, pack_folder, make_pack):
    few_shot(replace(settings, folds=1, epochs=1))
    write_pack(make_pack(8, 7), pack_folder / "test.npz")
    with pytest.raises(ValueError, match=r"fold-0\.json: measured on shapes that .*pack no longer holds; expected"):
        few_shot(replace(settings, folds=2, epochs=1), resume=True)


def test_further_notes_do_not_make_other_weights(settings):
    few_shot(replace(settings, folds=1, epochs=1))
    add_notes(settings.init, {"card": "more words"})
    assert len(few_shot(replace(settings, folds=2, epochs=1), resume=True)["folds"]) == 2


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGUSR2"])
def test_signals_stop_after_the_folds_that_are_done(settings, monkeypatch, name):
    number = signal.Signals[name]
    before = signal.signal(number, signal.SIG_DFL)
    step = Classify.training_step

    def stop(self, batch, batch_idx):
        if Path(settings.out, "fold-0.json").is_file():
            os.kill(os.getpid(), number)
        return step(self, batch, batch_idx)

    monkeypatch.setattr(Classify, "training_step", stop)
    try:
        with pytest.raises(Stopped, match="stopped in fold 2 of 3; go on with: ") as raised:
            few_shot(replace(settings, epochs=1))
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert raised.value.code == 128 + number
    assert sorted(item.name for item in Path(settings.out).iterdir()) == ["config.yaml", "fold-0.json"]


def test_a_folder_in_use_is_refused(settings):
    with claimed(Path(settings.out)), pytest.raises(ValueError, match=r"^out: expected a place that no other"):
        few_shot(settings)
