"""How many files were left out, and why: one closing line after the lines about each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

# What a problem says, and the word for it in the total. The first that fits counts; everything else is damage.
KINDS = {
    "empty file": "empty",
    "no such file": "missing",
    "unknown format": "of unknown format",
    "permission denied": "not permitted",
    "file name too long": "missing",
    "a link": "behind links",
    "not in a class folder": "outside the class folders",
    "not in a train, test or val folder": "outside the splits",
    "same name as": "of the same name as others",
    "no row in": "without a number",
    "expected a finite number for": "without a number",
    "too large": "too large",
    "not enough memory": "too large",
    "process that read it died": "fatal to their reader",
    "--reading.memory": "too large",
    "--reading.seconds": "too slow to read",
    "different points": "without a shape",
    "no points": "without a shape",
    "no vertices": "without a shape",
    "no surface": "without a shape",
}
# Problems with classes, folders or rows of a table.
NO_FILES = ("class without a readable file", "has no readable file", "no file of a known", "no shape ", " cells, got ")


def total_left_out(problems: Iterable[str], used: int) -> str:
    """A line such as "5 of 12 files left out: 3 damaged, 2 empty"; empty if no file was left out.

    Args:
        problems: Lines `path: reason`.
        used: Number of files that were not left out.
    """
    reasons = [line.partition(": ")[2] or line for line in problems]
    counts = Counter(_kind(reason) for reason in reasons if not any(phrase in reason for phrase in NO_FILES))
    count = counts.total()
    words = ", ".join(f"{number} {kind}" for kind, number in counts.most_common())
    return f"{count} of {count + used} files left out: {words}" if count else ""


def _kind(reason: str) -> str:
    return next((kind for phrase, kind in KINDS.items() if phrase in reason.lower()), "damaged")
