from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from helpers.trained import CLASSIFIERS, KINDS, save_small

from sampled_transformer import create_model, list_models, models
from sampled_transformer.weights import WeightsError, list_pretrained, load_model


def same(network: torch.nn.Module, other: torch.nn.Module, but: str | None = None) -> bool:
    """Whether two networks share their tensors, but for those of one part, which must differ."""
    own, theirs = network.state_dict(), other.state_dict()
    rest = [name for name in own if but is None or not name.startswith(but)]
    return all(torch.equal(own[name], theirs[name]) for name in rest) and (but is None or len(rest) < len(own))


@pytest.mark.parametrize("name", list_pretrained())
def test_every_name_builds_its_network(name: str) -> None:
    trained, description = load_model(name)
    for network in (create_model(description.model, pretrained=name), create_model(pretrained=name)):
        assert type(network) is type(trained)
        assert same(network, trained)
        assert network.training


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_network(kind: str, tmp_path: Path) -> None:
    path = save_small(tmp_path / "model.safetensors", kind)
    assert same(create_model(KINDS[kind][0], pretrained=path), load_model(path)[0])
    assert same(create_model(KINDS[kind][0], pretrained=str(tmp_path)), load_model(path)[0])  # a run folder


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_other_classes_get_a_new_head(kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = save_small(tmp_path / "w.safetensors", kind, classes=())
    trained, _ = load_model(path)
    with caplog.at_level(logging.INFO):
        network = create_model(KINDS[kind][0], pretrained=path, classes=7)
    assert same(network, trained, but="head.")
    assert [*network.head.state_dict().values()][-1].shape == (7,)
    assert "tensors loaded" in caplog.text
    assert "new: head" in caplog.text
    assert same(create_model(KINDS[kind][0], pretrained=path, classes=3), trained)


def test_a_classifier_takes_the_encoder_of_an_autoencoder() -> None:
    autoencoder, _ = load_model("modelnet40-mae")
    network = create_model("mae-classifier", pretrained="modelnet40-mae", classes=5)
    assert same(network.encoder, autoencoder.encoder)
    assert network.eval()(torch.rand(2, 128, 3)).shape == (2, 5)


def test_options_and_mechanisms_may_change() -> None:
    network = create_model("basic", pretrained="modelnet40", attention="dense", dropout=0.3)
    assert type(network.blocks[0].attention).__name__ == "DenseAttention"
    assert network.blocks[0].dropout.p == 0.3
    assert same(network, load_model("modelnet40")[0])


def test_without_weights_it_is_that_of_the_models() -> None:
    torch.manual_seed(0)
    network = create_model("basic", classes=3, dim=16)
    torch.manual_seed(0)
    assert same(network, models.create_model("basic", classes=3, dim=16))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"name": "modelnet40"},
            r"got the weights 'modelnet40': load\(.modelnet40.\) or create_model\(.basic., pretrained=.modelnet40.\)",
        ),
        ({}, f"model: expected one of {', '.join(list_models())}, got None"),
        ({"name": "basik", "classes": 3}, "model: expected one of .*, got 'basik'; did you mean 'basic'"),
        ({"name": "basik", "pretrained": "bricks"}, "model: expected one of .*, got 'basik'; did you mean 'basic'"),
        ({"name": "basic"}, "classes: expected a value, which the network 'basic' needs, got none"),
        (
            {"name": "basic", "pretrained": True},
            r"pretrained: expected a name \(brick-parts, .*\), a run folder.*got True",
        ),
        ({"name": "basic", "pretrained": "brick"}, "brick: no such file, .*; did you mean 'bricks'"),
        (
            {"name": "hierarchical", "pretrained": "bricks"},
            "pretrained: expected weights of the model 'hierarchical', got bricks, which holds a 'basic'",
        ),
        ({"pretrained": "bricks", "dim": 32}, r"pretrained: expected weights with position_mlp.* of shape \(32, 64\)"),
        (
            {"pretrained": "bricks", "normals": False},
            "pretrained: expected weights without normal_mlp.*, got bricks",
        ),
        ({"pretrained": "bricks", "attention": "induced"}, "pretrained: expected weights with .*inducing, got bricks"),
        ({"pretrained": "bricks", "colour": 3}, "expected an option of the network 'basic' .*, got 'colour'"),
        ({"name": "mae-classifier", "pretrained": "modelnet40-mae"}, "classes: expected a value"),
        (
            {"name": "mae-classifier", "pretrained": "modelnet40-mae", "classes": 3, "depth": 2},
            "pretrained: expected weights of a network with depth 2, got modelnet40-mae with 6",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        create_model(**arguments)
    assert "\n" not in str(error.value)


def test_the_models_know_no_trained_weights() -> None:
    with pytest.raises(ValueError, match="pretrained: expected none here, got weights; sampled_transformer"):
        models.create_model("basic", pretrained="bricks")


def test_a_hub_repository_goes_through_the_same_door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("huggingface_hub")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(WeightsError, match=r"owner/name: no such file, .* nor found on the Hugging Face Hub"):
        create_model("basic", pretrained="owner/name")
