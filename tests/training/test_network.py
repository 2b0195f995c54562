from __future__ import annotations

from typing import Any

import pytest

from sampled_transformer.models import BasicClassifier
from sampled_transformer.training.loading import View
from sampled_transformer.training.network import build_network, check_given_options, check_points, given_options
from sampled_transformer.training.settings import DataOptions, Settings

SMALL = {"dim": 16, "heads": 2, "hidden": 16, "embedding": 8}


def test_a_network_is_built() -> None:
    network = build_network("basic", {"classes": 3, "attention": "dense", **SMALL})
    assert isinstance(network, BasicClassifier)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"dimm": 3},
            r"^options\.dimm: expected an option of the network 'basic' \(.*\bdim\b.*\), got 3; did you mean 'dim'\?$",
        ),
        ({"zzzzz": [1]}, r"^options\.zzzzz: expected an option of the network 'basic' \(.*\), got \[1\]$"),
        (
            {"attention_options": {"sample": 8}},
            r"^options\.attention_options\.sample: expected an option of .*'sampled' \(.*samples.*\), "
            r"got 8; did you mean 'samples'\?$",
        ),
        ({"attention": "dens"}, r"^attention: expected one of dense, .*, got 'dens'; did you mean 'dense'\?$"),
        ({"dim": 15}, r"heads: expected a divisor of dim=15"),
    ],
)
def test_options_that_do_not_exist_are_named(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_network("basic", {"classes": 3, "attention": "sampled", **SMALL, **options})


def test_what_users_cannot_give_is_not_listed() -> None:
    with pytest.raises(ValueError, match=r"options\.x: ") as caught:
        build_network("basic", {"classes": 3, "attention": "sampled", "x": 1})
    assert "classes" not in str(caught.value)
    with pytest.raises(ValueError, match=r"options\.x: ") as caught:
        build_network("pooling-mixture", {"x": 1}, decided=("inputs", "components"))
    assert "(dim)" in str(caught.value)


def test_unknown_networks() -> None:
    with pytest.raises(ValueError, match=r"model: expected one of basic, .*, got 'basik'; did you mean 'basic'\?"):
        build_network("basik", {})


@pytest.mark.parametrize(("name", "who"), [("classes", "the data"), ("normals", "--data.normals")])
def test_options_that_something_else_decides(name: str, who: str) -> None:
    with pytest.raises(ValueError, match=rf"options\.{name}: expected none, because {who} decides it, got 5"):
        check_given_options({name: 5})
    check_given_options({"dim": 5})


def test_given_options_are_all_without_weights() -> None:
    assert given_options(Settings(DataOptions("x"), "-", options={"dim": 3})) == {"dim": 3}


def test_clouds_need_enough_points_for_their_groups() -> None:
    options = {"classes": 2, "attention": "dense", **SMALL, "depth": 1, "groups": 8, "group_size": 4}
    network = build_network("mae-classifier", options)
    check_points(network, View("none", 8, False))
    with pytest.raises(ValueError, match=r"data\.points: expected at least 8, for 8 groups of 4, got 7"):
        check_points(network, View("none", 7, False))
    check_points(build_network("basic", {"classes": 2, "attention": "none", **SMALL}), View("none", 1, False))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": "abc"}, r"options\.dim: expected a whole number, got 'abc'"),
        ({"dim": 100.0}, r"options\.dim: expected a whole number, got 100\.0"),
        ({"dim": -3}, "dim: expected at least 1, got -3"),
        ({"batch_norm": "maybe"}, r"options\.batch_norm: expected true or false, got 'maybe'"),
        ({"attention_options": {"samples": "eight"}}, r"options\.attention_options\.samples: expected a whole number"),
        ({"attention_options": {"bias": 3}}, r"options\.attention_options\.bias: expected true or false, got 3"),
        ({"dim": 2**62}, "options: expected sizes that make a network, got"),
    ],
)
def test_values_of_a_wrong_type_or_size(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        build_network("basic", {"classes": 3, "attention": "sampled", "heads": 1, **options})
    assert "\n" not in str(caught.value)
