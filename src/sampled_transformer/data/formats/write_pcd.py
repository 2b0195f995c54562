"""Write a PCD cloud again with classes: the same fields and order, as text or binary as before."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..errors import DataError
from .labelled import Labelled, class_lines, is_class_line, words
from .pcd import PADDING, PcdTable, points_in

KINDS = {"u": "U", "i": "I", "f": "F"}


def write_pcd(path: Path, table: PcdTable, file: BinaryIO, labelled: Labelled) -> list[str]:
    """Write the cloud with the fields `class` and `confidence`; returns notes about what differs from the file.

    In an organised cloud, pixels without a point get class 0 and confidence 0.
    """
    rows = points_in(table)
    if len(labelled.labels) != rows.sum():
        raise DataError(f"labels: expected one per point ({rows.sum()}), got {len(labelled.labels)}")
    added = {name: _spread(values, rows) for name, values in _columns(table, labelled).items()}
    notes = []
    if not rows.all():
        pixels = "1 pixel without a point has" if (~rows).sum() == 1 else f"{(~rows).sum()} pixels without a point have"
        notes.append(f"{pixels} class 0 and confidence 0")
    kind = "ascii" if table.header.data == "ascii" else "binary"
    if table.header.data not in ("ascii", "binary"):
        notes.append("written as binary, where the file was binary_compressed")
    file.write(_header(table, added, labelled.classes, kind))
    if kind == "ascii":
        file.write(_text(path, table, added))
    else:
        file.write(_joined(table.data, added).tobytes())
    return notes


def _columns(table: PcdTable, labelled: Labelled) -> dict[str, np.ndarray]:
    """The fields to add. Colours are packed into one number, as PCL does."""
    added = labelled._replace(coloured=False).columns()
    if labelled.coloured:
        columns = labelled.columns()
        red, green, blue = (columns[name].astype(np.uint32) for name in ("red", "green", "blue"))
        packed = red << 16 | green << 8 | blue
        fields = dict(zip(table.header.fields, zip(table.header.type, table.header.size, strict=True), strict=True))
        name = "rgba" if "rgba" in fields and "rgb" not in fields else "rgb"
        added[name] = packed if fields.get(name, ("F", 4)) == ("U", 4) else packed.view(np.float32)
    known = {name.lower(): name for name in table.header.fields}
    return {known.get(name, name): values for name, values in added.items()}


def _spread(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    spread = np.zeros(len(rows), values.dtype)
    spread[rows] = values
    return spread


def _header(table: PcdTable, added: dict[str, np.ndarray], classes: dict[int, str], kind: str) -> bytes:
    own = {
        name: {"SIZE": values.dtype.itemsize, "TYPE": KINDS[values.dtype.kind], "COUNT": 1}
        for name, values in added.items()
    }
    fields = next(line.split()[1:] for line in table.lines if line.startswith("FIELDS"))
    known = ["_" if name.startswith(PADDING) else name for name in table.header.fields]
    if fields != known:  # pypcd4 stops reading at a sign that it does not expect
        raise DataError(f"field names: expected letters and digits, got {' '.join(fields)}")
    if any(name in own and count != 1 for name, count in zip(fields, table.header.count, strict=True)):
        raise DataError(f"{' and '.join(own)}: expected one value per point, got a field with several of that name")
    lines = []
    for line in table.lines:
        key, *values = line.split() or [""]
        if key == "FIELDS":
            values += [name for name in own if name not in fields]
        elif key in ("SIZE", "TYPE", "COUNT"):
            values = [str(own[name][key]) if name in own else value for name, value in zip(fields, values, strict=True)]
            values += [str(own[name][key]) for name in own if name not in fields]
        elif key == "DATA":
            lines += [f"# {text}" for text in class_lines(classes)]
            values = [kind]
        elif line.startswith("#") and is_class_line(line.removeprefix("# ").split(None, 2)):
            continue
        else:
            lines.append(line)
            continue
        lines.append(" ".join([key, *values]))
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def _joined(data: np.ndarray, added: dict[str, np.ndarray]) -> np.ndarray:
    kinds = {name: data.dtype[name] for name in data.dtype.names or ()} | {
        name: values.dtype for name, values in added.items()
    }
    joined = np.empty(len(data), np.dtype(list(kinds.items())))
    for name in kinds:
        joined[name] = added[name] if name in added else data[name]
    return joined


def _text(path: Path, table: PcdTable, added: dict[str, np.ndarray]) -> bytes:
    """The lines of the points with their new words."""
    names = list(table.data.dtype.names or ())
    replaced = {names.index(name): words(values) for name, values in added.items() if name in names}
    appended = [words(values) for name, values in added.items() if name not in names]
    lines = [line.split() for line in path.read_bytes()[table.start :].splitlines() if line.strip()]
    for row, line in enumerate(lines):
        for place, column in replaced.items():
            line[place] = column[row]
        line += [column[row] for column in appended]
    return b"".join(b" ".join(line) + b"\n" for line in lines)
