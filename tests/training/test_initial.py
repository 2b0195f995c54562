"""Weights to begin with: what is loaded, what stays new, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from sampled_transformer.cli import main
from sampled_transformer.models import create_model
from sampled_transformer.training.initial import attention_of, load_initial, network_options
from sampled_transformer.weights import Description, WeightsError, save_model

OPTIONS = {"dim": 16, "heads": 4, "hidden": 16, "embedding": 8}


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    options = {"classes": 2, "attention": "dense", **OPTIONS}
    save_model(
        create_model("basic", **options), tmp_path / "old.safetensors", Description("basic", options, ("a", "b"))
    )
    return tmp_path / "old.safetensors"


def test_everything_where_the_classes_are_the_same(stored: Path) -> None:
    network = create_model("basic", classes=2, attention="sampled", **OPTIONS)  # mechanisms share their weights
    loaded = load_initial(network, "basic", ("a", "b"), stored)
    assert loaded.fresh == ()
    assert set(loaded.loaded) == set(network.state_dict())
    other = create_model("basic", classes=2, attention="sampled", **OPTIONS)
    load_initial(other, "basic", ("a", "b"), stored)
    for name, tensor in network.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name])


@pytest.mark.parametrize("classes", [("a", "c"), ("a", "b", "c")])
def test_the_head_stays_new_where_they_differ(stored: Path, classes: tuple[str, ...]) -> None:
    network = create_model("basic", classes=len(classes), attention="dense", **OPTIONS)
    before = network.head.weight.clone()
    loaded = load_initial(network, "basic", classes, stored)
    assert loaded.fresh == ("head.weight", "head.bias")
    assert str(loaded).endswith("tensors loaded; new: head.weight, head.bias")
    assert torch.equal(network.head.weight, before)


def test_another_network_is_refused(stored: Path) -> None:
    wider = create_model("basic", classes=2, attention="dense", **{**OPTIONS, "hidden": 32})
    before = {name: tensor.clone() for name, tensor in wider.state_dict().items()}
    with pytest.raises(WeightsError, match=r"feed_forward.expand.weight of shape \(32, 16\), got .* with \(16, 16\)"):
        load_initial(wider, "basic", ("a", "b"), stored)
    assert all(torch.equal(tensor, before[name]) for name, tensor in wider.state_dict().items())
    with pytest.raises(WeightsError, match=r"init: expected weights without blocks\..*, got .* with it"):
        load_initial(create_model("basic", classes=2, attention="none", **OPTIONS), "basic", ("a", "b"), stored)


def test_the_command_begins_with_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["--options.dim", "8", "--options.hidden", "8", "--data.points", "8", "--epochs", "1", "--data", "bricks"]
    assert main(["train", *small, "--out", str(tmp_path / "one")]) == 0
    first = float(capsys.readouterr().out.split("loss ")[1].split(",")[0])
    assert main(["train", *small, "--out", str(tmp_path / "two"), "--init", str(tmp_path / "one")]) == 0
    shown = capsys.readouterr().out
    assert "tensors loaded\n" in shown
    assert float(shown.split("loss ")[1].split(",")[0]) < first
    assert main(["train", *small, "--out", str(tmp_path / "three"), "--init", "nowhere"]) == 2
    assert "nowhere: no such file, run folder or shipped weights" in capsys.readouterr().err
    assert not (tmp_path / "three").exists()


def test_options_of_the_weights_but_for_what_others_decide(tmp_path: Path) -> None:
    options = {
        "attention": "sampled",
        "normals": False,
        "attention_options": {"rounds": 2},
        "mask_ratio": 0.5,
        **OPTIONS,
    }
    small = {"depth": 1, "decoder_depth": 1, "groups": 8, "group_size": 4}
    path = tmp_path / "mae.safetensors"
    save_model(create_model("mae", **options, **small), path, Description("mae", {**options, **small}))
    encoder = {**OPTIONS, "depth": 1, "groups": 8, "group_size": 4}
    assert network_options("mae-classifier", "dense", {}, path) == encoder
    assert network_options("mae-classifier", "sampled", {}, path) == {**encoder, "attention_options": {"rounds": 2}}
    assert network_options("mae", "dense", {}, path) == {**encoder, "decoder_depth": 1, "mask_ratio": 0.5}
    assert network_options("basic", "sampled", {"depth": 3}, path) == {"depth": 3}
    given = {"groups": 4, "attention_options": {"cycles": "per-head"}}
    expected = {**encoder, "groups": 4, "attention_options": {"rounds": 2, "cycles": "per-head"}}
    assert network_options("mae-classifier", "sampled", given, path) == expected
    expected["attention_options"] = {"cycles": "per-head"}  # of the other mechanism, which has no rounds
    assert network_options("mae-classifier", "dense", given, path) == expected
    wide = {"dim": OPTIONS["dim"] + 1}  # which the heads of the weights do not divide
    with pytest.raises(
        WeightsError,
        match=rf"expected weights of a network with options\.dim {wide['dim']}, got .*mae",
    ):
        network_options("mae-classifier", "sampled", wide, path)


def test_the_mechanism_of_the_weights(tmp_path: Path) -> None:
    path = tmp_path / "dense.safetensors"
    options = {"attention": "dense", "normals": False, **OPTIONS}
    save_model(create_model("mae", **options), path, Description("mae", options))
    assert attention_of(str(path)) == "dense"
    assert attention_of(None) == "sampled"
