"""Colours that colour-blind people tell apart: those of Okabe and Ito, then Paul Tol's muted ones.

The black of Okabe and Ito is a grey here, so that every colour shows on light and on dark pages.
"""

from __future__ import annotations

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
