from __future__ import annotations

import itertools

import numpy as np

from sampled_transformer.support.palette import PALETTE, class_colour, class_colours, colour, hexadecimal

# What the eye makes of linear RGB without one kind of cones (Machado, Oliveira and Fernandes, 2009).
SIGHT = {
    "usual": np.eye(3),
    "protanopia": np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    "deuteranopia": np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
}


def lab(rgb: tuple[int, int, int], sight: np.ndarray) -> np.ndarray:
    """CIE L*a*b*, in which distances are differences that people see."""
    share = np.array(rgb) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    linear = (sight @ linear).clip(0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ linear
    f = np.cbrt(xyz / [0.9505, 1, 1.089])
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_colour_blind_people_tell_the_first_colours_apart() -> None:
    for sight in SIGHT.values():
        seen = [lab(rgb, sight) for rgb in PALETTE[:7]]
        assert min(np.linalg.norm(one - two) for one, two in itertools.combinations(seen, 2)) > 12


def test_colours_differ_and_begin_again_after_the_last() -> None:
    assert len(set(PALETTE)) == len(PALETTE) >= 16
    assert colour(len(PALETTE)) == colour(0) == PALETTE[0]
    assert hexadecimal(0) == "#0072b2"
    assert hexadecimal(len(PALETTE) + 1) == "#d55e00"


def test_every_colour_shows_on_white_and_on_black() -> None:
    lightness = [lab(rgb, SIGHT["usual"])[0] for rgb in PALETTE]
    assert min(lightness) > 15
    assert max(lightness) < 95


def test_many_classes_have_different_colours() -> None:
    assert len({class_colour(number) for number in range(64)}) == 64
    assert class_colour(0) == hexadecimal(0)


def test_bytes_and_text_agree() -> None:
    labels = np.array([3, 0, 3, 20], np.uint16)
    assert ["#" + bytes(row).hex() for row in class_colours(labels)] == [class_colour(int(label)) for label in labels]
    assert class_colours(np.empty(0, np.int64)).shape == (0, 3)
