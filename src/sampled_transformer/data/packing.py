"""Turn a folder of shapes into a pack: in parallel, resumable, and with one line per file that cannot be read.

Finished shapes are kept in `<target>.partial` next to the target, in small archives. Each shape has a key: a digest of
its path, size, modification time and the options. An interrupted run continues from there and reads changed files
again. The pack itself appears only when it is complete.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import warnings
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..support.atomic import clear_leftovers
from ..support.limits import Limits
from ..support.locks import locked
from ..support.printable import printable
from ..support.workers import Announce, Engine, ProcessDied, Work, available_cores, run_in_processes
from . import SPLITS
from .axes import check_up, standard_up
from .class_counts import lines_about_missing
from .errors import DataError
from .files import NAMELESS, Normals, check_options, read_shape
from .formats.npz import read_arrays, write_arrays
from .guard import current_limits, explain_death, guard_here
from .pack import Pack, write_pack
from .quantise import quantise_normals, quantise_points
from .sources.folder import Entry, Listing, scan_folder
from .targets import Targets

FORMAT = 2  # increase it whenever the same file and options would give different points
CHUNK_FILES = 32
CHUNK_BYTES = 4_000_000  # of source files; limits how much work an interrupted run loses


class Options(NamedTuple):
    points: int
    normals: Normals
    seed: int
    up: str | None = None


class Job(NamedTuple):
    path: str
    name: str
    key: str
    size: int


class Stored(NamedTuple):
    """A shape as a pack stores it."""

    points: np.ndarray  # (n, 3) int16
    normals: np.ndarray  # (n, 3) int8, zeros if there are none
    has_normals: bool
    from_mesh: bool


class Place(NamedTuple):
    """Where a finished shape is stored."""

    path: Path
    row: int


class Outcome(NamedTuple):
    """What came of reading one file."""

    problem: str | None = None  # why it failed
    unused: str = ""  # columns that are not used


class NothingPacked(DataError):
    """No file could be read; `problems` says why, one line per file."""

    def __init__(self, message: str, problems: list[str]) -> None:
        super().__init__(message)
        self.problems = problems


@dataclass
class Report:
    """What was packed. `problems` has one line per file that is not in the pack."""

    counts: dict[str, int] = field(default_factory=dict)  # shapes per split
    classes: tuple[str, ...] = ()
    target_name: str = ""  # what float labels measure
    point_classes: tuple[str, ...] = ()  # classes of single points
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
    targets: Targets | None = None,
    up: str | None = None,
    workers: int | None = None,
    progress: bool = False,
    engine: Engine | None = None,
) -> Report:
    """Pack a folder of shapes into `target`. sources/folder.py describes the layout of the folder.

    Args:
        source: The folder of shapes.
        target: A folder for train.npz and test.npz, or a file name ending in .npz for one pack without a split.
        points: Points per shape.
        normals: "keep" uses existing normals (the pack has normals only if every shape does), "estimate" also
            estimates missing ones, "none" drops them.
        seed: Seed of the points and, if the folder has no train/test split, of the split.
        test_fraction: Share of each class that becomes test data, if the folder has no split.
        targets: Numbers to predict, which become the labels instead of the classes.
        up: The axis that is up in the files and becomes z (default: what the format prescribes, see `read_shape`).
        workers: Number of processes (default: one per core).
        progress: Show a progress bar when running in a terminal.
        engine: Read elsewhere than in processes of this machine, such as in a Ray cluster; see `engine.find_engine`.
            The pack is the same, to the bit.
    """
    target = Path(target)
    options = Options(points, normals, seed, up)
    workers = available_cores() if workers is None else workers
    check_options(points, normals)
    check_up(up)
    if workers < 1:
        raise ValueError(f"workers: expected at least 1, got {workers}")
    if target.exists() and target.is_dir() == (target.suffix == ".npz"):
        raise DataError(f"target: expected a folder or a file name ending in .npz, got {printable(target)}")
    if target.resolve().is_relative_to(Path(source).resolve()):
        raise DataError(f"target: expected a path outside the folder of shapes, got {printable(target)}")
    listing = scan_folder(source, test_fraction=test_fraction, seed=seed, targets=targets)
    if target.suffix == ".npz" and listing.split_is_given:
        raise DataError(f"target: expected a folder, because {printable(source)} has a split, got {printable(target)}")
    report = Report(problems=list(listing.problems))
    work = work_folder(target)
    with one_writer(target):
        try:
            finished = _read_all(listing, work, options, workers, report, progress, engine)
            packs = _assemble(listing, finished, options, report, target.suffix == ".npz", targets)
            publish(packs, target, work)
        finally:
            with suppress(OSError):
                work.rmdir()  # fails unless it is empty, so finished shapes stay for the next run
    report.counts = {split: len(pack) for split, pack in packs.items()}
    if {"train", "test"} <= packs.keys():
        report.notes += lines_about_missing(packs["train"], packs["test"])
    return report


def refuse_existing(target: str | Path) -> None:
    """Raise a DataError if there is a pack at the target."""
    place = Path(target)
    files = [place] if place.suffix == ".npz" else [place / f"{split}.npz" for split in SPLITS]
    if any(file.is_file() for file in files):
        raise DataError(f"target: expected no pack yet, got {printable(place)}, which holds one; --force replaces it")


def work_folder(target: Path) -> Path:
    """Where finished shapes wait until the target is complete: next to it, so that they can be moved, not copied."""
    target = target.resolve()
    return target.with_name(target.name + ".partial")


@contextmanager
def one_writer(target: Path) -> Iterator[None]:
    """Be the only one who writes a pack: two would read the same shapes, and remove each other's finished ones."""
    path = target.resolve()
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(path.with_name(f".{path.name}.lock"), "target", printable(target)))
        except ValueError as error:
            raise DataError(str(error)) from None
        clear_leftovers(path.parent, path.name)
        clear_leftovers(path)
        yield


