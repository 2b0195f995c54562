"""What we add to a scan: a class and a confidence per point, and the names of the classes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ...support.palette import class_colours

COLOUR = ("red", "green", "blue")
LONGEST = 60_000  # bytes of all class names; records of LAS and headers of PLY that we read have 65,535


class Labelled(NamedTuple):
    """A class and a confidence per point."""

    labels: np.ndarray  # (n,), of the type that `class_type` gives
    confidence: np.ndarray  # float32 (n,)
    classes: dict[int, str]  # names by number
    coloured: bool = False

    def columns(self, colour: Iterable[str] = COLOUR) -> dict[str, np.ndarray]:
        """The columns to write, by name; with colours, their three columns are called `colour`."""
        added = {"class": self.labels, "confidence": self.confidence}
        if self.coloured:
            added |= dict(zip(colour, class_colours(self.labels).T, strict=True))
        return added


def class_type(classes: dict[int, str]) -> np.dtype[np.unsignedinteger]:
    """The smallest unsigned type that holds all class numbers."""
    return np.min_scalar_type(max(classes))


def class_lines(classes: dict[int, str]) -> list[str]:
    """The classes as text, one per line: "class 0 ground". None, if they are too long for a header."""
    lines = [f"class {number} {' '.join(name.split())}" for number, name in classes.items()]
    return lines if sum(len(line.encode()) + 10 for line in lines) <= LONGEST else []


def classes_in(lines: Iterable[str]) -> dict[int, str]:
    """The classes that `class_lines` wrote, from lines among others."""
    words = [line.split(None, 2) for line in lines]
    return {int(line[1]): line[2].rstrip() for line in words if is_class_line(line)}


def is_class_line(words: list[str]) -> bool:
    """Whether the words are those of a line by `class_lines`."""
    return len(words) == 3 and words[0] == "class" and words[1].isdecimal()


def words(values: np.ndarray) -> list[bytes]:
    """Numbers as text, with as few digits as give the same number again."""
    text: list[bytes] = values.astype(np.bytes_).tolist()
    return text
