"""LAS and LAZ clouds, read with laspy. laspy trusts the header, so we first compare the header with the file."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError
from ..limits import POINT_BYTES, check_need
from .labelled import classes_in
from .npz import LARGEST
from .point_files import Cloud, missing_reader

SLICE = 500_000  # points to decode at a time
CLASS_RECORD = "sampled-transf", 1  # user and record number of the record that names the classes
# What the numbers of `classification` mean (LAS 1.4, table 17).
LAS_CLASSES = {
    0: "never classified",
    1: "unclassified",
    2: "ground",
    3: "low vegetation",
    4: "medium vegetation",
    5: "high vegetation",
    6: "building",
    7: "low noise",
    9: "water",
    10: "rail",
    11: "road surface",
    13: "wire guard",
    14: "wire conductor",
    15: "transmission tower",
    16: "wire connector",
    17: "bridge deck",
    18: "high noise",
}
LARGEST_LEGACY_CLASS = 31  # point formats 0 to 5 have five bits for the class
EXTENDED = 60  # bytes of the header of an extended record
EXTRA_BYTES = 14  # LASzip's number for extra bytes, which have a layer each
LAYERS = {10: 9, 11: 1, 12: 2, 13: 1}  # of points, colours, colours with infrared, and wave packets
ANGLE_STEP = 0.006  # degrees per step of the scan angle in point formats 6 to 10


def read_las(path: Path) -> Cloud:
    """Read the points, in the units of the file."""
    check_las_need(path, POINT_BYTES)
    slices = [_points(part) for part in las_chunks(path, SLICE)]
    return Cloud(np.concatenate(slices) if slices else np.empty((0, 3)))


def check_las_need(path: Path, per_point: int | None = None) -> None:
    """Refuse a file whose points would not fit into the memory that it may take.

    `per_point` is the memory of one point (default: its place and all its dimensions, as a scan has them, and a copy).
    """
    with open_las(path) as file:
        count, dimensions = file.header.point_count, len(list(file.header.point_format.dimension_names))
    check_need(count * (per_point or 2 * (24 + 5 * dimensions)), f"{count:,} points")


def las_chunks(path: Path, size: int) -> Iterator[Any]:
    """Read the points as laspy's records, `size` at a time."""
    with open_las(path) as file:
        count, found = file.header.point_count, 0
        for part in file.chunk_iterator(size):
            found += len(part)
            yield part
        if found != count:
            raise DataError(f"header claims {count} points, but the file has {found}")


@contextmanager
def open_las(path: Path) -> Iterator[Any]:
    """Open a file with laspy, after a check that it can hold what its header claims."""
    try:
        import laspy
    except ImportError:
        raise missing_reader("laspy") from None
    _check_header(path)
    with (
        no_panics(),
        laspy.open(path, laz_backend=laspy.LazBackend.Lazrs) as file,  # LazrsParallel trusts the chunk table
    ):
        _check_compression(file.header)
        _check_layers(path, file.header)
        yield file


