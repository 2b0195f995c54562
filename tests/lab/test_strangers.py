"""Strangers are what their names say, and weights that were never calibrated are refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.data import write_pack
from sampled_transformer.inference.calibrate import calibrate
from sampled_transformer.models import create_model
from sampled_transformer.weights import Description, save_model
from sampled_transformer_lab.strangers import (
    LETTERS,
    POINTS,
    WITHOUT_NORMALS,
    half,
    letter,
    main,
    measure,
    on_floor,
    strangers,
)

SMALL = {"dim": 16, "heads": 2, "hidden": 16, "embedding": 8}


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(0)


def test_kinds_and_sizes(random: np.random.Generator) -> None:
    own = [random.normal(size=(90, 3)) for _ in range(2)]
    kinds = dict(strangers(own, random, 5))
    assert len(kinds) == 8
    for sets in kinds.values():
        assert len(sets) == 5
        assert all(one.ndim == 2 and one.shape[1] == 3 and np.isfinite(one).all() for one in sets)
    lying = kinds["own test shapes, lying (y up)"][0]
    assert np.array_equal(lying[:, 2], own[0][:, 1])


def test_half_a_shape_lies_on_one_side_of_a_plane(random: np.random.Generator) -> None:
    shape = random.normal(size=(101, 3))
    kept = half(shape, random)
    assert len(kept) == 51
    assert {tuple(point) for point in kept} <= {tuple(point) for point in shape}


def test_the_floor_is_flat_and_below(random: np.random.Generator) -> None:
    shape = random.normal(size=(90, 3))
    with_floor = on_floor(shape, random)
    assert np.array_equal(with_floor[:90], shape)
    assert len(with_floor) == 150
    assert (with_floor[90:, 2] == shape[:, 2].min()).all()


@pytest.mark.parametrize("name", LETTERS)
def test_letters_are_upright_and_hollow(name: str, random: np.random.Generator) -> None:
    points = letter(name, random)
    assert points.shape == (POINTS, 3)
    assert 1.9 < np.ptp(points[:, 2]) < 2.6
    depth = np.abs(points[:, 1])
    assert 0.4 < (depth > depth.max() - 1e-9).mean() < 0.6  # half of the points are on the two faces


@pytest.fixture
def weights(tmp_path: Path, make_pack, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a small run in this folder."""
    monkeypatch.chdir(tmp_path)
    Path("mine").mkdir()
    write_pack(make_pack(30, 0), tmp_path / "train.npz")
    write_pack(make_pack(4, 1), tmp_path / "test.npz")
    data = {"source": str(tmp_path), "preset": "bricks", "points": 24, "validation": 0.5}
    described = Description("basic", {"classes": 3, **SMALL}, ("needle", "disc", "ball"), {"data": data, "seed": 0})
    save_model(create_model("basic", classes=3, **SMALL), Path("mine", "model.safetensors"), described)
    return "mine"


def test_weights_that_were_never_calibrated_are_refused(weights: str) -> None:
    with pytest.raises(ValueError, match="mine: expected weights that `calibrate` was run on, got others"):
        measure(weights)


def test_what_was_measured_is_added_to_what_is_known(weights: str, tmp_path: Path) -> None:
    calibrate(tmp_path / "mine" / "model.safetensors", tmp_path / "mine" / "model.safetensors")
    (tmp_path / "mine.json").write_text(json.dumps({"commands": ["train"], "seconds": 3}))
    for _ in range(2):  # measuring again names the command once
        main(weights, results=tmp_path, count=4)
        found = json.loads((tmp_path / "mine.json").read_text())
        assert found["commands"] == ["train", "python -m sampled_transformer_lab.strangers mine"]
    assert found["seconds"] == 3
    assert len(found["strangers"]) == 10  # one kind more, since this network reads normals
    assert WITHOUT_NORMALS in found["strangers"]
    assert all(0 <= row["unfamiliar"] <= 1 and 0 <= row["area"] <= 1 for row in found["strangers"].values())
    assert found["calibration"]["after"].keys() == {"one pass", "averaged over 8 cycles"}
    assert found["familiarity"]["alarms"] == 0.05
