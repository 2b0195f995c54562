"""Farthest point sampling for one large set on the CPU, in less than quadratic time."""

import numpy as np
import torch
from torch import Tensor

from .curves import space_filling_order
from .precision import result_dtype
from .squares import sum_of_squares

BLOCK = 128


def choose_in_blocks(points: Tensor, count: int, first: int) -> Tensor:
    """Choose `count` of the points (n, dimension), with the same result as `farthest_points`; return their indices.

    We sort the points along a Hilbert curve and divide them into blocks. A newly chosen point can only change a block
    if it is closer to the block's bounding box than some point of the block is to all earlier choices. After a while
    this is true for a handful of blocks only. It is never true of points that coincide, so we stop as soon as all that
    are left lie where chosen ones do. We use numpy because its calls cost less than torch's on small blocks.
    """
    n, dimension = points.shape
    blocks = -(-n // BLOCK)
    order = space_filling_order(points.unsqueeze(0), "hilbert", bits=min(10, 62 // dimension))[0].numpy()
    order = np.pad(order, (0, blocks * BLOCK - n), mode="edge")
    place = np.empty(n, np.int64)
    place[order[:n]] = np.arange(n)
    index = order.reshape(blocks, BLOCK)
    coordinates = points.to(result_dtype(points)).numpy()
    planes = np.ascontiguousarray(coordinates[index].transpose(0, 2, 1))  # (blocks, dimension, BLOCK)
    low, high = planes.min(2).T.copy(), planes.max(2).T.copy()
    nearest = np.full((blocks, BLOCK), np.inf, planes.dtype)  # squared distance to the choices; -1 excludes a point
    nearest.reshape(-1)[n:] = -1.0
    peak = nearest.max(1)
    chosen = np.empty(count, np.int64)
    chosen[0] = first
    for step in range(1, count):
        latest = chosen[step - 1]
        nearest.reshape(-1)[place[latest]] = -1.0
        centre = coordinates[latest][:, None]
        gap = np.maximum(np.maximum(low - centre, centre - high), 0.0)
        # The factor makes up for rounding, so that no block is missed.
        near = np.flatnonzero(np.square(gap).sum(0) <= peak * 1.0001)
        squared = sum_of_squares((planes[near] - centre).swapaxes(0, 1))
        nearest[near] = np.minimum(nearest[near], squared)
        peak[near] = nearest[near].max(1)
        highest = peak.max()
        if highest == 0:  # whatever is left lies where a chosen point does: the lowest index first, and no more steps
            chosen[step:] = np.sort(index[nearest == 0])[: count - step]
            break
        farthest = np.flatnonzero(peak == highest)
        chosen[step] = index[farthest][nearest[farthest] == highest].min()
    return torch.from_numpy(chosen)
