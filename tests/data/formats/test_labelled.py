"""What we add to a scan: columns, types, and class names as text."""

import numpy as np
import pytest

from sampled_transformer.data.formats.labelled import Labelled, class_lines, class_type, classes_in, words
from sampled_transformer.support.palette import class_colours


def test_columns_with_and_without_colours() -> None:
    labelled = Labelled(np.array([0, 2], np.uint8), np.float32([0.5, 1]), {0: "a", 2: "b"})
    assert list(labelled.columns()) == ["class", "confidence"]
    columns = labelled._replace(coloured=True).columns(("r", "g", "b"))
    np.testing.assert_array_equal(np.stack([columns[name] for name in "rgb"], 1), class_colours(np.array([0, 2])))


@pytest.mark.parametrize(("highest", "expected"), [(0, "u1"), (255, "u1"), (256, "u2"), (65536, "u4")])
def test_the_type_holds_all_classes(highest: int, expected: str) -> None:
    assert class_type({0: "a", highest: "b"}) == np.dtype(expected)


def test_classes_come_back_from_their_lines() -> None:
    classes = {0: "ground", 3: "tall  tree\n", 250: "Gebäude"}
    lines = ["something", "class of its own", *class_lines(classes), "class 7", ""]
    assert classes_in(lines) == {0: "ground", 3: "tall tree", 250: "Gebäude"}


def test_numbers_as_words_are_short_and_exact() -> None:
    assert words(np.float32([0.9, 1, 0.5])) == [b"0.9", b"1.0", b"0.5"]
    assert words(np.array([3, 200], np.uint8)) == [b"3", b"200"]
    values = np.random.default_rng(0).uniform(0, 1e-4, 1000).astype(np.float32)
    np.testing.assert_array_equal(np.float32([float(word) for word in words(values)]), values)


def test_class_names_that_are_too_long_for_a_header_are_left_out() -> None:
    assert class_lines(dict.fromkeys(range(1000), "a" * 100)) == []
