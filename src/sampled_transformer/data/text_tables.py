"""Read the text files of public data sets: lines of numbers between blanks, always with the same columns."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from ..support.printable import printable
from .errors import DataError
from .files import check_size, named_errors, only_data_errors
from .guard import read_file

# One published file of S3DIS has a control character instead of a blank between two numbers.
_BLANKS = bytes(byte if 32 < byte < 127 or byte in b"\n\r\t" else 32 for byte in range(256))


def read_table(path: Path, columns: str) -> np.ndarray:
    """Read a table of numbers, float32 (n, columns); `columns` are their names, such as "x y z r g b"."""
    table: np.ndarray = read_file(_parse_table, path, columns)
    return table


def _parse_table(path: Path, columns: str) -> np.ndarray:
    expected = f"expected lines {columns}"
    with named_errors(printable(path)), only_data_errors(path):
        try:
            check_size(path)
            data = path.read_bytes().translate(_BLANKS)
            if not data.strip():
                raise DataError("no numbers")
            table = np.loadtxt(io.BytesIO(data), dtype=np.float32, ndmin=2, comments=None)
        except (ValueError, OSError) as error:
            raise DataError(f"{expected} ({error})") from None
        if table.shape[1] != len(columns.split()):
            raise DataError(f"{expected}, got a table of shape {table.shape}")
        bad = ~np.isfinite(table).all(1)
        if bad.any():
            raise DataError(f"expected finite numbers, got NaN or infinity in line {bad.argmax() + 1}")
        return table
