"""Files of features: .npz, .csv or .parquet, of one row per shape or one row per point. Nothing is pickled.

| file           | one row per shape                     | one row per point                                        |
|----------------|---------------------------------------|----------------------------------------------------------|
| .npz           | names (shapes,), features (shapes, d) | also ptr (shapes + 1,), points (total, 3), rows (total,) |
| .csv, .parquet | file, f0, f1, ...                     | file, row, x, y, z, f0, f1, ...                          |

Shape i has the rows ptr[i] to ptr[i + 1]. `row` is the row of the point in its file, and -1 for a point on a mesh.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..data.errors import DataError
from ..data.formats.npz import array_names, write_arrays
from ..support.atomic import atomic_write, check_target
from .features import PointFeatures

ENDINGS = (".npz", ".csv", ".parquet")
DIGITS = "%.9g"  # enough to give every float32 back


def check_feature_file(path: str) -> None:
    """Refuse another ending, a missing folder, and .parquet without its package, before any work."""
    check_target("out", path, *ENDINGS)
    if path.lower().endswith(".parquet"):
        _parquet()


def is_feature_file(path: Path) -> bool:
    """Whether a file was written here; some of these endings also belong to shapes."""
    try:
        if path.suffix.lower() == ".csv":
            with open(path, "rb") as file:
                return file.read(8).startswith((b"file,f0", b"file,row"))
        return path.suffix.lower() == ".npz" and {"names", "features"} <= set(array_names(path))
    except (DataError, OSError):  # whoever reads it will say so
        return False


def write_features(path: str | Path, names: Sequence[str], features: Sequence[np.ndarray]) -> None:
    """Write one row (d,) per shape, atomically."""
    if Path(path).suffix.lower() == ".npz":
        write_arrays(path, {"names": np.array(names, np.str_), "features": np.stack(features)})
    else:
        _write_table(Path(path), *_columns(names, features))


def write_point_features(path: str | Path, names: Sequence[str], features: Sequence[PointFeatures]) -> None:
    """Write one row per point, atomically."""
    if Path(path).suffix.lower() == ".npz":
        points, rows, table = _joined(features)
        ptr = np.cumsum([0, *(len(one.features) for one in features)])
        arrays = {"names": np.array(names, np.str_), "ptr": ptr, "points": points, "rows": rows, "features": table}
        write_arrays(path, arrays)
    else:
        _write_table(Path(path), *_point_columns(names, features))


def feature_table(names: Sequence[str], features: Sequence[np.ndarray]) -> Any:
    """What `write_features` writes, as a `pyarrow.Table`."""
    return _table(*_columns(names, features))


def point_feature_table(names: Sequence[str], features: Sequence[PointFeatures]) -> Any:
    """What `write_point_features` writes, as a `pyarrow.Table`."""
    return _table(*_point_columns(names, features))


def _columns(names: Sequence[str], features: Sequence[np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    return {"file": np.array(names, np.str_)}, np.stack(features)


def _point_columns(names: Sequence[str], features: Sequence[PointFeatures]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    points, rows, table = _joined(features)
    columns = {"file": np.repeat(np.array(names, np.str_), [len(one.features) for one in features]), "row": rows}
    return {**columns, **dict(zip("xyz", points.T, strict=True))}, table


def _joined(features: Sequence[PointFeatures]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, rows and features of all shapes."""
    rows = [np.full(len(one.features), -1) if one.rows is None else one.rows for one in features]
    points = np.concatenate([one.points for one in features])
    return points, np.concatenate(rows), np.concatenate([one.features for one in features])


def _table(columns: dict[str, np.ndarray], features: np.ndarray) -> Any:
    numbers = {f"f{number}": column for number, column in enumerate(features.T)}
    return _parquet()[1].table({**columns, **numbers})


def _write_table(path: Path, columns: dict[str, np.ndarray], features: np.ndarray) -> None:
    if path.suffix.lower() == ".parquet":
        with atomic_write(path) as file:
            _parquet()[0].write_table(_table(columns, features), file)
        return
    import csv
    import io

    with atomic_write(path) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*columns, *(f"f{number}" for number in range(features.shape[1]))])
        for own, row in zip(zip(*(column.tolist() for column in columns.values()), strict=True), features, strict=True):
            writer.writerow([*own, *(DIGITS % value for value in row.tolist())])
        text.detach()


def _parquet() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ValueError('pyarrow is not installed: pip install "sampled-transformer[parquet]"') from None
    return pyarrow.parquet, pyarrow
