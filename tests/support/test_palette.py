"""Colours of classes: distinct, and the same wherever they are used."""

import numpy as np

from sampled_transformer.support.palette import PALETTE, class_colour, class_colours


def seen_with_red_green_blindness(colours: np.ndarray) -> np.ndarray:
    """Colours (n, 3) from 0 to 255 as somebody without red cones sees them (Viénot, Brettel and Mollon, 1999)."""
    linear = (colours / 255) ** 2.2
    red_green = linear @ [0.11238, 0.88762, 0]
    blue = linear @ [0.00401, -0.00401, 1]
    return np.stack([red_green, red_green, blue], 1).clip(0, 1) ** (1 / 2.2) * 255


def rgb(count: int) -> np.ndarray:
    return class_colours(np.arange(count)).astype(float)


def smallest_distance(colours: np.ndarray) -> float:
    distance = np.linalg.norm(colours[:, None] - colours, axis=-1)
    return float(distance[~np.eye(len(colours), dtype=bool)].min())


def test_many_classes_have_different_colours() -> None:
    assert len({class_colour(number) for number in range(64)}) == 64
    assert class_colour(0) == PALETTE[0]


def test_the_first_eight_differ_clearly_for_red_green_blind_people_too() -> None:
    assert smallest_distance(rgb(8)) > 50
    assert smallest_distance(seen_with_red_green_blindness(rgb(8))) > 25
    pure = np.array([[255, 0, 0], [128, 64, 0], [94, 94, 0]])  # what the test would refuse
    assert smallest_distance(seen_with_red_green_blindness(pure)) < 25


def test_bytes_and_text_agree() -> None:
    labels = np.array([3, 0, 3, 20], np.uint16)
    assert ["#" + bytes(row).hex() for row in class_colours(labels)] == [class_colour(int(label)) for label in labels]
    assert class_colours(np.empty(0, np.int64)).shape == (0, 3)
