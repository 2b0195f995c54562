"""PLY files, text and binary, with polygons of any size. A file with faces is a mesh, any other is a cloud."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from ..errors import DataError
from .meshes import Mesh, fan
from .point_files import NOT_A_SCAN, Cloud, named_columns

TYPES = {
    **dict.fromkeys(("char", "int8"), "i1"),
    **dict.fromkeys(("uchar", "uint8"), "u1"),
    **dict.fromkeys(("short", "int16"), "i2"),
    **dict.fromkeys(("ushort", "uint16"), "u2"),
    **dict.fromkeys(("int", "int32"), "i4"),
    **dict.fromkeys(("uint", "uint32"), "u4"),
    **dict.fromkeys(("float", "float32"), "f4"),
    **dict.fromkeys(("double", "float64"), "f8"),
}
CORNERS = ("vertex_indices", "vertex_index")
LIES = "truncated, or a list with a wrong length"


Column = tuple[np.ndarray, np.ndarray | None]  # values, and for a list property the number of values per row
Step = Callable[[int], tuple[int, int, int]]


@dataclass
class Property:
    """One property of an element: a number, or a list of numbers preceded by its length."""

    name: str
    type: str
    count_type: str | None = None  # type of the length; None unless it is a list


@dataclass
class Element:
    """A table in the file, such as "vertex" or "face"."""

    name: str
    count: int
    properties: list[Property] = field(default_factory=list)


@dataclass
class PlyFile:
    """What a PLY file holds: its header, and the columns of each element by name."""

    data: bytes  # the whole file
    start: int  # offset of the first byte after the header
    encoding: str
    elements: list[Element]
    columns: dict[str, dict[str, Column]]
    vertices: tuple[int, int]  # where the vertices begin and end after the header, in bytes (text: in numbers)

    @property
    def header(self) -> list[str]:
        """The lines of the header, without their ends."""
        return self.data[: self.start].decode("utf-8", "surrogateescape").splitlines()

    def corners(self) -> Column | None:
        """The corners of the faces; None if there are no faces."""
        faces = self.columns.get("face", {})
        corners = next((faces[name] for name in CORNERS if name in faces), None)
        return None if corners is None or corners[1] is None or len(corners[1]) == 0 else corners

    def vertex_columns(self) -> dict[str, np.ndarray]:
        """The properties of the vertices that are numbers, not lists."""
        return {name: values for name, (values, lengths) in self.columns.get("vertex", {}).items() if lengths is None}


def read_ply(path: Path) -> Mesh | Cloud:
    """Read a mesh, or a cloud with its normals if there are no faces."""
    ply = parse_ply(path)
    vertices = ply.vertex_columns()
    positions, normals = named_columns(list(vertices))
    if positions is None:
        raise DataError("expected vertices with x, y, z")
    columns = list(vertices.values())

    def side_by_side(places: list[int]) -> np.ndarray:
        return np.stack([columns[place] for place in places], 1).astype(np.float64)

    corners = ply.corners()
    if corners is None:
        return Cloud(side_by_side(positions), side_by_side(normals) if normals else None)
    assert corners[1] is not None
    return Mesh(side_by_side(positions), fan(corners[0].astype(np.int64), corners[1]))


def parse_ply(path: Path) -> PlyFile:
    """Read the header, the vertices, and the faces if there are any."""
    data = path.read_bytes()
    end = data.find(b"\nend_header", 0, 65_536) + 1
    start = data.find(b"\n", end) + 1
    if not data.startswith(b"ply") or end == 0 or start == 0:
        raise DataError("expected a PLY header from 'ply' to 'end_header'")
    encoding, elements = _parse_header(data[:end].decode("ascii", "replace"))
    body = data[start:]
    reader = _Text(body) if encoding == "ascii" else _Binary(body, "<" if encoding == "binary_little_endian" else ">")
    columns: dict[str, dict[str, Column]] = {}
    vertices = (0, 0)
    for element in elements:
        if {"vertex", "face"} <= columns.keys():
            break  # we do not need the edges and materials that may follow
        before = reader.position
        columns[element.name] = _read_element(reader, element)
        if element.name == "vertex":
            vertices = before, reader.position
    return PlyFile(data, start, encoding, elements, columns, vertices)


def ply_fields(ply: PlyFile) -> dict[str, np.ndarray]:
    """Every property of the vertices by name, if the file is a cloud."""
    if ply.corners() is not None:
        raise DataError(NOT_A_SCAN)
    return ply.vertex_columns()


def _parse_header(text: str) -> tuple[str, list[Element]]:
    encoding, elements = "", []
    for line in text.splitlines()[1:]:
        match line.split():
            case ["format", ("ascii" | "binary_little_endian" | "binary_big_endian") as encoding, *_]:
                pass
            case ["element", name, count] if count.isdigit():
                elements.append(Element(name, int(count)))
            case ["property", "list", count_type, kind, name] if elements and {count_type, kind} <= TYPES.keys():
                elements[-1].properties.append(Property(name, TYPES[kind], TYPES[count_type]))
            case ["property", kind, name] if elements and kind in TYPES:
                elements[-1].properties.append(Property(name, TYPES[kind]))
            case [] | ["comment" | "obj_info", *_]:
                pass
            case _:
                raise DataError(f"unknown header line '{line[:60]}'")
    if not encoding:
        raise DataError("the header names no known format")
    return encoding, elements


def _read_element(reader: _Text | _Binary, element: Element) -> dict[str, Column]:
    """Read all rows at once if all lists are as long as in the first row, otherwise row by row."""
    if element.count * len(element.properties) > reader.remaining:
        raise DataError(f"header claims {element.count} rows of '{element.name}', more than the file can hold")
    if element.count == 0 or not element.properties:
        return {p.name: (np.empty(0), np.empty(0, np.int64) if p.count_type else None) for p in element.properties}
    start = reader.position
    lengths = [len(values) for values in reader.row(element)]
    reader.position = start
    block = reader.block(element, lengths)
    if block is not None:
        return block
    return _read_ragged(reader, element)


def _read_ragged(reader: _Text | _Binary, element: Element) -> dict[str, Column]:
    """Read lists of different lengths: walk through all rows for their places, then gather each column at once."""
    short = [p for p in element.properties if p.count_type == "u1"]
    if isinstance(reader, _Binary) and len(short) == len(element.properties) == 1:
        return {short[0].name: reader.short_lists(element.count, short[0])}
    places, lengths = ([array("q") for _ in element.properties] for _ in range(2))
    steps = [reader.stepper(p) for p in element.properties]
    position = reader.position
    for _ in range(element.count):
        for step, place, length in zip(steps, places, lengths, strict=True):
            start, count, position = step(position)
            place.append(start)
            length.append(count)
    reader.position = position
    columns: dict[str, Column] = {}
    for p, place, length in zip(element.properties, places, lengths, strict=True):
        starts, counts = np.frombuffer(place, np.int64), np.frombuffer(length, np.int64)
        columns[p.name] = reader.gather(p, starts, counts), counts if p.count_type else None
    return columns


def _within(starts: np.ndarray, counts: np.ndarray, size: int) -> np.ndarray:
    """The places of all values: `counts` of them from each of `starts` on, `size` apart."""
    first = np.repeat(starts - size * (np.cumsum(counts) - counts), counts)
    places: np.ndarray = first + size * np.arange(counts.sum())
    return places


class _Text:
    """Rows of numbers as text; line breaks count as spaces."""

    def __init__(self, body: bytes) -> None:
        self.values = np.array(body.split(), dtype=np.float64)
        self.position = 0

    @property
    def remaining(self) -> int:
        return len(self.values) - self.position

    def row(self, element: Element) -> list[np.ndarray]:
        return [self._take(int(self._take(1)[0]) if p.count_type else 1) for p in element.properties]

    def stepper(self, p: Property) -> Step:
        """A function from the place of a property in a row to where its values are, how many, and what follows."""
        values, end = self.values, len(self.values)

        def step(position: int) -> tuple[int, int, int]:
            start, count = position, 1
            if p.count_type:
                start, count = position + 1, int(values[position]) if position < end else -1
            if not 0 <= count <= end - start:
                raise DataError(LIES)
            return start, count, start + count

        return step

    def gather(self, p: Property, starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.values[_within(starts, counts, 1)]
        return found

    def _take(self, count: int) -> np.ndarray:
        if not 0 <= count <= self.remaining:
            raise DataError(LIES)
        self.position += count
        return self.values[self.position - count : self.position]

    def block(self, element: Element, lengths: list[int]) -> dict[str, Column] | None:
        widths = [length + bool(p.count_type) for p, length in zip(element.properties, lengths, strict=True)]
        if element.count * sum(widths) > self.remaining:
            return None
        table = self.values[self.position :][: element.count * sum(widths)].reshape(element.count, -1)
        columns: dict[str, Column] = {}
        for p, end, width in zip(element.properties, np.cumsum(widths), widths, strict=True):
            part = table[:, end - width : end]
            if p.count_type and (part[:, 0] != width - 1).any():
                return None
            columns[p.name] = _column(part[:, 1:] if p.count_type else part, p)
        self.position += table.size
        return columns


class _Binary:
    """Rows of binary numbers."""

    def __init__(self, body: bytes, order: str) -> None:
        self.body, self.order, self.position = body, order, 0

    @property
    def remaining(self) -> int:
        return len(self.body) - self.position

    def row(self, element: Element) -> list[np.ndarray]:
        return [
            self._take(p.type, int(self._take(p.count_type, 1)[0]) if p.count_type else 1) for p in element.properties
        ]

    def stepper(self, p: Property) -> Step:
        """As that of text; places are bytes."""
        body, end, size = self.body, len(self.body), int(p.type[1])
        order: Literal["little", "big"] = "little" if self.order == "<" else "big"
        width = int(p.count_type[1]) if p.count_type else 0
        whole, signed = not p.count_type or p.count_type[0] in "iu", p.count_type is not None and p.count_type[0] == "i"

        def step(position: int) -> tuple[int, int, int]:
            start, count = position + width, 1
            if width and whole:
                count = int.from_bytes(body[position:start], order, signed=signed) if start <= end else -1
            elif width:
                count = int(np.frombuffer(body, self.order + str(p.count_type), 1, position)[0]) if start <= end else -1
            if not 0 <= size * count <= end - start:
                raise DataError(LIES)
            return start, count, start + size * count

        return step

    def short_lists(self, rows: int, p: Property) -> Column:
        """Rows of one list with a length of one byte, as faces usually are; several times faster than step by step."""
        body, position, size, lengths = self.body, self.position, int(p.type[1]), bytearray()
        try:
            for _ in range(rows):
                length = body[position]
                lengths.append(length)
                position += 1 + size * length
        except IndexError:
            raise DataError(LIES) from None
        if position > len(body):
            raise DataError(LIES)
        counts = np.frombuffer(lengths, np.uint8).astype(np.int64)
        starts = self.position + 1 + np.cumsum(1 + size * counts) - (1 + size * counts)
        self.position = position
        return self.gather(p, starts, counts), counts

    def gather(self, p: Property, starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
        size = int(p.type[1])
        places = _within(starts, counts, size)[:, None] + np.arange(size)
        found: np.ndarray = np.frombuffer(self.body, np.uint8)[places].reshape(-1).view(self.order + p.type)
        return found

    def _take(self, kind: str, count: int) -> np.ndarray:
        size = int(kind[1]) * count
        if not 0 <= size <= self.remaining:
            raise DataError(LIES)
        self.position += size
        return np.frombuffer(self.body, self.order + kind, count, self.position - size)

    def block(self, element: Element, lengths: list[int]) -> dict[str, Column] | None:
        record = []
        for i, (p, length) in enumerate(zip(element.properties, lengths, strict=True)):
            record += [(f"count{i}", self.order + p.count_type)] if p.count_type else []
            record += [(f"value{i}", self.order + p.type, (length,))]  # type: ignore[list-item]
        row = np.dtype(record)
        if element.count * row.itemsize > self.remaining:
            return None
        table = np.frombuffer(self.body, row, element.count, self.position)
        for i, (p, length) in enumerate(zip(element.properties, lengths, strict=True)):
            if p.count_type and (table[f"count{i}"] != length).any():
                return None
        self.position += table.nbytes
        return {p.name: _column(table[f"value{i}"], p) for i, p in enumerate(element.properties)}


def _column(values: np.ndarray, p: Property) -> Column:
    """The column of one property with values (rows, length)."""
    return values.reshape(-1), np.full(len(values), values.shape[1]) if p.count_type else None
