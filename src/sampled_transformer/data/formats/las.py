"""LAS and LAZ clouds, read with laspy. laspy trusts the header, so we first compare the header with the file."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError
from .npz import LARGEST
from .point_files import Cloud, missing_reader

SLICE = 500_000  # points to decode at a time


def read_las(path: Path) -> Cloud:
    """Read the points, in the units of the file."""
    try:
        import laspy
    except ImportError:
        raise missing_reader("laspy") from None
    _check_header(path)
    try:
        with laspy.open(path, laz_backend=laspy.LazBackend.Lazrs) as file:  # LazrsParallel trusts the chunk table
            _check_compression(file.header)
            count = file.header.point_count
            slices = [np.stack([part.x, part.y, part.z], 1) for part in file.chunk_iterator(SLICE)]
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # a Rust panic is a BaseException, but must not end the program
            raise DataError(f"damaged LAZ data ({error})") from None
        raise
    points = np.concatenate(slices) if slices else np.empty((0, 3))
    if len(points) != count:
        raise DataError(f"header claims {count} points, but the file has {len(points)}")
    return Cloud(points)


def _check_header(path: Path) -> None:
    """Check the fields of the public header block (LAS 1.4, table 3) that decide how much is read."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        head = file.read(375).ljust(375, b"\0")
    if head[:4] != b"LASF":
        raise DataError("not a LAS file; expected it to begin with LASF")
    header_size, data_start, record_count, kind, point_size, count = struct.unpack("<HIIBHI", head[94:111])
    if head[25] >= 4:  # minor version
        extended_start, extended_records, count = struct.unpack("<QIQ", head[235:255])
        if extended_records and extended_start + 60 * extended_records > size:
            raise DataError(f"header claims {extended_records} extended records, more than the file can hold")
    if header_size > data_start or data_start > size or 54 * record_count > data_start - header_size:
        raise DataError(f"damaged: header claims {record_count} records before byte {data_start} of {size}")
    is_compressed = kind & 0x80
    if count * point_size > (LARGEST if is_compressed else size - data_start):
        raise DataError(f"header claims {count} points of {point_size} bytes, but the file has {size} bytes")
    if is_compressed and count:
        _check_chunk_table(path, data_start, size)


def _check_chunk_table(path: Path, data_start: int, size: int) -> None:
    """Check LASzip's chunk table. Its offset is stored before the points, or in the last bytes of a streamed file."""
    with open(path, "rb") as file:
        place = -1
        for pointer in (data_start, size - 8):
            if place == -1:
                file.seek(pointer)
                place = struct.unpack("<q", file.read(8).ljust(8, b"\0"))[0]
        if not data_start <= place <= size - 8:
            raise DataError("damaged or truncated: no chunk table")
        file.seek(place + 4)
        chunks = struct.unpack("<I", file.read(4))[0]
    if chunks > size:
        raise DataError(f"chunk table claims {chunks} chunks, more than the file can hold")


def _check_compression(header: Any) -> None:
    """Check the LASzip record: it must list as many items as it claims, and their sizes must add up to a point."""
    for record in header.vlrs.get("LasZipVlr"):
        data = record.record_data
        count = struct.unpack("<H", data[32:34])[0] if len(data) >= 34 else 0
        sizes = struct.unpack(f"<{3 * count}H", data[34:])[1::3] if len(data) == 34 + 6 * count else ()
        if count == 0 or sum(sizes) != header.point_format.size:
            raise DataError("damaged LASzip record")
