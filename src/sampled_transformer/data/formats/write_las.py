"""Write a LAS or LAZ file again with classes, piece by piece.

laspy would write its own header. We copy the header, the records and the points byte by byte instead, and change only
what has to change: the classification, extra bytes behind each point, and the offsets in the header (LAS 1.4, R15).
"""

from __future__ import annotations

import os
import struct
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ...support.palette import class_colours
from ..errors import DataError
from .labelled import class_lines, class_type
from .las import CLASS_RECORD, LARGEST_LEGACY_CLASS, no_panics, open_las
from .point_files import missing_reader

SIZES = (20, 28, 26, 34, 57, 63, 30, 36, 38, 59, 67)  # bytes per point without extra bytes, by point format
COLOUR_AT = {2: 20, 3: 28, 5: 28, 7: 30, 8: 30, 10: 30}  # where the colour is in a point, by point format
EXTRA_SIZES = (0, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8)  # bytes of an extra dimension, by type; arrays have types above 10
EXTRA_TYPES = {"u1": 1, "u2": 3, "u4": 5, "f4": 9}
DESCRIPTION = 192  # bytes that describe an extra dimension
RECORD, EXTENDED = struct.Struct("<H16sHH32s"), struct.Struct("<H16sHQ32s")  # headers of variable length records
ZIP_RECORD = "laszip encoded", 22204
EXTRA_RECORD = "LASF_Spec", 4
INDEX_USER = "copc"  # of the records of a COPC file, which say where in the file to find which points
WITH_WAVES = (4, 5, 9, 10)  # point formats with waveforms
SMALLEST_HEADER = 227  # bytes, before LAS 1.3
COPIED_AT_ONCE = 1 << 20  # bytes


class Record(NamedTuple):
    """A variable length record: its header as it is, and its data."""

    header: tuple[Any, ...]
    data: bytes

    @property
    def key(self) -> tuple[str, int]:
        return _key(self.header)

    def packed(self) -> bytes:
        reserved, user, number, _, text = self.header
        return RECORD.pack(reserved, user, number, len(self.data), text) + self.data


