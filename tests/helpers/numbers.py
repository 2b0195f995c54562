"""Ellipsoids, and a number to predict: the height of each, in a unit far from the network's."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sampled_transformer.data import Pack, write_pack

TARGET = "height in mm"


def ellipsoids(count: int, seed: int, points: int = 48) -> Pack:
    """Points on ellipsoids with axes 1, 1 and u; the number is 250 + 100 u, with u from 0.2 to 1."""
    generator = np.random.default_rng(seed)
    directions = generator.normal(size=(count, points, 3))
    directions /= np.linalg.norm(directions, axis=2, keepdims=True)
    height = generator.uniform(0.2, 1.0, count)
    clouds = directions * np.stack([np.ones(count), np.ones(count), height], 1)[:, None]
    names = [f"e{number}" for number in range(count)]
    return Pack.from_arrays(clouds, labels=250 + 100 * height, names=names, target_name=TARGET)


def write_ellipsoids(folder: Path, train: int = 48, test: int = 17) -> Path:
    """A pack with both splits."""
    write_pack(ellipsoids(train, 0), folder / "train.npz")
    write_pack(ellipsoids(test, 1), folder / "test.npz")
    return folder
