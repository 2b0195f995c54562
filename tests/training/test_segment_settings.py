"""The settings of `segment train`."""

from __future__ import annotations

from typing import Any

import pytest

from sampled_transformer.training.recipes import list_recipes, read_recipe
from sampled_transformer.training.segment_settings import LossOptions, PointDataOptions, SegmentSettings


def test_defaults_follow_from_the_part() -> None:
    assert SegmentSettings(PointDataOptions("x"), "out").view_options() == {"part": "subset", "size": "unit"}
    scene = SegmentSettings(PointDataOptions("x", part="crop"), "out")
    assert scene.view_options() == {"part": "crop", "size": "kept"}
    assert SegmentSettings(PointDataOptions("x", size="kept"), "out").view_options()["size"] == "kept"
    assert scene.attention == "rotary"
    assert SegmentSettings(PointDataOptions("x"), "out", init="w.safetensors").attention != "rotary"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"validation": 1.0}, r"data\.validation: expected 0 or more and less than 1, got 1\.0"),
        ({"missing": -0.1}, r"data\.missing: expected 0 or more and less than 1"),
        ({"missing": float("nan")}, r"data\.missing: expected 0 or more and less than 1"),
        ({"jitter": -1.0}, r"data\.jitter: expected 0 or more, got -1\.0"),
        ({"colour_jitter": float("inf")}, r"data\.colour_jitter: expected 0 or more, got inf"),
        ({"batch": 0}, r"data\.batch: expected at least 1 set, got 0"),
        ({"points": 1}, r"data\.points: expected at least 2, got 1"),
        ({"scale": (1.0, 0.5)}, r"data\.scale: expected \[low, high\] with 0 < low <= high, got \[1\.0, 0\.5\]"),
        ({"scale": (0.0, 1.0)}, r"data\.scale: expected"),
        ({"up": "auto"}, r"data\.up: expected an axis, because only classifiers can be asked, got auto"),
    ],
)
def test_data_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PointDataOptions("x", **options)


def test_other_networks_and_weights_are_refused() -> None:
    with pytest.raises(ValueError, match="model: expected 'segmenter', the network that labels points, got 'basic'"):
        SegmentSettings(PointDataOptions("x"), "out", model="basic")
    for balance in (-0.1, 2.1, float("nan")):
        with pytest.raises(ValueError, match=r"loss\.balance: expected 0 to 2"):
            LossOptions(balance=balance)


def test_every_recipe_of_the_family_is_one_of_segment_train() -> None:
    names = [name for name in list_recipes() if name.startswith("segment-")]
    assert {"segment-rotary", "segment-sampled", "segment-linear", "segment-none"} <= set(names)
    for name in names:
        tree = read_recipe(name)
        assert tree["model"] == "segmenter"
        assert set(tree["data"]) <= set(PointDataOptions.__dataclass_fields__)
        assert set(tree["loss"]) <= set(LossOptions.__dataclass_fields__)