class LasCopy:
    """A copy of `source` in `file` that gets classes. Call `write` for all points in their order, then `finish`."""

    def __init__(
        self, source: Path, file: BinaryIO, classes: dict[int, str], *, compress: bool, coloured: bool = False
    ) -> None:
        self.source, self.file, self.compress = source, file, compress
        self.notes: list[str] = []
        self.header = bytearray(_head(source))
        self.kind = self.header[104] & 0x3F  # the upper two bits say that the points are compressed
        if self.kind >= len(SIZES):
            raise DataError(f"point format: expected 0 to {len(SIZES) - 1}, got {self.kind}")
        self.added: dict[str, np.dtype[Any]] = {"confidence": np.dtype("<f4")}
        limit = LARGEST_LEGACY_CLASS if self.kind < 6 else 255
        self.in_classification = max(classes) <= limit
        if not self.in_classification:
            self.added["class"] = class_type(classes).newbyteorder("<")
            why = f"point format {self.kind} has no room for classes above {limit}"
            self.notes.append(f"the extra dimension 'class' has the classes, and classification is as before: {why}")
        self.coloured = coloured and self.kind in COLOUR_AT
        if coloured and not self.coloured:
            self.notes.append(f"not coloured: point format {self.kind} has no colours")
        with ExitStack() as opened:
            self.reader = opened.enter_context(open_las(source))
            self.left, self.written = self.reader.header.point_count, 0
            self._write_head(classes)
            self.closing = opened.pop_all()

    def write(self, labels: np.ndarray, confidence: np.ndarray) -> None:
        """Write the next points with these classes and confidences."""
        if len(labels) > self.left:
            raise DataError(f"labels: expected one per point ({self.written + self.left}), got more")
        with no_panics():
            points = self.reader.read_points(len(labels)).array
        if len(points) != len(labels) or points.dtype.itemsize != self.old_size:
            raise DataError("damaged: the points end before their number in the header")
        old = np.frombuffer(points.tobytes(), np.uint8).reshape(len(points), self.old_size)
        kept = old[:, self.kept].copy()
        if self.in_classification and self.kind < 6:
            kept[:, 15] = (kept[:, 15] & ~np.uint8(LARGEST_LEGACY_CLASS)) | labels.astype(np.uint8)
        elif self.in_classification:
            kept[:, 16] = labels
        if self.coloured:
            place = COLOUR_AT[self.kind]
            wide = class_colours(labels).astype("<u2") * 257  # from 0..255 to 0..65535
            kept[:, place : place + 6] = np.ascontiguousarray(wide, "<u2").view(np.uint8)
        values = {"confidence": confidence, "class": labels}
        new = [np.ascontiguousarray(values[name], kind)[:, None].view(np.uint8) for name, kind in self.added.items()]
        with no_panics():
            self._put(np.ascontiguousarray(np.concatenate([kept, *new], 1)))
        self.left -= len(labels)
        self.written += len(labels)

    def finish(self) -> None:
        """Write what follows the points, and the offsets that are known only now."""
        if self.left:
            raise DataError(f"labels: expected one per point ({self.written + self.left}), got {self.written}")
        if self.compressor is not None:
            self.compressor.done()
        self._write_tail()
        self.file.seek(0)
        self.file.write(self.header)

    def __enter__(self) -> LasCopy:
        return self

    def __exit__(self, *_error: object) -> None:
        self.closing.close()

    def _put(self, rows: np.ndarray) -> None:
        if self.compressor is None:
            self.file.write(rows.data)
        else:
            self.compressor.compress_many(rows.reshape(-1))

    def _write_head(self, classes: dict[int, str]) -> None:
        size, start, count = struct.unpack_from("<HII", self.header, 94)
        self.old_size = struct.unpack_from("<H", self.header, 105)[0]
        with open(self.source, "rb") as file:
            file.seek(size)
            between = file.read(start - size)
        records, padding = _records(between, count)
        self.old_start = start
        if any(record.key[0] == INDEX_USER for record in records):
            self.notes.append("the index of the COPC file is left out, since it holds for the old file only")
        extra = [record for record in records if record.key == EXTRA_RECORD]
        described, self.kept = self._kept_bytes(b"".join(record.data for record in extra))
        described += b"".join(_description(name, kind) for name, kind in self.added.items())
        own = [extra[0]._replace(data=described) if extra else _record(EXTRA_RECORD, "extra bytes", described)]
        own.append(_record(CLASS_RECORD, "classes", "\n".join(class_lines(classes)).encode()))
        new_size = len(self.kept) + sum(kind.itemsize for kind in self.added.values())
        if self.compress:
            lazrs = _lazrs()
            laz = lazrs.LazVlr.new_for_compression(self.kind, new_size - SIZES[self.kind])
            own.append(_record(ZIP_RECORD, "lazrs", laz.record_data()))
        replaced = {ZIP_RECORD, CLASS_RECORD, EXTRA_RECORD}
        kept = [record for record in records if record.key[0] != INDEX_USER and record.key not in replaced]
        packed = b"".join(record.packed() for record in [*kept, *own]) + padding
        struct.pack_into("<II", self.header, 96, size + len(packed), len(kept) + len(own))
        self.header[104] = self.kind | (0x80 if self.compress else 0)
        struct.pack_into("<H", self.header, 105, new_size)
        self.file.write(self.header + packed)
        self.compressor = lazrs.LasZipCompressor(self.file, laz) if self.compress else None

    def _kept_bytes(self, described: bytes) -> tuple[bytes, np.ndarray]:
        """The descriptions of the extra dimensions that stay, and which bytes of a point stay."""
        place = SIZES[self.kind]
        kept, texts = list(range(place)), []
        for start in range(0, len(described) - len(described) % DESCRIPTION, DESCRIPTION):
            text = described[start : start + DESCRIPTION]
            size = _extra_size(text)
            if text[4:36].partition(b"\0")[0].decode("utf-8", "replace").lower() not in self.added:
                kept += range(place, place + size)
                texts.append(text)
            place += size
        if place > self.old_size:
            raise DataError(f"damaged: the extra dimensions need {place} bytes per point, but it has {self.old_size}")
        if place < self.old_size:  # bytes that no record describes; readers count on a description now
            kept += range(place, self.old_size)
            texts.append(_description("undescribed", np.dtype(f"V{self.old_size - place}")))
        return b"".join(texts), np.array(kept)

    def _write_tail(self) -> None:
        """Copy what follows the points: extended records, waveforms."""
        size, minor = len(self.header), self.header[25]
        has_waves = minor >= 3 and size >= 235 and self.kind in WITH_WAVES
        waves = struct.unpack_from("<Q", self.header, 227)[0] if has_waves else 0
        start, count = struct.unpack_from("<QI", self.header, 235) if minor >= 4 and size >= 247 else (0, 0)
        end = os.path.getsize(self.source)
        with open(self.source, "rb") as file:
            if self.old_start < waves < end and (not count or waves < start):
                struct.pack_into("<Q", self.header, 227, self.file.tell())
                _copy(file, self.file, waves, start if count else end)
            if not count:
                return
            new_start, kept = self.file.tell(), 0
            for _ in range(count):
                file.seek(start)
                header = EXTENDED.unpack(file.read(EXTENDED.size).ljust(EXTENDED.size, b"\0"))
                stop = start + EXTENDED.size + header[3]
                if stop > end:
                    raise DataError("damaged: an extended record is longer than the file")
                if _key(header)[0] != INDEX_USER:
                    if start == waves:
                        struct.pack_into("<Q", self.header, 227, self.file.tell())
                    _copy(file, self.file, start, stop)
                    kept += 1
                start = stop
        struct.pack_into("<QI", self.header, 235, new_start if kept else 0, kept)


