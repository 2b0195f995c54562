"""A folder of shapes becomes a pack: in parallel, resumable, and with a line for every file that could not be read.

Finished shapes are kept in `<target>.partial` beside the target, in small archives that name each shape by a digest of
its path, size, time of change and the options. A run that is stopped in any way goes on from there, a file that has
changed is read again, and the pack itself appears only when it is whole.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..support.printable import printable
from ..support.workers import Announce, ProcessDied, run_in_processes
from . import SPLITS
from .errors import DataError
from .files import Normals, check_options, read_shape
from .formats.npz import read_arrays, write_arrays
from .pack import Pack, write_pack
from .quantise import quantise_normals, quantise_points
from .sources.folder import Listing, scan_folder

FORMAT = 1  # to be raised whenever the same file and options would give other points
CHUNK_FILES = 32
CHUNK_BYTES = 4_000_000  # of source files; bounds what a stopped run loses


class Options(NamedTuple):
    points: int
    normals: Normals
    seed: int


class Job(NamedTuple):
    path: str
    name: str
    key: str
    size: int


class Place(NamedTuple):
    """Where a finished shape lies."""

    path: Path
    row: int


class NothingPacked(DataError):
    """Not one file could be read; `problems` says why, line by line."""

    def __init__(self, message: str, problems: list[str]) -> None:
        super().__init__(message)
        self.problems = problems


@dataclass
class Report:
    """What was packed. `problems` has one line for each file that is not in the pack."""

    counts: dict[str, int] = field(default_factory=dict)  # shapes in each split
    classes: tuple[str, ...] = ()
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def pack_folder(
    source: str | Path,
    target: str | Path,
    *,
    points: int = 2048,
    normals: Normals = "keep",
    seed: int = 0,
    test_fraction: float = 0.2,
    workers: int | None = None,
    progress: bool = False,
) -> Report:
    """Pack a folder of shapes (see folder.py for its layout) into `target`.

    Args:
        source: the folder.
        target: a folder for train.npz and test.npz, or a file ending in .npz for all shapes without a split.
        points: points of each shape.
        normals: "keep" those there are (the pack has normals if every shape has), "estimate" missing ones, or "none".
        seed: decides which points are drawn and, where the tree gives no split, which shapes are for testing.
        test_fraction: share of each class for testing, where the tree gives no split.
        workers: processes; all cores if not given.
        progress: show a progress bar when there is a terminal.
    """
    target = Path(target)
    options = Options(points, normals, seed)
    workers = _cores() if workers is None else workers
    check_options(points, normals)
    if workers < 1:
        raise ValueError(f"workers: expected 1 or more, got {workers}")
    if target.exists() and target.is_dir() == (target.suffix == ".npz"):
        raise DataError(f"{printable(target)}: expected a folder, or a file that ends with .npz")
    if target.resolve().is_relative_to(Path(source).resolve()):
        raise DataError(f"{printable(target)}: lies inside the folder that is to be packed")
    listing = scan_folder(source, test_fraction=test_fraction, seed=seed)
    if target.suffix == ".npz" and listing.split_is_given:
        raise DataError(f"{printable(source)}: has a split of its own; give a folder as target, not one file")
    report = Report(problems=list(listing.problems))
    work = work_folder(target)
    try:
        finished = _read_all(listing, work, options, workers, report, progress)
        packs = _assemble(listing, finished, options, report, single=target.suffix == ".npz")
        publish(packs, target, work)
    finally:
        with suppress(OSError):
            work.rmdir()  # fails unless it is empty: what is finished stays for the next run
    report.counts = {split: len(pack) for split, pack in packs.items()}
    return report


def work_folder(target: Path) -> Path:
    """Where things are kept until the target is whole: beside it, so that they can be moved and not copied."""
    target = target.resolve()
    return target.with_name(target.name + ".partial")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _read_all(
    listing: Listing, work: Path, options: Options, workers: int, report: Report, progress: bool
) -> dict[str, Place]:
    """Read every file that is not there from an earlier run; where each finished entry lies, by its relative path."""
    from tqdm import tqdm

    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{printable(work)}: cannot write ({error.strerror})") from None
    jobs = list(_jobs(listing, options, report))
    places = _earlier(work)
    missing = [job for job in jobs if job.key not in places]
    if len(missing) < len(jobs):
        report.notes.append(f"{len(jobs) - len(missing)} of {len(jobs)} shapes were there from an earlier run")
    reader = partial(_read_chunk, work=work, options=options)
    show = None if progress else True
    with tqdm(total=len(jobs), initial=len(jobs) - len(missing), unit=" shapes", disable=show) as bar:
        for chunk, result in run_in_processes(reader, _chunks(missing), workers):
            if isinstance(result, ProcessDied):
                reason = f"the process that read it died ({result}): damaged, or too large for the memory?"
                report.problems.append(f"{printable(chunk[0].path)}: {reason}")
            else:
                report.problems += [problem for problem in result if problem]
                read = [job.key for job, problem in zip(chunk, result, strict=True) if not problem]
                places |= {key: Place(_chunk_path(work, read), row) for row, key in enumerate(read)}
            bar.update(len(chunk))
    return {job.name: places[job.key] for job in jobs if job.key in places}


def _jobs(listing: Listing, options: Options, report: Report) -> Iterator[Job]:
    for entry in listing.entries:
        try:
            status = os.stat(entry.path)
        except OSError as error:
            report.problems.append(f"{printable(entry.path)}: {error.strerror}")
            continue
        known = repr((FORMAT, entry.relative, status.st_size, status.st_mtime_ns, *options))
        key = hashlib.blake2b(known.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
        yield Job(str(entry.path), entry.relative, key, status.st_size)


def _chunks(jobs: list[Job]) -> Iterator[list[Job]]:
    """Large files first, so that no core is left waiting for one of them at the end."""
    chunk: list[Job] = []
    for job in sorted(jobs, key=lambda job: -job.size):
        chunk.append(job)
        if len(chunk) == CHUNK_FILES or sum(job.size for job in chunk) > CHUNK_BYTES:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _chunk_path(work: Path, keys: list[str]) -> Path:
    return work / f"{hashlib.blake2b(''.join(keys).encode(), digest_size=16).hexdigest()}.npz"


def _read_chunk(chunk: list[Job], announce: Announce, work: Path, options: Options) -> list[str | None]:
    """In a worker: read the files, save the shapes, and tell of each file why it could not be read."""
    problems: list[str | None] = []
    shapes = []
    for index, job in enumerate(chunk):
        announce(index)
        try:
            shapes.append(read_shape(job.path, name=job.name, **options._asdict()))
            problems.append(None)
        except DataError as error:
            problems.append(str(error))
    if not shapes:
        return problems
    keys = [job.key for job, problem in zip(chunk, problems, strict=True) if problem is None]
    normals = [np.zeros_like(shape.points) if shape.normals is None else shape.normals for shape in shapes]
    arrays = {
        "keys": np.array(keys),
        "points": np.stack([quantise_points(shape.points, normalise=False) for shape in shapes]),
        "normals": np.stack([quantise_normals(values) for values in normals]),
        "has_normals": np.array([shape.normals is not None for shape in shapes]),
        "from_mesh": np.array([shape.from_mesh for shape in shapes]),
    }
    write_arrays(_chunk_path(work, keys), arrays, compress=False)
    return problems


def _earlier(work: Path) -> dict[str, Place]:
    """Shapes of an earlier run. Archives that cannot be read are thrown away, and their shapes read again."""
    places: dict[str, Place] = {}
    for path in work.glob(".*.tmp"):
        path.unlink()
    for path in sorted(work.glob("*.npz")):
        try:
            keys = read_arrays(path)["keys"].tolist()
        except (DataError, KeyError):
            path.unlink()
            continue
        places |= {key: Place(path, row) for row, key in enumerate(keys)}
    return places


def _assemble(
    listing: Listing, finished: dict[str, Place], options: Options, report: Report, single: bool
) -> dict[str, Pack]:
    """The packs of all splits, with the classes of which at least one file could be read."""
    kept = [entry for entry in listing.entries if entry.relative in finished]
    if not kept:
        raise NothingPacked(f"{printable(listing.root)}: none of its files could be read", report.problems)
    classes = sorted({entry.category for entry in kept})
    lost = sorted({entry.category for entry in listing.entries} - set(classes))
    report.problems += [f"{printable(listing.root)}: class '{name}' has no file that could be read" for name in lost]
    report.classes = tuple(classes)
    splits = ["all"] if single else [split for split in SPLITS if any(entry.split == split for entry in kept)]
    packs = {}
    for split in splits:
        entries = [entry for entry in kept if single or entry.split == split]
        arrays = _gather([finished[entry.relative] for entry in entries], options.points)
        packs[split] = Pack(
            points=arrays["points"],
            normals=arrays["normals"] if options.normals != "none" else None,
            labels=np.array([classes.index(entry.category) for entry in entries]),
            names=np.array([entry.name for entry in entries]),
            classes=tuple(classes),
            extras={"from_mesh": arrays["from_mesh"], "has_normals": arrays["has_normals"]},
        )
    return _settle_normals(packs, report)


def _gather(places: list[Place], points: int) -> dict[str, np.ndarray]:
    """Rows out of the archives of finished shapes, each opened once."""
    arrays: dict[str, np.ndarray] = {
        "points": np.empty((len(places), points, 3), np.int16),
        "normals": np.empty((len(places), points, 3), np.int8),
        "from_mesh": np.empty(len(places), np.bool_),
        "has_normals": np.empty(len(places), np.bool_),
    }
    by_path = defaultdict(list)
    for index, place in enumerate(places):
        by_path[place.path].append(index)
    for path, sets in by_path.items():
        stored = read_arrays(path)
        for name, array in arrays.items():
            array[sets] = stored[name][[places[i].row for i in sets]]
    return arrays


def _settle_normals(packs: dict[str, Pack], report: Report) -> dict[str, Pack]:
    """Normals are for all shapes or for none: a network cannot be fed some."""
    missing = sum(int((~pack.extras["has_normals"]).sum()) for pack in packs.values())
    total = sum(len(pack) for pack in packs.values())
    if 0 < missing < total:
        report.notes.append(f"{missing} of {total} shapes have no normals, so the pack has none (--normals estimate)")
    return {
        split: replace(
            pack,
            normals=None if missing else pack.normals,
            extras={name: value for name, value in pack.extras.items() if name != "has_normals"},
        )
        for split, pack in packs.items()
    }


def publish(packs: dict[str, Pack], target: Path, work: Path) -> None:
    """Put finished files in the place of the target, and only then remove what they were made from."""
    if target.suffix == ".npz":
        write_pack(packs["all"], target)
    else:
        fresh = work / "pack"
        for split, pack in packs.items():
            write_pack(pack, fresh / f"{split}.npz")
        if target.exists():
            for file in fresh.iterdir():
                os.replace(file, target / file.name)
            for split in set(SPLITS) - packs.keys():  # of an older pack, whose classes may be others
                (target / f"{split}.npz").unlink(missing_ok=True)
        else:
            os.rename(fresh, target)
    shutil.rmtree(work, ignore_errors=True)
