"""Estimate the normals of a cloud: fit a plane to the neighbours of each point."""

from __future__ import annotations

import numpy as np

NEIGHBOURS = 16
LARGEST_SEARCH = 65_536  # more points make the search slower, not the planes better


def estimate_normals(points: np.ndarray, cloud: np.ndarray, generator: np.random.Generator | None = None) -> np.ndarray:
    """Unit normals (n, 3) at `points`: the direction of least variance of the 16 nearest neighbours in `cloud`.

    A plane has two sides, and a cloud does not say which one is outside. We let the normal point away from the
    centroid of the cloud, which is correct for convex shapes and at least consistent for others.

    Of more than 65,536 points, the generator chooses those among which we search (default: the first ones).
    """
    from scipy.spatial import cKDTree

    if len(cloud) > LARGEST_SEARCH:
        few = (
            slice(LARGEST_SEARCH) if generator is None else generator.choice(len(cloud), LARGEST_SEARCH, replace=False)
        )
        cloud = cloud[few]
    centre = cloud.mean(0)
    extent = np.abs(cloud - centre).max() or 1.0  # scaling keeps products of coordinates from under- or overflowing
    cloud, points = (cloud - centre) / extent, (points - centre) / extent
    count = min(NEIGHBOURS, len(cloud))
    _, index = cKDTree(cloud).query(points, k=np.arange(1, count + 1))
    around = cloud[index]  # (n, k, 3)
    around = around - around.mean(1, keepdims=True)
    _, directions = np.linalg.eigh(around.transpose(0, 2, 1) @ around)  # ascending: the first has the least variance
    normals = directions[:, :, 0]
    outwards = (points * normals).sum(1, keepdims=True)
    return np.where(outwards < 0, -normals, normals)
