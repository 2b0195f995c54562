"""Write a PLY cloud again with classes: the same header, vertices and order, in the same encoding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

import numpy as np

from ..errors import DataError
from .labelled import COLOUR, Labelled, class_lines, is_class_line, words
from .ply import Element, PlyFile, ply_fields

COLOUR_NAMES = (COLOUR, tuple(f"diffuse_{name}" for name in COLOUR))
TYPE_NAMES = {"u1": "uchar", "u2": "ushort", "u4": "uint", "f4": "float"}


def write_ply(ply: PlyFile, file: BinaryIO, labelled: Labelled) -> None:
    """Write the cloud with the properties `class` and `confidence`, which replace those of the same name."""
    added = added_columns(ply_fields(ply), labelled)
    vertex = next(element for element in ply.elements if element.name == "vertex")
    if any(one.count_type for one in vertex.properties):
        raise DataError("a vertex property is a list; expected numbers")
    if len(labelled.labels) != vertex.count:
        raise DataError(f"labels: expected one per point ({vertex.count}), got {len(labelled.labels)}")
    file.write(header_with(ply, vertex, added, labelled.classes))
    if ply.encoding == "ascii":
        file.write(_text_body(ply, vertex, added))
    else:
        for part in _binary_body(ply, vertex, added):
            file.write(part)


def added_columns(known: Iterable[str], labelled: Labelled) -> dict[str, np.ndarray]:
    """What is added to vertices with the properties `known`, by name; letters are as large as in those."""
    names = {name.lower(): name for name in known}
    colour = next((triple for triple in COLOUR_NAMES if set(triple) <= names.keys()), COLOUR)
    return {names.get(name, name): values for name, values in labelled.columns(colour).items()}


def header_with(ply: PlyFile, vertex: Element, added: dict[str, np.ndarray], classes: dict[int, str]) -> bytes:
    """The header of the file with other properties of the vertices and the names of the classes."""
    end = "\r\n" if b"\r\n" in ply.data[: ply.start] else "\n"
    own = {name: f"property {TYPE_NAMES[values.dtype.str[1:]]} {name}" for name, values in added.items()}
    known = {one.name for one in vertex.properties}
    lines: list[str] = []
    element = ""
    for line in ply.header:
        words = line.split()
        if element == "vertex" and words[:1] in (["element"], ["end_header"]):
            lines += [text for name, text in own.items() if name not in known]
        element = words[1] if words[:1] == ["element"] else element
        if words[:1] == ["comment"] and is_class_line(line.split(None, 3)[1:]):
            continue
        is_replaced = element == "vertex" and words[:1] == ["property"] and words[-1] in own
        lines.append(own[words[-1]] if is_replaced else line)
        if words[:1] == ["format"]:
            lines += [f"comment {text}" for text in class_lines(classes)]
    return "".join(line + end for line in lines).encode("utf-8", "surrogateescape")


def _text_body(ply: PlyFile, vertex: Element, added: dict[str, np.ndarray]) -> bytes:
    """The lines after the header, each vertex with its new words."""
    lines = ply.data[ply.start :].splitlines(keepends=True)
    filled = [number for number, line in enumerate(lines) if line.strip()]
    first = sum(element.count for element in ply.elements[: ply.elements.index(vertex)])
    names = [one.name for one in vertex.properties]
    replaced = {names.index(name): words(values) for name, values in added.items() if name in names}
    appended = [words(values) for name, values in added.items() if name not in names]
    for row, number in enumerate(filled[first : first + vertex.count]):
        own = lines[number].split()
        if len(own) != len(names):
            raise DataError(f"vertex {row + 1}: expected one line of {len(names)} numbers, got {len(own)}")
        for place, column in replaced.items():
            own[place] = column[row]
        end = lines[number][len(lines[number].rstrip(b"\r\n")) :] or b"\n"
        lines[number] = b" ".join([*own, *(column[row] for column in appended)]) + end
    return b"".join(lines)


def _binary_body(ply: PlyFile, vertex: Element, added: dict[str, np.ndarray]) -> Iterator[bytes]:
    """The bytes after the header, in three parts: before the vertices, the vertices, after them."""
    order = "<" if ply.encoding == "binary_little_endian" else ">"
    kinds = {one.name: one.type for one in vertex.properties}
    stored = np.dtype([(f"value{place}", order + kind) for place, kind in enumerate(kinds.values())])
    kinds |= {name: values.dtype.str[1:] for name, values in added.items()}
    wanted = np.dtype([(f"value{place}", order + kind) for place, kind in enumerate(kinds.values())])
    begin, end = (ply.start + place for place in ply.vertices)
    old = np.frombuffer(ply.data, stored, vertex.count, begin)
    new = np.empty(vertex.count, wanted)
    for place, name in enumerate(kinds):
        new[f"value{place}"] = added[name] if name in added else old[f"value{place}"]
    yield ply.data[ply.start : begin]
    yield new.tobytes()
    yield ply.data[end:]