def _read_all(
    listing: Listing,
    work: Path,
    options: Options,
    workers: int,
    report: Report,
    progress: bool,
    engine: Engine | None,
) -> dict[str, Place]:
    """Read every file that an earlier run has not finished; return the place of each shape, by relative path."""
    from tqdm import tqdm

    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{printable(work)}: cannot write ({error.strerror})") from None
    jobs = list(_jobs(listing, options, report))
    places = _finished_earlier(work)
    missing = [job for job in jobs if job.key not in places]
    if len(missing) < len(jobs):
        report.notes.append(f"{len(jobs) - len(missing)} of {len(jobs)} shapes were finished by an earlier run")
    chunks, limits = _chunks(missing), current_limits()
    if engine is None:
        results = run_in_processes(partial(_read_chunk, work=work, options=options, limits=limits), chunks, workers)
    else:
        results = _by_engine(engine, chunks, work, partial(_read_shapes, options=options, limits=limits))
    show = None if progress else True
    unused: dict[tuple[str, str], list[str]] = defaultdict(list)
    with tqdm(total=len(jobs), initial=len(jobs) - len(missing), unit=" shapes", disable=show) as bar:
        for chunk, result in results:
            if isinstance(result, ProcessDied):
                report.problems.append(explain_death(str(result), Path(chunk[0].path), limits))
            else:
                report.problems += [outcome.problem for outcome in result if outcome.problem]
                read = [job.key for job, outcome in zip(chunk, result, strict=True) if not outcome.problem]
                for job, outcome in zip(chunk, result, strict=True):
                    if outcome.unused:
                        unused[Path(job.path).suffix, outcome.unused].append(job.name)
                places |= {key: Place(_chunk_path(work, read), row) for row, key in enumerate(read)}
            bar.update(len(chunk))
    for (suffix, columns), names in sorted(unused.items()):
        files = f"{len(names)} {suffix} file{'s' * (len(names) > 1)} (first: {printable(min(names))})"
        report.notes.append(f"{columns} not used in {files}; {NAMELESS}")
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
    """Group the jobs into chunks, large files first, so that no core waits for a large file at the end."""
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


def _read_chunk(chunk: list[Job], announce: Announce, work: Path, options: Options, limits: Limits) -> list[Outcome]:
    """Run in a worker: read the files and save the shapes. Return what came of each file."""
    return _save(list(zip(chunk, _read_shapes(chunk, announce, options, limits), strict=True)), work)


def _by_engine(
    engine: Engine, chunks: Iterator[list[Job]], work: Path, reader: Work
) -> Iterator[tuple[list[Job], Any]]:
    """The same as `run_in_processes` with `_read_chunk`. Its processes may not see our disk, so we save here."""
    for _, pairs in engine(reader, ([chunk] for chunk in chunks)):
        alive = [pair for pair in pairs if not isinstance(pair[1], ProcessDied)]
        yield [job for job, _ in alive], _save(alive, work)
        yield from (([job], found) for job, found in pairs if isinstance(found, ProcessDied))


