"""Colours for classes that colour-blind people can tell apart."""

from __future__ import annotations

import numpy as np

# Seven colours of Okabe and Ito (2008) and grey, then eight of Paul Tol's "muted" scheme. Both
# were made for colour-blind readers.
PALETTE = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#d55e00",
    "#56b4e9",
    "#cc79a7",
    "#f0e442",
    "#999999",
    "#332288",
    "#88ccee",
    "#44aa99",
    "#117733",
    "#999933",
    "#ddcc77",
    "#cc6677",
    "#882255",
)


def class_colour(number: int) -> str:
    """The colour of a class as #rrggbb. After the last colour they start again, each time half as bright."""
    rounds, place = divmod(number, len(PALETTE))
    red, green, blue = (int(PALETTE[place][i : i + 2], 16) >> rounds for i in (1, 3, 5))
    return f"#{red:02x}{green:02x}{blue:02x}"


def class_colours(labels: np.ndarray) -> np.ndarray:
    """The colours of labels (n,), as bytes (n, 3)."""
    numbers, places = np.unique(labels, return_inverse=True)
    table = [bytes.fromhex(class_colour(int(number))[1:]) for number in numbers]
    colours: np.ndarray = np.frombuffer(b"".join(table), np.uint8).reshape(-1, 3)[places]
    return colours
