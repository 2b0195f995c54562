"""A table of numbers, one per file, that a network is to predict: a CSV file with the names of its columns on top.

file,volume
cup.off,0.31
bowls/deep.ply,0.78
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..support.printable import brief, printable
from ..support.registry import did_you_mean
from .errors import DataError
from .files import check_size, named_errors, only_data_errors
from .guard import read_file

FILE_COLUMNS = ("file", "path", "filename", "name")
DELIMITERS = ",;\t"


@dataclass(frozen=True)
class Targets:
    """The numbers of a table. `problems` has one line per row that cannot be used."""

    path: Path
    name: str  # of the column with the numbers
    values: Mapping[str, float | None]  # by the file's path below the folder of shapes; None: not a finite number
    problems: tuple[str, ...] = ()


def read_targets(path: str | Path, column: str | None = None) -> Targets:
    """Read a table of files and numbers.

    The cells are separated by commas, semicolons or tabs. The files are in the column called file, path, filename or
    name, otherwise in the first one. The numbers are in the column called `column` (default: the only other one).
    """
    path = Path(path)
    where = printable(path)
    lines = read_file(_lines, path)
    if not lines:
        raise DataError(f"{where}: expected a line with the names of the columns, such as 'file,volume', got nothing")
    (_, header), *rows = lines
    files, numbers = _columns(header, column, where)
    values: dict[str, float | None] = {}
    problems = []
    for number, cells in rows:
        line = f"{where}: line {number}"
        if len(cells) != len(header):
            problems.append(f"{line}: expected {len(header)} cells, got {len(cells)}")
            continue
        file = str(PurePosixPath(cells[files].replace("\\", "/")))
        if file in values:
            raise DataError(f"{line}: expected one row per file, got a second one for {printable(file)}")
        values[file] = _number(cells[numbers])
        if values[file] is None:
            problems.append(f"{line}: expected a finite number for {printable(file)}, got {brief(cells[numbers])!r}")
    if all(value is None for value in values.values()):
        reason = problems[0].removeprefix(f"{where}: ") if problems else "the table has no rows"
        raise DataError(f"{where}: no numbers in the column {header[numbers]!r} ({reason})")
    return Targets(path, header[numbers], values, tuple(problems))


def _lines(path: Path) -> list[tuple[int, list[str]]]:
    """The cells of all lines that are not empty, with the numbers of the lines."""
    with named_errors(printable(path)), only_data_errors(path):
        check_size(path)
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                first = file.readline()
                file.seek(0)
                reader = csv.reader(file, delimiter=max(DELIMITERS, key=first.count), strict=True)
                return [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader if any(cells)]
        except (UnicodeDecodeError, csv.Error) as error:
            raise DataError(f"expected a CSV table in UTF-8, got something else ({error})") from None


def _columns(header: Sequence[str], column: str | None, where: str) -> tuple[int, int]:
    """The numbers of the columns with the files and with the numbers."""
    if any(_number(cell) is not None for cell in header):
        got = brief(",".join(header))
        raise DataError(f"{where}: line 1: expected the names of the columns, such as 'file,volume', got '{got}'")
    if len(set(header)) < len(header) or len(header) < 2:
        got = brief(", ".join(header))
        raise DataError(f"{where}: line 1: expected at least two columns with different names, got {got}")
    files = next((i for i, name in enumerate(header) if name.lower() in FILE_COLUMNS), 0)
    others = [name for i, name in enumerate(header) if i != files]
    known = f"{brief(', '.join(others), 200)}, the columns of {where}"
    if column is None and len(others) > 1:
        raise DataError(f"column: expected the one with the numbers, one of {known}, got none")
    if column is not None and column not in others:
        raise DataError(f"column: expected one of {known}, got {printable(column)}{did_you_mean(column, others)}")
    return files, header.index(others[0] if column is None else column)


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
