"""The command `features`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..inference.defaults import DEFAULT_WEIGHTS
from ..training.settings import Up
from .messages import fail, left_out, remark


def features(
    files: list[str],
    out: str = "features.npz",
    weights: str = DEFAULT_WEIGHTS,
    per_point: bool = False,
    layer: int | str | None = None,
    samples: int = 1,
    up: Up | None = None,
    device: str | None = None,
) -> int:
    """Write the features of meshes or point clouds, as a trained network sees them before its head.

    Args:
        files: Files, or folders to search for files.
        out: File to write, .npz, .csv or .parquet: one row per file with its name.
        weights: The folder of a run, a weights file, or the name of shipped weights.
        per_point: Write one row per point that the network read, with the point, instead of one row per file.
        layer: Number or name of another layer than the last, such as 0 or blocks.0.
        samples: Cycles to average over.
        up: Axis that is up in the files, or "auto", as in `predict`.
        device: Device (default: GPU if available).
    """
    from ..data.errors import DataError
    from ..inference.feature_files import check_feature_file, write_features, write_point_features
    from ..inference.trained_network import load
    from ..support.printable import printable

    check_feature_file(out)
    paths = _inputs(files, Path(out))
    trained = load(weights, device)
    layer = trained.find_layer(layer)  # refuses what the network lacks, before any work
    if up == "auto":
        trained.check_sure()
    names: list[str] = []
    found: list[Any] = []
    problems: list[str] = []
    for path in paths:
        try:
            if isinstance(path, DataError):
                raise path
            found.append(trained.features(path, per_point=per_point, layer=layer, samples=samples, up=up))
            names.append(printable(path))
        except DataError as error:
            problems.append(str(error))
            remark("could not be read", problems[-1:])
    left_out(problems, len(found))
    if not found:
        return fail(f"{printable(out)}: not written, because no file could be read", 1)
    if per_point:
        write_point_features(out, names, found)
        rows, width = sum(len(one.features) for one in found), found[0].features.shape[1]
        print(f"{printable(out)}: {width} features of {rows} points in {len(found)} files")
    else:
        write_features(out, names, found)
        print(f"{printable(out)}: {len(found[0])} features of {len(found)} files")
    return int(len(found) < len(paths))


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
