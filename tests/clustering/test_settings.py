from __future__ import annotations

import shlex

import pytest
import yaml

from sampled_transformer.clustering.settings import ClusterSettings, MixtureChanges, MixtureOptions
from sampled_transformer.support.trees import fields_of


def test_the_defaults_are_those_of_the_papers() -> None:
    settings = ClusterSettings(out="-")
    assert settings.data == MixtureOptions((100, 500), 4, 2, 4.0, 0.3)
    assert (settings.steps, settings.batch, settings.rate) == (50_000, 10, 1e-3)


def test_settings_survive_yaml() -> None:
    settings = ClusterSettings(
        "-", options={"attention": "sampled"}, data=MixtureOptions((300, 600)), schedule="cosine"
    )
    assert ClusterSettings.from_tree(yaml.safe_load(yaml.safe_dump(settings.tree()))) == settings


def test_the_command_names_what_is_not_usual() -> None:
    settings = ClusterSettings(
        "my run", options={"attention": "sampled"}, data=MixtureOptions((300, 600)), steps=10, recipe="cluster-sampled"
    )
    words = shlex.split(settings.command())
    assert words[:3] == ["sampled-transformer", "cluster", "train"]
    assert dict(zip(words[3::2], words[4::2], strict=True)) == {
        "--out": "my run",
        "--options.attention": "sampled",
        "--data.points": "[300, 600]",
        "--steps": "10",
    }


def test_changes() -> None:
    one = ClusterSettings("a", options={"dim": 8})
    assert one.differences(ClusterSettings("b", options={"dim": 8}, recipe="x", device="cpu")) == []
    assert one.differences(ClusterSettings("a")) == ["options.dim"]
    assert one.differences(ClusterSettings("a", options={"dim": 8}, steps=3)) == ["steps"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"out": ""}, "out: expected the folder"),
        ({"steps": 0}, "steps: expected at least 1, got 0"),
        ({"batch": 0}, "batch: expected at least 1"),
        ({"rate": -1.0}, "rate: expected a positive number"),
        ({"clip": -1.0}, "clip: expected 0 or a positive number"),
        ({"schedule": "linear"}, "schedule: expected step or cosine"),
        ({"decay_at": 0.0}, "decay_at: expected a share"),
        ({"seed": -1}, "seed: expected 0 to"),
    ],
)
def test_bad_options_are_named(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ClusterSettings(**{"out": "-", **options})


def test_changes_have_the_fields_and_help_texts_of_the_options() -> None:
    options, changes = fields_of(MixtureOptions), fields_of(MixtureChanges)
    assert list(changes) == list(options)
    for name, one in changes.items():
        assert (one.kind, one.default) == (options[name].kind | None, None)
    assert changes["spread"].help == options["spread"].help == "Means are uniform in (-spread, spread)."
    assert changes["dimension"].help == "Dimension of the points; it must fit the network."


def test_only_what_is_given_changes() -> None:
    trained_on = MixtureOptions((20, 30), spread=2.0, deviation=0.1)
    assert MixtureChanges().of(trained_on) == trained_on
    assert MixtureChanges(deviation=0.3).of(trained_on) == MixtureOptions((20, 30), spread=2.0, deviation=0.3)
    with pytest.raises(ValueError, match=r"data\.spread: expected a positive number, got 0\.0"):
        MixtureChanges(spread=0.0).of(trained_on)


def test_bad_sets_are_named() -> None:
    with pytest.raises(ValueError, match=r"data\.points: expected \[low, high\]"):
        MixtureOptions(points=(5, 5))
    with pytest.raises(ValueError, match=r"data\.points: expected at least 4 points for 4 clusters, got \[3, 9\]"):
        MixtureOptions(points=(3, 9))
    with pytest.raises(ValueError, match=r"data\.deviation: expected a positive number, got nan"):
        MixtureOptions(deviation=float("nan"))
