"""Names for class numbers, and the way back."""

import pytest

from sampled_transformer.data.class_numbers import class_name, class_numbers
from sampled_transformer.data.formats.las import LAS_CLASSES
from sampled_transformer.data.sources.semantickitti import CLASSES, LEARNING_MAP


def test_every_name_leads_back_to_its_number() -> None:
    numbers = [0, 1, 2, 6, 8, 12, 64, 255]
    for suffix in (".ply", ".LAZ", ".bin", ""):
        assert class_numbers([class_name(number) for number in numbers], suffix) == numbers
    assert class_numbers(list(LAS_CLASSES.values()), ".LAS") == list(LAS_CLASSES)
    assert class_name(6) == "class 6"
    assert len(set(LAS_CLASSES.values())) == len(LAS_CLASSES)


@pytest.mark.parametrize(
    "classes",
    [
        ["ground", "stud"],  # one name has no number
        ["class 3", "class 3"],
        ["class 07", "class 8"],
        ["class 65536"],
        ["class -1", "class 2"],
        ["class \u0663", "class 4"],
        ["class ", "class 1"],
    ],
)
def test_other_names_are_counted(classes: list[str]) -> None:
    assert class_numbers(classes, ".las") == list(range(len(classes)))


def test_the_meaning_of_a_name_depends_on_the_file() -> None:
    assert class_numbers(["ground", "building"], ".las") == [2, 6]
    assert class_numbers(["ground", "building"], ".ply") == [0, 1]
    assert class_numbers(["class 9", "ground"], ".laz") == [9, 2]
    kitti = class_numbers(CLASSES, ".bin")
    assert kitti[:2] == [10, 11]  # car, bicycle
    assert all(number in LEARNING_MAP[name] for number, name in zip(kitti, CLASSES, strict=True))
    assert class_numbers(CLASSES, ".las") == list(range(19))
