from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.trained import CLASSES, save_small

from sampled_transformer.data import Pack
from sampled_transformer.inference.evaluation import evaluate
from sampled_transformer.inference.review import Review
from sampled_transformer.weights import load_model, save_model


@pytest.fixture
def weights(tmp_path: Path, pack_folder: Path) -> Path:
    """A network whose answers are not all the same class."""
    path = save_small(tmp_path / "model.safetensors")
    network, description = load_model(path)
    with torch.no_grad():
        network.head.weight.mul_(20)  # type: ignore[union-attr,operator]
    notes = {"data": {"source": str(pack_folder), "root": None, "preset": "bricks", "points": 24, "normals": True}}
    save_model(network, path, description.__class__("basic", description.options, CLASSES, notes))
    return path


def test_mistakes_come_most_confident_first(weights: Path, make_pack: Callable[..., Pack]) -> None:
    found, count = Review.of(weights).mistakes(4)
    confusion = np.array(evaluate(weights)["confusion"])
    assert count == confusion.sum() - confusion.trace()
    assert len(found) == min(4, count) > 1
    probabilities = [mistake.probability for mistake in found]
    assert probabilities == sorted(probabilities, reverse=True)
    pack = make_pack(5, 1)
    assert pack.names is not None
    assert pack.labels is not None
    for mistake in found:
        assert mistake.truth != mistake.answer
        number = pack.names.tolist().index(mistake.name)
        assert pack.classes[pack.labels[number]] == mistake.truth
        assert mistake.points.shape == (24, 3)
        assert mistake.shares is not None
        assert np.isclose(mistake.shares.sum(), 1)


def test_the_answers_are_those_of_evaluate(weights: Path) -> None:
    review, result = Review.of(weights), evaluate(weights)
    assert review.confusion.tolist() == result["confusion"]
    assert review.calibration()["ways"]["one pass"] == result["calibration"]["ways"]["one pass"]


def test_confused_classes_have_a_shape_each(weights: Path) -> None:
    review = Review.of(weights)
    found = review.confused(2)
    assert 0 < len(found) <= 2
    names = list(review.pack.classes)
    for one in found:
        assert one.times == int(review.confusion[names.index(one.truth), names.index(one.answer)])
        assert one.mistaken.shape == one.other.shape == (48, 3)