def _lazrs() -> Any:
    try:
        import lazrs
    except ImportError:
        raise missing_reader("lazrs") from None
    return lazrs


def _head(path: Path) -> bytes:
    """The bytes of the public header block."""
    with open(path, "rb") as file:
        head = file.read(SMALLEST_HEADER).ljust(SMALLEST_HEADER, b"\0")
        size = struct.unpack_from("<H", head, 94)[0]
        if size < SMALLEST_HEADER:
            raise DataError(f"damaged: expected a header of {SMALLEST_HEADER} bytes or more, got {size}")
        return head + file.read(size - SMALLEST_HEADER)


def _key(header: tuple[Any, ...]) -> tuple[str, int]:
    """The user and the number of a record; what follows the first zero byte of a name has no meaning."""
    return header[1].partition(b"\0")[0].decode("utf-8", "replace"), header[2]


def _records(data: bytes, count: int) -> tuple[list[Record], bytes]:
    """The records between the header and the points, and the bytes behind them."""
    records, place = [], 0
    for _ in range(count):
        if place + RECORD.size > len(data):
            raise DataError("damaged: the records are longer than the space before the points")
        header = RECORD.unpack_from(data, place)
        place += RECORD.size
        records.append(Record(header, data[place : place + header[3]]))
        place += header[3]
    return records, data[place:]


def _record(key: tuple[str, int], text: str, data: bytes) -> Record:
    return Record((0, key[0].encode(), key[1], len(data), text.encode()), data)


def _extra_size(text: bytes) -> int:
    """The bytes of an extra dimension. Type 0 is a block of bytes, and types 11 to 30 are two or three numbers."""
    kind, options = text[2], text[3]
    return options if kind == 0 else EXTRA_SIZES[(kind - 1) % 10 + 1] * ((kind - 1) // 10 + 1)


def _description(name: str, kind: np.dtype[Any]) -> bytes:
    """Describe an extra dimension."""
    code = EXTRA_TYPES.get(kind.str[1:], 0)
    head = struct.pack("<2xBB32s", code, 0 if code else kind.itemsize, name.encode())
    return head.ljust(DESCRIPTION, b"\0")


def _copy(source: BinaryIO, target: BinaryIO, start: int, stop: int) -> None:
    source.seek(start)
    while start < stop:
        data = source.read(min(COPIED_AT_ONCE, stop - start))
        if not data:
            raise DataError("damaged: the file ends early")
        target.write(data)
        start += len(data)
