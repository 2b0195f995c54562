"""Colours that colour-blind people tell apart: those of Okabe and Ito, then Paul Tol's muted ones.

The black of Okabe and Ito is a grey here, so that every colour shows on light and on dark pages.
"""

from __future__ import annotations

import numpy as np

PALETTE: tuple[tuple[int, int, int], ...] = (
    (0, 114, 178),  # blue
    (213, 94, 0),  # vermilion
    (0, 158, 115),  # bluish green
    (204, 121, 167),  # reddish purple
    (230, 159, 0),  # orange
    (86, 180, 233),  # sky blue
    (240, 228, 66),  # yellow
    (127, 127, 127),  # grey
    (136, 34, 85),  # wine
    (51, 34, 136),  # indigo
    (17, 119, 51),  # green
    (221, 204, 119),  # sand
    (68, 170, 153),  # teal
    (204, 102, 119),  # rose
    (153, 153, 51),  # olive
    (170, 68, 153),  # purple
)


def colour(number: int) -> tuple[int, int, int]:
    """The colour of a class or a curve by its number, from the first again after the last."""
    return PALETTE[number % len(PALETTE)]


def hexadecimal(number: int) -> str:
    """`colour` as web pages write it, such as "#0072b2"."""
    return "#{:02x}{:02x}{:02x}".format(*colour(number))


def class_colour(number: int) -> str:
    """The colour of a class as #rrggbb. After the last colour they start again, each time half as bright."""
    rounds, place = divmod(number, len(PALETTE))
    red, green, blue = (part >> rounds for part in PALETTE[place])
    return f"#{red:02x}{green:02x}{blue:02x}"


def class_colours(labels: np.ndarray) -> np.ndarray:
    """The colours of labels (n,), as bytes (n, 3)."""
    numbers, places = np.unique(labels, return_inverse=True)
    table = [bytes.fromhex(class_colour(int(number))[1:]) for number in numbers]
    colours: np.ndarray = np.frombuffer(b"".join(table), np.uint8).reshape(-1, 3)[places]
    return colours
