"""Label the points of files: read a scan, ask the network, write the same scan with a class and a confidence.

LAS, LAZ and binary PLY files that do not fit in memory are copied piece by piece into memory maps first, labelled tile
by tile or subset by subset with votes and labels on disk, and written piece by piece: memory does not grow with the
file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..data.axes import turn
from ..data.class_numbers import class_numbers
from ..data.errors import DataError
from ..data.fields import Scan
from ..data.remote import local_copy
from ..data.scan_writer import ScanWriter
from ..data.scans import iter_scan_chunks, read_scan, streamed_count
from ..support.lack_of_memory import memory_errors
from ..support.limits import Limits
from ..support.memory import release_pages
from ..support.printable import printable
from ..support.workspace import Workspace, pieces
from ..training.point_loading import NORMALS, PointView
from ..weights import find_weights, load_model
from .places import Place
from .segmentation import Points, Report, check_features, label_points, most_points, point_view_of
from .trained import pick_device

BYTES_TO_READ = 300  # per point of a LAS or LAZ file that is read as a whole, with all its dimensions
MANY_SHAPES = 64  # a file of more points than this many shapes of the training may be a scene
BYTES_IN_MEMORY = 120  # per point of a file that is read as a whole: positions, features, labels, votes


@dataclass(frozen=True)
class SegmentQuestion:
    """What to ask about files.

    Args:
        weights: The folder of a run, a weights file, or the name of shipped weights.
        columns: Names of the columns of text files.
        features: Where the network's features come from, {name: field}; a feature that is mapped to "" is left out.
        up: The axis that is up in the files.
        samples: Cycles to average over.
        memory: Gigabytes.
        coloured: Colour the points by class.
        device: Device.
        limits: What reading one file may take.
    """

    weights: str
    columns: Sequence[str] | None = None
    features: Mapping[str, str] = field(default_factory=dict)
    up: str | None = None
    samples: int = 1
    memory: float = 4.0
    coloured: bool = False
    device: str | None = None
    limits: Limits = field(default_factory=Limits)


@dataclass
class Labelled:
    """What became of a file."""

    file: str
    out: str | None = None
    points: int = 0
    classes: dict[str, int] = field(default_factory=dict)  # points of each class
    confidence: float = 0.0  # mean
    notes: list[str] = field(default_factory=list)


class Segmenter(NamedTuple):
    """A network that labels points, how it sees them, and the names of its classes."""

    network: Any
    view: PointView
    classes: Sequence[str]


def load_segmenter(question: SegmentQuestion) -> Segmenter:
    """Load the network of a question, and refuse what it cannot be asked."""
    if question.up == "auto":
        raise ValueError("up: expected an axis, because only classifiers can be asked, got auto")
    if question.samples < 1:
        raise ValueError(f"samples: expected at least 1, got {question.samples}")
    most_points(question.memory)  # which refuses too little
    network, description = load_model(find_weights(question.weights), pick_device(question.device))
    view = point_view_of(description, question.weights)
    for name in question.features:
        if name not in view.features:
            known = ", ".join(view.features) or "none"
            raise ValueError(f"features: expected those of the network ({known}), got {name!r}")
    return Segmenter(network, view, description.classes)


def label_place(
    segmenter: Segmenter,
    place: Place,
    out: Path,
    question: SegmentQuestion,
    done: Report,
    begun: Report = lambda count: None,
) -> Labelled:
    """Label one file, which may be remote, and write the result, in a new folder if need be.

    `begun` is called with the number of points once it is known, and `done` with that of points that are labelled.

    Every ValueError, which may be about options that do not fit this file, is a DataError that begins with its name. So
    is a lack of memory.
    """
    name = printable(place)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with memory_errors(), local_copy(place) as path:
            answer = label_file(*segmenter, path, out, question, done, begun)
    except ValueError as error:
        raise DataError(str(error) if str(error).startswith(name) else f"{name}: {error}") from None
    except MemoryError as error:
        raise DataError(f"{name}: {error}; --memory allows less") from None
    answer.file = str(place)
    return answer


def scan_features(scan: Scan, view: PointView, chosen: Mapping[str, str], axis: str | None) -> dict[str, np.ndarray]:
    """The features of a scan by the names that the network knows; normals are turned with the points."""
    known: dict[str, Any] = dict(scan.features)
    if scan.normals is not None:
        known[NORMALS] = scan.normals if axis is None else turn(scan.normals, axis)
    found = {}
    for name in view.features:
        source = chosen.get(name, name)
        if source in known:
            found[name] = known[source]
        elif name in chosen and source:
            has = ", ".join(known) or "none"
            raise DataError(f"features: expected one of the fields of the file ({has}), got {source!r}")
    return found


def label_file(
    network: Any,
    view: PointView,
    classes: Sequence[str],
    path: Path,
    out: Path,
    question: SegmentQuestion,
    done: Report,
    begun: Report = lambda count: None,
) -> Labelled:
    """Label one file and write the result."""
    most = most_points(question.memory)
    answer = Labelled(str(path))
    counts, total = np.zeros(len(classes), np.int64), 0.0
    with _opened(path, view, question) as (points, notes, space):
        begun(len(points.positions))
        labels, confidence = label_points(
            network, view, points, samples=question.samples, most=most, report=done, space=space
        )
        numbers = class_numbers(classes, path.suffix)
        names = dict(zip(numbers, classes, strict=True))
        with ScanWriter(path, out, names, coloured=question.coloured) as writer:
            for (_, own), (_, sure) in zip(pieces(labels), pieces(confidence), strict=True):
                writer.write(np.array(numbers)[own], sure)
                counts += np.bincount(own, minlength=len(classes))
                total += float(sure.sum(dtype=np.float64))
    written = writer.written()
    answer.out, answer.points = str(written.path), int(counts.sum())
    answer.classes = {name: int(count) for name, count in zip(classes, counts, strict=True) if count}
    answer.confidence = total / answer.points
    answer.notes = [*notes, *_about_size(view, answer.points), *written.notes]
    return answer


def _about_size(view: PointView, count: int) -> list[str]:
    """A note about a file with far more points than a shape of the training."""
    if view.part == "crop" or count <= MANY_SHAPES * view.points:
        return []
    trained = f"the network knows shapes of {view.points:,} points, not scenes"
    return [f"taken for one shape: {trained}; `segment train --data.part crop` makes one for scenes"]


@contextmanager
def _opened(
    path: Path, view: PointView, question: SegmentQuestion
) -> Iterator[tuple[Points, list[str], Workspace | None]]:
    """The points of a file with z up and the features that the network reads: in memory, or in memory maps.

    Then there is also a workspace on disk, which ends with them.
    """
    large = min(question.memory * 1e9 / 4 / BYTES_IN_MEMORY, question.limits.bytes_for(path) / BYTES_TO_READ)
    if (streamed_count(path) or 0) <= large:
        scan = read_scan(path, question.columns)
        positions = scan.points if question.up is None else turn(scan.points, question.up)
        found, notes = check_features(view, scan_features(scan, view, question.features, question.up), len(scan))
        yield Points(positions, found), notes, None
        return
    with tempfile.TemporaryDirectory(prefix="sampled-transformer-") as folder:
        space = Workspace(Path(folder))
        yield *_mapped(path, view, question, space), space


def _mapped(path: Path, view: PointView, question: SegmentQuestion, space: Workspace) -> tuple[Points, list[str]]:
    """Copy a large file into memory maps, piece by piece."""
    count = streamed_count(path) or 0
    positions = space.zeros((count, 3), np.float64)
    maps: dict[str, np.ndarray] = {}
    begin = 0
    for scan in iter_scan_chunks(path):
        some = slice(begin, begin + len(scan))
        if some.stop > count:
            raise DataError(f"points: expected {count}, as the header says, got more")
        positions[some] = scan.points if question.up is None else turn(scan.points, question.up)
        for name, values in scan_features(scan, view, question.features, question.up).items():
            width, rows = view.features[name], values.reshape(len(scan), -1)
            if rows.shape[1] != width:
                raise DataError(f"{name}: expected the shape {(count, width)}, got {(count, rows.shape[1])}")
            if name not in maps:
                maps[name] = space.zeros((count, width), np.float32)
            maps[name][some] = rows
            release_pages(maps[name])
        release_pages(positions)
        begin = some.stop
    if begin != count:
        raise DataError(f"points: expected {count}, as the header says, got {begin}")
    found, notes = check_features(view, maps, count)
    return Points(positions, found), notes
