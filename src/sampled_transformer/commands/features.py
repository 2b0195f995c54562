"""The command `features`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..engine.engines import EngineName
from ..inference.defaults import INITIAL_WEIGHTS
from ..training.settings import Up
from .batch import check_batch, run_batch
from .messages import about_estimated_normals, fail, left_out, remark


def features(
    files: list[str],
    out: str = "features.npz",
    weights: str = INITIAL_WEIGHTS,
    per_point: bool = False,
    layer: int | str | None = None,
    samples: int = 1,
    up: Up | None = None,
    device: str | None = None,
    shard: int = 256,
    workers: int | None = None,
    engine: EngineName | None = None,
    address: str | None = None,
) -> int:
    """Write the features of meshes or point clouds, as a trained network sees them before its head.

    Args:
        files: Files, or folders to search for files; also patterns, lists and URLs, as in `predict`.
        out: File to write, .npz, .csv or .parquet: one row per file with its name. A name without an ending is a
            folder to write Parquet to in parts; the same command goes on where it was stopped.
        weights: The folder of a run, a weights file, or the name of shipped weights.
        per_point: Write one row per point that the network read, with the point, instead of one row per file.
        layer: Number or name of another layer than the last, such as 0 or blocks.0.
        samples: Cycles to average over.
        up: Axis that is up in the files, or "auto", as in `predict`.
        device: Device (default: GPU if available).
        shard: Files per part, if --out is a folder.
        workers: Processes that read and ask, if --out is a folder (default: one per core, at most 8).
        engine: Work in the processes of a Ray cluster, if --out is a folder.
        address: Address of the cluster, such as "auto" (default: one on this machine, for this command).
    """
    from ..data.errors import DataError
    from ..data.guard import current_limits
    from ..inference.answers import ESTIMATED
    from ..inference.feature_files import check_feature_file, is_feature_file, write_features, write_point_features
    from ..inference.feature_job import FeatureQuestion, feature_job, features_at
    from ..inference.places import names_below
    from ..inference.trained_network import load
    from ..support.printable import printable

    folder = out if not Path(out).suffix or Path(out).is_dir() else None
    check_batch(folder, engine, address)
    question = FeatureQuestion(weights, per_point, layer, samples, up, device, current_limits())
    if folder is not None:
        shapes = (name for name in names_below(files) if name in files or not is_feature_file(Path(name)))
        return run_batch(feature_job(question, shard), shapes, folder, engine, workers, address, device)
    if workers is not None:
        raise ValueError(f"workers: expected none unless --out is a folder, got {workers}")
    check_feature_file(out)
    paths = _inputs(files, Path(out))
    trained = load(weights, device)
    question = question._replace(layer=trained.find_layer(layer))  # refuses what the network lacks, before any work
    if up == "auto":
        trained.check_sure()
    names: list[str] = []
    found: list[Any] = []
    problems: list[str] = []
    notes: set[str] = set()
    warned = False
    for path in paths:
        try:
            if isinstance(path, DataError):
                raise path
            found.append(features_at(trained, path, question, notes.update))
            names.append(printable(path))
            if ESTIMATED in notes and not warned:
                warned = True
                remark("note", [about_estimated_normals(weights)])
        except DataError as error:
            problems.append(str(error))
            remark("could not be read", problems[-1:])
    left_out(problems, len(found))
    if not found:
        return fail(f"{printable(out)}: not written, because no file could be read", 1)
    counted = "1 file" if len(found) == 1 else f"{len(found)} files"
    if per_point:
        write_point_features(out, names, found)
        rows, width = sum(len(one.features) for one in found), found[0].features.shape[1]
        print(f"{printable(out)}: {width} features of {rows} points in {counted}")
    else:
        write_features(out, names, found)
        print(f"{printable(out)}: {len(found[0])} features of {counted}")
    return int(len(found) < len(paths))


features.reads_files = True  # type: ignore[attr-defined]


def _inputs(files: list[str], out: Path) -> list[Any]:
    """The files to read, without the features of earlier runs in searched folders; an input is never overwritten."""
    from ..inference.feature_files import is_feature_file
    from ..inference.places import files_below
    from ..support.printable import printable

    paths = []
    given = set(map(Path, files))
    for path in files_below(files):
        if isinstance(path, Path) and path not in given and is_feature_file(path):
            continue
        if isinstance(path, Path) and out.exists() and path.resolve() == out.resolve():
            raise ValueError(f"out: expected a file that is not read, got {printable(out)}")
        paths.append(path)
    return paths
