"""Write a text file again with classes: the same lines, with two more columns."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from ..errors import DataError
from .labelled import Labelled, words
from .text import names_in, parse_text, split_line


def write_text(path: Path, file: BinaryIO, labelled: Labelled) -> None:
    """Write every line of the file at `path`, with `class` and `confidence` behind (or in place of columns so named).

    Comments, the heading, separators and line ends stay as they are.
    """
    text = parse_text(path)
    if len(labelled.labels) != len(text.rows):
        raise DataError(f"labels: expected one per point ({len(text.rows)}), got {len(labelled.labels)}")
    lines = path.read_bytes().decode("utf-8", "surrogateescape").splitlines(keepends=True)
    names, named_at = names_in(text)
    known = [name.strip(" \t\"'").lower() for name in names]
    added = {name: [word.decode() for word in words(values)] for name, values in labelled.columns().items()}
    replaced = {known.index(name): column for name, column in added.items() if name in known}
    appended = {name: column for name, column in added.items() if name not in known}
    first = lines[text.rows[0] - 1]
    separator = ";" if ";" in first else "," if "," in first else "\t" if "\t" in first.strip() else " "
    decimal_comma = separator == ";" and "," in first
    for row, number in enumerate(text.rows.tolist()):
        old = {place: column[row] for place, column in replaced.items()}
        lines[number - 1] = _line(
            lines[number - 1], old, [column[row] for column in appended.values()], separator, decimal_comma
        )
    if named_at:
        heading = lines[named_at - 1]
        gap = ";" if ";" in heading else "," if "," in heading else "\t" if "\t" in heading.strip() else " "
        lines[named_at - 1] = _line(heading, {}, list(appended), gap, False)
    file.write("".join(lines).encode("utf-8", "surrogateescape"))


def _line(line: str, replaced: dict[int, str], appended: list[str], separator: str, decimal_comma: bool) -> str:
    """The line with some of its words replaced and others appended."""
    content = line.strip("\r\n")
    end = line[len(content) :] or "\n"
    content = content.rstrip(" \t,;")
    if replaced:
        own = split_line(content.strip())
        for place, word in replaced.items():
            own[place] = word
        content = separator.join(own)
    text = separator.join([content, *appended])
    return (text.replace(".", ",") if decimal_comma else text) + end
