"""What holds for every network by name."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import torch
from helpers.trained import KINDS, POINTS, save_small

from sampled_transformer import create_model, list_models
from sampled_transformer.models import REGISTRY, WITHOUT_NORMALS
from sampled_transformer.weights import load_model

every = pytest.mark.parametrize("name", list_models())


def build(name: str, **options: object) -> torch.nn.Module:
    if "classes" in inspect.signature(REGISTRY[name]).parameters:
        options = {"classes": 3, **options}
    with torch.device("meta"):
        return create_model(name, **options)


@every
def test_an_unknown_option_is_named_with_a_guess(name: str) -> None:
    assert isinstance(build(name), REGISTRY[name])
    for option in inspect.signature(REGISTRY[name]).parameters:
        message = f"expected an option of the network '{name}' .*got '{option}x'; did you mean '{option}'"
        with pytest.raises(ValueError, match=message):
            build(name, **{f"{option}x": 3})


def test_an_option_like_no_other_has_no_guess() -> None:
    with pytest.raises(ValueError, match=r"expected an option of the network 'basic' .*got 'zzz'$"):
        create_model("basic", classes=4, zzz=3)


def test_an_unknown_name_comes_with_a_guess() -> None:
    with pytest.raises(ValueError, match="did you mean 'basic'"):
        create_model("basik", classes=3)


@every
def test_docstrings_have_a_formula_and_a_link(name: str) -> None:
    classes = [cls for cls in REGISTRY[name].__mro__ if cls.__module__.startswith("sampled_transformer")]
    text = " ".join(cls.__doc__ or "" for cls in classes)
    assert "https://openreview.net/forum?id=F7f4BYnDAIc" in text
    assert " = " in text


def test_networks_without_normals_refuse_them() -> None:
    for name in WITHOUT_NORMALS:
        with pytest.raises(ValueError, match="normals: expected False"):
            build(name, normals=True)


@pytest.mark.parametrize("kind", KINDS)
def test_the_head_reads_what_forward_features_gives(kind: str, tmp_path: Path) -> None:
    network, _ = load_model(save_small(tmp_path / "w.safetensors", kind))
    points = torch.rand(2, POINTS, 3)
    normals = torch.rand(2, POINTS, 3) if getattr(network, "normal_mlp", getattr(network, "normals", None)) else None
    with torch.no_grad():
        features = network.forward_features(points, normals)
        positions, rows = network.forward_points(points, normals)
        if kind != "mae":
            assert torch.equal(network.head(features), network(points, normals))
    assert features.shape[0] == 2
    assert positions.shape == (*rows.shape[:2], 3)
    own = points.flatten(0, 1).tolist()
    assert all(place in own for place in positions.flatten(0, 1).tolist())


@pytest.mark.parametrize("kind", KINDS)
def test_layers_have_names_in_the_order_of_the_pass(kind: str, tmp_path: Path) -> None:
    network, _ = load_model(save_small(tmp_path / "w.safetensors", kind))
    seen: list[str] = []
    for name in network.feature_layers:
        network.get_submodule(name).register_forward_hook(lambda *_, name=name: seen.append(name))
    points = torch.rand(2, POINTS, 3)
    normals = torch.rand(2, POINTS, 3) if getattr(network, "normal_mlp", getattr(network, "normals", None)) else None
    network.forward_points(points, normals)
    assert seen == network.feature_layers


def test_packed_and_padded_features_agree_with_plain_ones(tmp_path: Path) -> None:
    for kind in ("basic-dense", "set-transformer"):
        network, _ = load_model(save_small(tmp_path / "w.safetensors", kind))
        points = torch.rand(3, 20, 3)
        normals = torch.rand(3, 20, 3) if kind == "basic-dense" else None
        expected = network.forward_features(points, normals)
        flat = None if normals is None else normals.flatten(0, 1)
        packed = network.forward_features(points.flatten(0, 1), flat, ptr=torch.arange(4) * 20)
        padded = network.forward_features(points, normals, mask=torch.ones(3, 20, dtype=torch.bool))
        torch.testing.assert_close(packed, expected)
        torch.testing.assert_close(padded, expected)
