"""What is fitted for the surer answer is fitted on shapes that no network saw, and softens what `predict` prints."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sampled_transformer.data import Pack
from sampled_transformer.data.quantise import POINT_SCALE
from sampled_transformer.inference.defaults import DEFAULT_TWIN, DEFAULT_WEIGHTS
from sampled_transformer.inference.trained_network import load
from sampled_transformer.inference.twins import softening
from sampled_transformer.weights import describe_model
from sampled_transformer_lab.surer_answer import answered, asking, fit, held_out, measure

CLASSES = describe_model(DEFAULT_WEIGHTS).classes


@pytest.fixture(scope="module")
def pack() -> Pack:
    """Two clouds of each of three classes."""
    points = np.random.default_rng(0).uniform(-0.5, 0.5, (6, 1100, 3)) * [1, 0.6, 0.3]
    return Pack((POINT_SCALE * points).astype(np.int16), tuple(CLASSES), np.array([0, 0, 1, 1, 2, 2]))


def test_probabilities_of_all_classes_as_predict_prints_them(pack: Pack) -> None:
    found = answered(asking(), list(pack.batch(slice(None)).points.numpy()), CLASSES)
    assert found.shape == (6, 40)
    torch.testing.assert_close(found.sum(1), torch.ones(6).double())
    sharp = asking()
    sharp.softening = 1.0
    sharper = answered(sharp, list(pack.batch(slice(None)).points.numpy()), CLASSES)
    assert torch.equal(sharper.argmax(1), found.argmax(1))
    assert (sharper.amax(1) >= found.amax(1)).all()


def test_the_shipped_twin_keeps_what_was_fitted() -> None:
    assert 1 < softening(load(DEFAULT_TWIN, "cpu"), DEFAULT_WEIGHTS) < 1.5
    assert softening(load(DEFAULT_TWIN, "cpu"), "modelnet40") == 1


def test_only_shapes_that_no_network_saw(pack: Pack) -> None:
    assert len(held_out(pack)) <= 3
    with pytest.raises(ValueError, match="expected networks that held out the same shapes, got others"):
        held_out(pack, (DEFAULT_WEIGHTS, "bricks"))


def test_what_is_fitted_does_not_depend_on_what_was_fitted_before(pack: Pack) -> None:
    fitted = fit(pack)
    assert fitted["shapes"] == 6
    assert fitted["temperature"] > 1  # noise is no chair, whoever is sure of it
    assert fitted["of_few"] > 1


def test_a_row_per_corruption(pack: Pack) -> None:
    rows = measure(pack, 2)
    assert [(row["corruption"], row["shapes"]) for row in rows][:2] == [("clean", 6), ("points", 2)]
    for row in rows:
        sharp, soft = row["both, not softened"], row["both, the default"]
        assert soft["probability"] < sharp["probability"]
        assert soft["accuracy"] == sharp["accuracy"]
