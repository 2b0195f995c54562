from __future__ import annotations

import numpy as np

from sampled_transformer.data import Pack
from sampled_transformer.data.class_counts import lines_about_missing, missing_classes


def pack(*labels: int) -> Pack:
    points = np.random.default_rng(0).normal(size=(len(labels), 8, 3))
    return Pack.from_arrays(points, labels=np.array(labels), classes=("needle", "disc", "ball"))


def test_classes_without_shapes_are_named_once_per_split() -> None:
    assert lines_about_missing(pack(0, 1, 2), pack(2, 1, 0)) == []
    assert lines_about_missing(pack(0, 1, 2), pack(0, 2)) == ["class 'disc' has no test shape"]
    assert lines_about_missing(pack(0, 1), pack(1, 1)) == [
        "class 'ball' has no training shape",
        "2 classes have no test shape: needle, ball",
    ]


def test_numbers_have_no_classes() -> None:
    points = np.random.default_rng(0).normal(size=(2, 8, 3))
    numbers = Pack.from_arrays(points, labels=np.array([0.5, 1.5]), target_name="mass")
    assert missing_classes(numbers) == []
    assert missing_classes(Pack.from_arrays(points)) == []
