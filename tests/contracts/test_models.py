"""What holds for every network by name."""

from __future__ import annotations

import inspect

import pytest
import torch

from sampled_transformer import create_model, list_models
from sampled_transformer.models import REGISTRY, WITHOUT_NORMALS

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
