"""The command `data pack`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from ..engine.engines import EngineName
from ..training.settings import Up
from .messages import fail, left_out, remark
from .upright import settled_up

if TYPE_CHECKING:
    from ..data.packing import Report


def data_pack(
    source: str,
    target: str,
    points: int | None = None,
    workers: int | None = None,
    normals: Literal["keep", "estimate", "none"] = "keep",
    seed: int = 0,
    test_fraction: float = 0.2,
    targets: str | None = None,
    column: str | None = None,
    root: str | None = None,
    up: Up | None = None,
    options: Mapping[str, Any] | None = None,
    strict: bool = False,
    force: bool = False,
    engine: EngineName | None = None,
    address: str | None = None,
) -> int:
    """Turn a folder of shapes, or a data set given by name, into a pack.

    Args:
        source: A folder, pattern, list @files.txt or URL of shapes (class/file, with train and test above or below the
            class if there is a split; with --targets, files anywhere in it), a pack, or the name of a data set.
        target: Folder for train.npz and test.npz, or one .npz file for all shapes without a split.
        points: Points per shape (default: 2048 from files; from other data all that are stored).
        workers: Number of processes (default: one per core).
        normals: Keep existing normals, also estimate missing ones from neighbours, or write none.
        seed: Seed that chooses the points, and the test shapes if the folder has no split.
        test_fraction: Share of each class to test on if the folder has no split.
        targets: CSV table of numbers to predict instead of classes, one row per file. Its first line names the
            columns: "file" (also path, filename or name; otherwise the first) has paths below the folder.
        column: Column of --targets that has the numbers (default: the only one besides the files).
        root: Folder that holds a data set given by name.
        up: Axis that is up in the files of a folder or in a pack, which becomes z; "auto" asks the default networks of
            `predict` about some files of a folder (default: y for GLB and GLTF; other files stay as they are).
        options: Further options of a data set given by name, such as --options.variant objbg.
        strict: Fail if any file cannot be read.
        force: Replace the pack at the target if there is one.
        engine: Read the files of a folder in the processes of a Ray cluster; the pack is the same.
        address: Address of the cluster, such as "auto" (default: one on this machine, for this command).
    """
    from ..data import SOURCES
    from ..data.packing import NothingPacked, pack_folder, refuse_existing
    from ..data.repack import repack, shapes_below
    from ..data.targets import read_targets
    from ..engine.engines import find_engine
    from ..inference.gathering import gathered, is_many

    _refuse_many("root", root)
    if is_many(source):
        given: Any = {"points": points, "normals": normals, "seed": seed, "test_fraction": test_fraction}
        given |= {"targets": targets, "column": column, "up": up, "options": options, "root": root}
        given |= {"workers": workers, "strict": strict, "force": force, "engine": engine, "address": address}
        with gathered(source) as files:
            return data_pack(str(files), target, **given)
    folder = shapes_below(source, root)
    if not force:
        refuse_existing(target)
    if options and source not in SOURCES:
        raise ValueError(f"options: expected none for a folder or pack of your own, got {', '.join(options)}")
    for name in {"points", "normals", "seed"} & set(options or {}):
        raise ValueError(f"options: expected --{name}, got --options.{name}")
    if up is not None and source in SOURCES and source != "folder":
        raise ValueError(f"up: expected none for the data set {source}, whose axes are known, got {up}")
    if column is not None and targets is None:
        raise ValueError(f"column: expected none without --targets, got {column}")
    if targets is not None and (folder is None or options):
        raise ValueError(f"targets: expected a folder of shapes to go with it, got {source}")
    if options:
        folder = None  # only the reader of a data set knows its options
    if engine is not None and folder is None:
        raise ValueError(f"engine: expected none without a folder of shapes, got {engine} for {source}")
    if address is not None and engine is None:
        raise ValueError(f"address: expected none without --engine, got {address}")
    axis = settled_up(up, folder)
    if options and source == "folder" and axis is not None:
        options, axis = {**options, "up": axis}, None  # its files are turned as they are read
    try:
        if folder is None:
            drawn: dict[str, Any] = {"points": points, "normals": normals, "seed": seed}
            report = repack(source, target, root, up_in_pack=axis, **drawn, **(options or {}))
        else:
            report = pack_folder(
                folder,
                target,
                points=2048 if points is None else points,
                normals=normals,
                seed=seed,
                test_fraction=test_fraction,
                targets=None if targets is None else read_targets(targets, column),
                up=axis,
                workers=workers,
                progress=True,
                engine=None if engine is None else find_engine(engine, workers, address),
            )
    except NothingPacked as error:
        remark("could not be read", error.problems)
        left_out(error.problems, 0)
        raise
    except KeyboardInterrupt:
        raise KeyboardInterrupt("stopped" + "; the same command goes on from here" * (folder is not None)) from None
    return show(report, target, strict)


data_pack.reads_files = True  # type: ignore[attr-defined]


def _refuse_many(name: str, place: str | None) -> None:
    """Refuse patterns, lists and URLs where a data set given by name is looked for."""
    from os.path import lexists

    from ..data.remote import SCHEME
    from ..inference.places import is_pattern
    from ..support.printable import printable

    if place is None or lexists(place):
        return
    kind = "a URL" if SCHEME.match(place) else "a list" if place.startswith("@") else "a pattern"
    if kind != "a pattern" or is_pattern(place):
        advice = "copy the files into one, class/file, first"
        raise ValueError(f"{name}: expected a local folder of shapes, got {kind}, {printable(place)}; {advice}")


def show(report: Report, target: str, strict: bool) -> int:
    """Print what was packed and what was left out; returns the exit code."""
    from ..support.printable import printable

    remark("left out", report.problems)
    remark("note", report.notes)
    left_out(report.problems, sum(report.counts.values()))
    counts = ", ".join(f"{split} {count}" for split, count in report.counts.items())
    labels = f"in {len(report.classes)} classes" if report.classes or not report.point_classes else ""
    labels = f"with {printable(report.target_name)}" if report.target_name else labels
    points = f"with points in {len(report.point_classes)} classes" if report.point_classes else ""
    print(f"{printable(target)}: {counts} shapes {', '.join(part for part in (labels, points) if part)}")
    return fail(f"{len(report.problems)} left out, and --strict was given", 1) if strict and report.problems else 0