@contextmanager
def no_panics() -> Iterator[None]:
    """Turn a Rust panic into a DataError: it is a BaseException, but must not end the program."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise DataError(f"damaged LAZ data ({error})") from None
        raise


def _points(part: Any) -> np.ndarray:
    return np.stack([part.x, part.y, part.z], 1)


def las_fields(part: Any, divisor: int) -> dict[str, np.ndarray]:
    """Every dimension of some points by name. Colours are divided by `divisor`, scan angles are in degrees."""
    names = [name for name in part.point_format.dimension_names if name not in ("X", "Y", "Z")]
    fields = dict(zip("xyz", _points(part).T, strict=True))
    fields |= {name: np.asarray(part[name]) for name in names}
    if "red" in fields:
        fields["colour"] = np.stack([fields.pop(name) for name in ("red", "green", "blue")], 1) / np.float32(divisor)
    if "nir" in fields:
        fields["nir"] = fields["nir"] / np.float32(divisor)
    if "scan_angle" in fields:
        fields["scan_angle"] = fields["scan_angle"] * np.float32(ANGLE_STEP)
    if "scan_angle_rank" in fields:
        fields["scan_angle"] = fields.pop("scan_angle_rank").astype(np.float32)
    return fields


def colour_divisor(path: Path) -> int:
    """The number for full brightness in this file: 65535, as the format says, or 255, as many programs write it."""
    with open_las(path) as file:
        if "red" not in file.header.point_format.dimension_names:
            return 65535
        for part in file.chunk_iterator(SLICE):
            if max(part[name].max() for name in ("red", "green", "blue")) > 255:
                return 65535
    return 255


def las_classes(path: Path) -> dict[int, str]:
    """The names of the classes: those that this program has written into the file, or else those of the standard."""
    with open_las(path) as file:
        for record in file.header.vlrs:
            if (record.user_id, record.record_id) == CLASS_RECORD:
                return classes_in(record.record_data_bytes().decode("utf-8", "replace").splitlines())
    return dict(LAS_CLASSES)


def las_bounds(path: Path) -> tuple[int, np.ndarray, np.ndarray]:
    """The number of points, and their lowest and highest coordinates (3,), as the header states them."""
    with open_las(path) as file:
        header = file.header
        return header.point_count, np.array(header.mins, np.float64), np.array(header.maxs, np.float64)


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
        if extended_records and extended_start + EXTENDED * extended_records > size:
            raise DataError(f"header claims {extended_records} extended records, more than the file can hold")
        _check_extended(path, extended_start, extended_records, size)
    if header_size > data_start or data_start > size or 54 * record_count > data_start - header_size:
        raise DataError(f"damaged: header claims {record_count} records before byte {data_start} of {size}")
    is_compressed = kind & 0x80
    if count * point_size > (LARGEST if is_compressed else size - data_start):
        raise DataError(f"header claims {count} points of {point_size} bytes, but the file has {size} bytes")
    if is_compressed and count:
        _check_chunk_table(path, data_start, size)


def _check_extended(path: Path, place: int, records: int, size: int) -> None:
    """Check the lengths of extended records: laspy makes room for a record before it looks whether there is one."""
    with open(path, "rb") as file:
        for number in range(1, records + 1):
            file.seek(place)
            place += EXTENDED + struct.unpack("<20xQ", file.read(28).ljust(28, b"\0"))[0]
            if place > size:
                raise DataError(f"extended record {number} claims to end at byte {place} of {size}")


def _check_chunk_table(path: Path, data_start: int, size: int) -> int:
    """Check LASzip's chunk table, and return its place.

    Its offset is stored before the points, or in the last bytes of a streamed file.
    """
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
    return int(place)


def _check_compression(header: Any) -> None:
    """Check the LASzip record: it must list as many items as it claims, and their sizes must add up to a point."""
    for record in header.vlrs.get("LasZipVlr"):
        data = record.record_data
        count = struct.unpack("<H", data[32:34])[0] if len(data) >= 34 else 0
        sizes = struct.unpack(f"<{3 * count}H", data[34:])[1::3] if len(data) == 34 + 6 * count else ()
        if count == 0 or sum(sizes) != header.point_format.size:
            raise DataError("damaged LASzip record")


def _check_layers(path: Path, header: Any) -> None:
    """Walk through the chunks of a layered file: lazrs allocates what a chunk claims of its layers.

    A chunk is its first point as it is, the number of its points, the size of every layer, and the layers.
    """
    records = header.vlrs.get("LasZipVlr")
    if not records or header.point_format.id < 6 or not header.point_count:
        return
    items = struct.iter_unpack("<HHH", records[0].record_data[34:])
    layers = sum(size if kind == EXTRA_BYTES else LAYERS.get(kind, 0) for kind, size, _ in items)
    head = header.point_format.size + 4 + 4 * layers
    place = header.offset_to_point_data + 8
    end = _check_chunk_table(path, header.offset_to_point_data, os.path.getsize(path))
    with open(path, "rb") as file:
        while place < end:
            file.seek(place)
            words = file.read(head)[header.point_format.size :].ljust(4 + 4 * layers, b"\0")
            size = sum(struct.unpack(f"<{1 + layers}I", words)[1:])
            place += head + size
            if place > end:
                raise DataError(f"damaged LAZ data: a chunk claims layers of {size:,} bytes, which are not there")
