"""Write a scan again with a class and a confidence per point, in the format that it came in: `write_scan`.

`ScanWriter` takes the classes piece by piece. LAS, LAZ and binary PLY files are read and written along with them, so
that only a piece is in memory; other formats are written when the last piece has come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import numpy as np

from ..support.atomic import atomic_write
from ..support.printable import printable
from .errors import DataError
from .files import LARGEST_FILE, LARGEST_STREAMED, check_size, named_errors, only_data_errors
from .formats.kitti import kitti_fields, label_file
from .formats.labelled import Labelled, class_type
from .formats.npz import write_arrays
from .formats.pcd import parse_pcd
from .formats.ply import parse_ply
from .formats.ply_chunks import PlyCopy
from .formats.write_las import LasCopy
from .formats.write_numpy import labelled_arrays
from .formats.write_pcd import write_pcd
from .formats.write_ply import write_ply
from .formats.write_text import write_text
from .scans import STREAMED, TEXT, streamed_ply

# The suffix of what we write, by the suffix of what we read; LAS and LAZ may become each other.
WRITTEN = {suffix: suffix for suffix in (".ply", ".pcd", *TEXT, ".npz")} | {".npy": ".npz", ".bin": ".label"}
CONFIDENCE = ".confidence.npy"  # goes with a .label file, which has no room for it


class Written(NamedTuple):
    """The file that was written, and what differs from what one might expect."""

    path: Path
    notes: tuple[str, ...] = ()


def write_scan(
    source: str | Path,
    out: str | Path,
    labels: np.ndarray,
    confidence: np.ndarray,
    classes: Mapping[int, str] | Sequence[str],
    *,
    coloured: bool = False,
) -> Written:
    """Write the scan `source` to `out` with a class and a confidence per point; the order of the points is the same.

    Args:
        source: A file that `read_scan` reads.
        out: The file to write, in the same format (LAS and LAZ may be exchanged). Its folder must exist.
        labels: Class number per point, (n,).
        confidence: Confidence per point, (n,), stored as float32.
        classes: Names of the classes by number, or in the order of their numbers.
        coloured: Colour the points by class, where the format has room for colours.
    """
    with ScanWriter(source, out, classes, coloured=coloured) as writer:
        writer.write(labels, confidence)
    return writer.written()


class ScanWriter:
    """Writes a scan again with classes, piece by piece, in a `with` block. The arguments are those of `write_scan`.

    The file appears when the block ends without an error. By then every point must have its class.
    """

    def __init__(
        self,
        source: str | Path,
        out: str | Path,
        classes: Mapping[int, str] | Sequence[str],
        *,
        coloured: bool = False,
    ) -> None:
        self.source = Path(source)
        self.path, self.notes = output_path(self.source, Path(out))
        self.classes = _checked_classes(classes)
        self.coloured = coloured
        self._type = class_type(self.classes)
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []
        self._copy: LasCopy | PlyCopy | None = None
        self._block = self._writing()
        self._is_open = False

    def write(self, labels: np.ndarray, confidence: np.ndarray) -> None:
        """Give the next points, in the order of the file, their class numbers (n,) and confidences (n,)."""
        if not self._is_open:
            raise ValueError("write: expected a with block around it, got none")
        labels, confidence = np.asarray(labels), np.asarray(confidence)
        if labels.ndim != 1 or labels.dtype.kind not in "iu":
            raise ValueError(f"labels: expected integers of shape (n,), got {labels.dtype} {labels.shape}")
        if confidence.shape != labels.shape or confidence.dtype.kind != "f":
            found = f"{confidence.dtype} {confidence.shape}"
            raise ValueError(f"confidence: expected floats of shape {labels.shape}, as labels, got {found}")
        unknown = np.setdiff1d(labels, list(self.classes))
        if len(unknown):
            raise ValueError(f"labels: expected numbers of classes, got {unknown[0]}, which has no name")
        labels, confidence = labels.astype(self._type), confidence.astype(np.float32)
        if self._copy is None:
            self._parts.append((labels, confidence))
            return
        with self._errors():
            self._copy.write(labels, confidence)

    def written(self) -> Written:
        """What was written, once the block has ended."""
        return Written(self.path, tuple(self.notes))

    def __enter__(self) -> ScanWriter:
        self._block.__enter__()
        self._is_open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._is_open = False
        return self._block.__exit__(kind, error, trace)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        rows = streamed_ply(self.source)
        with named_errors(printable(self.source)):
            check_size(self.source, LARGEST_STREAMED if rows or _is_las(self.source) else LARGEST_FILE)
        if rows is None and not _is_las(self.source):
            yield
            with self._errors():
                self._write_whole()
            return
        with ExitStack() as closing:
            with self._errors():
                file = closing.enter_context(atomic_write(self.path))
                copy: LasCopy | PlyCopy
                if rows is not None:
                    copy = PlyCopy(self.source, rows, file, self.classes, self.coloured)
                else:
                    compress = self.path.suffix.lower() == ".laz"
                    copy = LasCopy(self.source, file, self.classes, compress=compress, coloured=self.coloured)
                self._copy = copy
                closing.enter_context(copy)
            yield
            with self._errors():
                copy.finish()
                self.notes += copy.notes

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn whatever goes wrong into a DataError. The source was read before, so an OSError concerns the result."""
        problem: OSError | None = None
        with named_errors(printable(self.source)), only_data_errors(self.source):
            try:
                yield
            except OSError as error:
                problem = error
        if problem is not None:
            raise DataError(f"{printable(self.path)}: cannot write ({problem.strerror or problem})")

    def _write_whole(self) -> None:
        if not self._parts:
            raise DataError("labels: expected one per point, got none")
        labels, confidence = (np.concatenate(parts) for parts in zip(*self._parts, strict=True))
        labelled = Labelled(labels, confidence, self.classes, self.coloured)
        suffix = self.source.suffix.lower()
        if self.coloured and suffix in (".npz", ".npy", ".bin"):
            self.notes.append(f"not coloured: expected PLY, PCD, text or LAS for that, got {suffix}")
        if suffix in (".npz", ".npy"):
            write_arrays(self.path, labelled_arrays(self.source, labelled))
        elif suffix == ".bin":
            self._write_kitti(labelled)
        else:
            with atomic_write(self.path) as file:
                if suffix == ".ply":
                    write_ply(parse_ply(self.source), file, labelled)
                elif suffix == ".pcd":
                    self.notes += write_pcd(self.source, parse_pcd(self.source), file, labelled)
                else:
                    write_text(self.source, file, labelled)

    def _write_kitti(self, labelled: Labelled) -> None:
        count = len(kitti_fields(self.source)["x"])
        if len(labelled.labels) != count:
            raise DataError(f"labels: expected one per point ({count}), got {len(labelled.labels)}")
        with atomic_write(self.path) as file, atomic_write(self.path.with_suffix(CONFIDENCE)) as beside:
            file.write(labelled.labels.astype("<u4").tobytes())
            np.save(beside, labelled.confidence, allow_pickle=False)


