"""XYZ, TXT, CSV and PTS: one point per line, numbers separated by spaces, commas or semicolons."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import DataError
from ..limits import POINT_BYTES, check_need
from .point_files import Cloud, named_columns, split_columns, table_fields

COMMENT = ("#", "//")


class TextTable(NamedTuple):
    """The numbers in a text file, and what stands above them. Lines count from 1."""

    table: np.ndarray  # float64 (rows, columns)
    rows: np.ndarray  # the line of each row, int64 (rows,)
    names: list[str]  # words of the last line above the numbers, whether it is a heading or a comment
    named_at: int  # its line, 0 without one
    heading: list[str]  # words of the only line of text above the numbers that is no comment
    heading_at: int  # its line, 0 without one


def read_text(path: Path) -> Cloud:
    """Read the points, and the normals if the columns are named so or are unit vectors.

    The first line may hold the column names or the number of points. Lines that begin with # or // are comments; a
    comment directly above the numbers may also hold the column names.
    """
    text = parse_text(path)
    table, names = text.table, text.names
    positions, normals = named_columns(names) if len(names) == table.shape[1] else (None, None)
    if positions is None and normals is None:
        return split_columns(table)
    return Cloud(table[:, positions or [0, 1, 2]], table[:, normals] if normals else None)


def parse_text(path: Path) -> TextTable:
    """Read the numbers, the names above them, and where both are in the file."""
    text = path.read_bytes().decode("utf-8-sig", "replace")
    if "\0" in text:
        raise DataError("expected text, got binary data")
    lines = text.splitlines()  # blank ones cost next to nothing
    del text
    names: list[str] = []
    heading: list[str] = []
    headings = named_at = heading_at = 0
    begin = len(lines)
    for number, line in enumerate(map(_content, lines), 1):
        if not line:
            continue
        if not line.startswith(COMMENT) and any(map(is_number, split_line(line))):
            begin = number - 1
            break
        names, named_at = split_line(line.lstrip("#/ ")), number
        if not line.startswith(COMMENT):
            headings, heading, heading_at = headings + 1, names, number
    if headings > 1:
        raise DataError(f"expected at most 1 line of text before the numbers, got {headings}")
    rows = np.flatnonzero(np.fromiter(map(len, lines), np.int64, len(lines))) + 1  # there may be millions of blank ones
    below = ((number, _content(lines[number - 1])) for number in rows[rows > begin].tolist())
    rows = np.fromiter((number for number, line in below if line and not line.startswith(COMMENT)), np.int64)
    if len(rows) > 1 and len(split_line(_content(lines[rows[0] - 1]))) == 1:
        claim, rows = _content(lines[rows[0] - 1]), rows[1:]
        if claim != str(len(rows)):
            raise DataError(f"header claims {claim} points, but {len(rows)} lines follow")
    return TextTable(_table(lines, rows), rows, names, named_at, heading, heading_at)


def _content(line: str) -> str:
    return line.strip().rstrip(",;")


def names_in(text: TextTable) -> tuple[list[str], int]:
    """The column names that the file states and their line; nothing and 0 if it states none.

    A heading names the columns if it has one word per column. A comment must also name x, y and z.
    """
    width = text.table.shape[1]
    if len(text.heading) == width:
        return text.heading, text.heading_at
    if len(text.names) == width and named_columns(text.names)[0] is not None:
        return text.names, text.named_at
    return [], 0


def text_fields(path: Path, columns: list[str] | None = None) -> dict[str, np.ndarray]:
    """Read every column by name. `columns` names them in place of the file; "_" or "-" skips one."""
    text = parse_text(path)
    return table_fields(text.table, names_in(text)[0] if columns is None else columns)


def split_line(line: str) -> list[str]:
    """The words of a line. Where semicolons separate them, commas are decimal commas."""
    if ";" in line:
        return line.replace(",", ".").split(";")  # such files use a decimal comma
    return line.split(",") if "," in line else line.split()


def is_number(word: str) -> bool:
    """Whether Python reads `word` as a float."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def _table(lines: list[str], rows: np.ndarray) -> np.ndarray:
    """Parse the numbers of these lines, (rows, columns). If that fails, find the faulty line and name it."""
    if not len(rows):
        raise DataError("expected at least one line of numbers, got none")
    first = _content(lines[rows[0] - 1])
    delimiter = ";" if ";" in first else "," if "," in first else None

    def contents() -> Iterator[str]:
        found = (_content(lines[number - 1]) for number in rows.tolist())
        return (line.replace(",", ".") for line in found) if delimiter == ";" else found

    width = len(first.split(delimiter))
    check_need(8 * width * len(rows) + POINT_BYTES * len(rows), f"{len(rows):,} lines of {width:,} numbers")
    try:
        return np.loadtxt(contents(), delimiter=delimiter, comments=None, ndmin=2)
    except ValueError:
        for number, line in zip(rows.tolist(), contents(), strict=True):
            words = line.split(delimiter)
            bad = [word for word in words if not is_number(word)]
            if bad:
                raise DataError(f"line {number}: expected numbers, got '{bad[0][:40]}'") from None
            if len(words) != width:
                raise DataError(f"line {number}: expected {width} columns, got {len(words)}") from None
        raise
