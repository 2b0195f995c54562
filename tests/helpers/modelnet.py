"""Small files in the layouts in which ModelNet is published."""

from pathlib import Path

import h5py
import numpy as np

from sampled_transformer.data.pack import Pack

RANDOM = np.random.default_rng(0)


def table(count: int = 12) -> np.ndarray:
    """Points and unit normals (count, 6), the points already centred and of radius 1, in which up is y."""
    points = RANDOM.normal(size=(count, 3)) * [1.0, 0.1, 0.5]
    points -= points.mean(0)
    points /= np.linalg.norm(points, axis=1).max()
    normals = RANDOM.normal(size=(count, 3))
    return np.concatenate([points, normals / np.linalg.norm(normals, axis=1, keepdims=True)], 1).astype(np.float32)


def check(pack: Pack, number: int, expected: np.ndarray) -> None:
    """Shape `number` of the pack has the points and normals `expected` (n, 6), up to quantisation."""
    batch = pack.batch(number)
    assert np.allclose(batch.points[0], expected[:, :3], atol=1e-4)
    assert np.allclose(batch.normals[0], expected[:, 3:], atol=0.01)


def write_hdf5(path: Path, tables: list[np.ndarray], labels: list[int], normals: bool = True) -> None:
    path.parent.mkdir(exist_ok=True)
    values = np.stack(tables)
    with h5py.File(path, "w") as file:
        file.create_dataset("data", data=values[..., :3], compression="gzip")
        file.create_dataset("label", data=np.array(labels, np.uint8)[:, None])
        if normals:
            file.create_dataset("normal", data=values[..., 3:], compression="gzip")
