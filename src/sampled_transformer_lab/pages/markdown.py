"""Markdown of the result pages: tables, commands, lists of names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

# A code block of this width fits beside the navigation on a page of 1,300 pixels.
WIDTH = 88
NUMBER = re.compile(r"(?:[-+±\d.,() ]|and|ms)*")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table whose columns of figures are aligned to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    numbers = [
        place > 0 and all(NUMBER.fullmatch(row[place]) is not None for row in cells) for place in range(len(columns))
    ]
    return [
        _row(columns),
        "|" + "|".join("---:" if number else "---" for number in numbers) + "|",
        *(_row(row) for row in cells),
    ]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def commands(*lines: str) -> list[str]:
    """Commands as a code block, continued with a backslash where they are too long for a page."""
    return ["```bash", *(part for line in lines for part in _folded(line)), "```"]


def _folded(command: str) -> list[str]:
    """Lines of at most `WIDTH`, cut before an option."""
    folded = [""]
    for part in re.split(r" (?=--)", command):
        if folded[-1] and len(folded[-1]) + len(part) + 3 > WIDTH:
            folded[-1] += " \\"
            folded.append("   ")
        folded[-1] += f" {part}" if folded[-1] else part
    return folded


def listed(names: Sequence[str]) -> str:
    """The names as in a sentence: "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