def output_path(source: Path, out: Path) -> tuple[Path, list[str]]:
    """The file that `write_scan` writes for `out`, and notes if it has another suffix; a ValueError if it cannot."""
    suffix, wanted, path = source.suffix.lower(), out.suffix.lower(), settled_name(source, out)
    own = path.suffix.lower()
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ValueError(f"out: expected a file in an existing folder, got {printable(path)!r}")
    taken = [source, label_file(source) if suffix == ".bin" else None]
    if path.exists() and any(file is not None and file.exists() and path.samefile(file) for file in taken):
        raise ValueError(f"out: expected another file than the scan and its labels, got {printable(path)!r}")
    notes = [] if wanted == own else [f"written as {printable(path.name)}, since {suffix} has no room for classes"]
    return path, notes


def settled_name(source: Path, out: Path) -> Path:
    """`out` with the suffix that the result of `source` has; no file is touched."""
    suffix, wanted = source.suffix.lower(), out.suffix.lower()
    known = [*STREAMED, *WRITTEN]
    if suffix not in known:
        raise ValueError(f"source: expected a scan as {' '.join(known)}, got {printable(suffix or 'no suffix')}")
    own = wanted if _is_las(source) and wanted in STREAMED else WRITTEN.get(suffix, suffix)
    if wanted not in (suffix, own):
        raise ValueError(f"out: expected a file name ending in {own}, got {printable(out)!r}")
    return out if wanted == own else out.with_suffix(own)


def _is_las(path: Path) -> bool:
    return path.suffix.lower() in STREAMED


def _checked_classes(classes: Mapping[int, str] | Sequence[str]) -> dict[int, str]:
    named = dict(classes) if isinstance(classes, Mapping) else dict(enumerate(classes))
    if not named or not all(0 <= number < 2**32 for number in named):
        raise ValueError(f"classes: expected names by number from 0 on, got {named or 'none'}")
    return {int(number): str(name) for number, name in sorted(named.items())}