def _read_shapes(
    chunk: list[Job], announce: Announce, options: Options, limits: Limits
) -> list[tuple[Outcome, Stored | None]]:
    """Return what came of each file, and its shape as a pack stores it. If this process dies, others go on."""
    guard_here(limits, expendable=True)
    found: list[tuple[Outcome, Stored | None]] = []
    for index, job in enumerate(chunk):
        announce(index)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the report has one line for all files
                shape = read_shape(job.path, **options._asdict())
        except DataError as error:
            found.append((Outcome(str(error)), None))
            continue
        normals = np.zeros_like(shape.points) if shape.normals is None else shape.normals
        points = quantise_points(shape.points, normalise=False)
        stored = Stored(points, quantise_normals(normals), shape.normals is not None, shape.from_mesh)
        found.append((Outcome(unused=shape.unused), stored))
    return found


def _save(pairs: list[tuple[Job, tuple[Outcome, Stored | None]]], work: Path) -> list[Outcome]:
    """Save the shapes that could be read in one archive. Return what came of each file."""
    read = [(job.key, stored) for job, (_, stored) in pairs if stored is not None]
    if read:
        keys = [key for key, _ in read]
        arrays = {name: np.stack([getattr(one, name) for _, one in read]) for name in Stored._fields}
        write_arrays(_chunk_path(work, keys), {"keys": np.array(keys), **arrays}, compress=False)
    return [outcome for _, (outcome, _) in pairs]


def _finished_earlier(work: Path) -> dict[str, Place]:
    """The shapes that an earlier run finished. We delete unreadable archives and read their shapes again."""
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
    listing: Listing,
    finished: dict[str, Place],
    options: Options,
    report: Report,
    single: bool,
    targets: Targets | None,
) -> dict[str, Pack]:
    """Build one pack per split. A class without a readable file is dropped and reported."""
    kept = [entry for entry in listing.entries if entry.relative in finished]
    if not kept:
        raise NothingPacked(f"{printable(listing.root)}: no file could be read", report.problems)
    classes = sorted({entry.category for entry in kept}) if targets is None else []
    lost = sorted({entry.category for entry in listing.entries} - set(classes)) if targets is None else []
    report.problems += [f"{printable(listing.root)}: class '{name}' has no readable file" for name in lost]
    report.classes, report.target_name = tuple(classes), "" if targets is None else targets.name
    splits = ["all"] if single else [split for split in SPLITS if any(entry.split == split for entry in kept)]
    packs = {}
    for split in splits:
        entries = [entry for entry in kept if single or entry.split == split]
        arrays = _gather([finished[entry.relative] for entry in entries], options.points)
        packs[split] = Pack(
            points=arrays["points"],
            normals=arrays["normals"] if options.normals != "none" else None,
            labels=np.array([_label(entry, classes, targets) for entry in entries]),
            names=np.array([entry.name for entry in entries]),
            classes=tuple(classes),
            extras={"from_mesh": arrays["from_mesh"], "has_normals": arrays["has_normals"]},
            target_name=report.target_name,
            up="z" if all(options.up or standard_up(entry.path) for entry in kept) else "",
        )
    return _drop_partial_normals(packs, report)


def _label(entry: Entry, classes: list[str], targets: Targets | None) -> float:
    if targets is None:
        return classes.index(entry.category)
    value = targets.values[Path(entry.relative).as_posix()]
    assert value is not None  # the listing has only files with a number
    return value


def _gather(places: list[Place], points: int) -> dict[str, np.ndarray]:
    """Collect rows from the archives of finished shapes, opening each archive once."""
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


def _drop_partial_normals(packs: dict[str, Pack], report: Report) -> dict[str, Pack]:
    """Drop the normals unless every shape has them: a network needs them for all shapes or for none."""
    missing = sum(int((~pack.extras["has_normals"]).sum()) for pack in packs.values())
    total = sum(len(pack) for pack in packs.values())
    if 0 < missing < total:
        advice = "use --normals estimate to fill them in"
        report.notes.append(f"{missing} of {total} shapes have no normals, so the pack has none; {advice}")
    return {
        split: replace(
            pack,
            normals=None if missing else pack.normals,
            extras={name: value for name, value in pack.extras.items() if name != "has_normals"},
        )
        for split, pack in packs.items()
    }


def publish(packs: dict[str, Pack], target: Path, work: Path) -> None:
    """Move the finished packs to the target, and only then delete the work folder."""
    if target.suffix == ".npz":
        write_pack(packs["all"], target)
    else:
        fresh = work / "pack"
        for split, pack in packs.items():
            write_pack(pack, fresh / f"{split}.npz")
        if target.exists():
            for file in fresh.iterdir():
                os.replace(file, target / file.name)
            for split in set(SPLITS) - packs.keys():  # left over from an older pack, perhaps with other classes
                (target / f"{split}.npz").unlink(missing_ok=True)
        else:
            os.rename(fresh, target)
    shutil.rmtree(work, ignore_errors=True)
