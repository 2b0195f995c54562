"""Store points of flat surfaces in half the bytes: sorted, as differences of numbers that follow the planes.

Most points of a made part lie on planes. Points with the same normal are stored one after the other, ordered by their
coordinate along the normal's largest axis, and inside such a plane along a Z-order curve. The differences of one such
number to the next are small, so that most of their bytes are zero and compress well. The order of the points is lost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .errors import DataError
from .quantise import NORMAL_SCALE, POINT_SCALE

POINT_STEPS = 512  # steps from 0 to 1 of a coordinate: 10 bits and a sign
NORMAL_STEPS = 32  # 5 bits and a sign
BITS = 11  # of a coordinate from 0 to 2 * POINT_STEPS
BYTES = 5  # of a code: three coordinates
_SPREAD = np.array([sum((value >> bit & 1) << (2 * bit) for bit in range(BITS)) for value in range(2**BITS)])
_HALF = 12  # bits of a curve, which hold 6 of each coordinate
_GATHER = np.array([sum((value >> (2 * bit) & 1) << bit for bit in range(_HALF // 2)) for value in range(2**_HALF)])


class Coded(NamedTuple):
    """Points and normals as bytes, and the order in which they are stored."""

    points: np.ndarray  # uint8 (BYTES, sets, n): the bytes of the differences, lowest first
    normals: np.ndarray  # uint8 (3, sets, n)
    order: np.ndarray  # int64 (sets, n), so that whatever else belongs to the points can follow them


def encode(points: np.ndarray, normals: np.ndarray) -> Coded:
    """Code points, int16 (sets, n, 3), and normals, int8 (sets, n, 3), of a pack. They are rounded to the steps."""
    place = np.rint(points / POINT_SCALE * POINT_STEPS).astype(np.int64) + POINT_STEPS
    normal = np.rint(normals / NORMAL_SCALE * NORMAL_STEPS).astype(np.int64) + NORMAL_STEPS
    first, second, third = _axes(normal)
    code = (_take(place, first) << 2 * BITS) | _SPREAD[_take(place, second)] << 1 | _SPREAD[_take(place, third)]
    direction = (normal[..., 0] << 14) | (normal[..., 1] << 7) | normal[..., 2]
    order = np.lexsort((code, direction), axis=1)
    steps = np.diff(np.take_along_axis(code, order, 1), axis=1, prepend=0)
    return Coded(
        np.stack([steps >> (8 * byte) & 255 for byte in range(BYTES)]).astype(np.uint8),
        np.take_along_axis(normal, order[..., None], 1).transpose(2, 0, 1).astype(np.uint8),
        order,
    )


def decode(points: np.ndarray, normals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points, int16 (sets, n, 3), and normals, int8 (sets, n, 3), as a pack has them."""
    if points.dtype != np.uint8 or points.ndim != 3 or len(points) != BYTES:
        raise DataError(f"points: expected uint8 of shape ({BYTES}, sets, n), got {points.dtype} {points.shape}")
    if normals.dtype != np.uint8 or normals.shape != (3, *points.shape[1:]):
        expected = (3, *points.shape[1:])
        raise DataError(f"normals: expected uint8 of shape {expected}, got {normals.dtype} {normals.shape}")
    differences = np.zeros(points.shape[1:], np.int64)
    for byte in range(BYTES):
        differences |= points[byte].astype(np.int64) << (8 * byte)
    code = np.cumsum(differences, axis=1) & (2 ** (8 * BYTES) - 1)  # negative ones come back as large ones
    curve = code & (2 ** (2 * BITS) - 1)
    normal = normals.transpose(1, 2, 0).astype(np.int64)
    place = np.empty((*code.shape, 3), np.int64)
    for axis, values in zip(_axes(normal), (code >> 2 * BITS, _gather(curve >> 1), _gather(curve)), strict=True):
        np.put_along_axis(place, axis[..., None], values[..., None], 2)
    for name, values, steps in (("points", place, 2 * POINT_STEPS), ("normals", normal, 2 * NORMAL_STEPS)):
        if values.size and values.max() > steps:
            raise DataError(f"{name}: expected steps from 0 to {steps}, got {values.max()}")
    return (
        np.rint((place - POINT_STEPS) / POINT_STEPS * POINT_SCALE).astype(np.int16),
        np.rint((normal - NORMAL_STEPS) / NORMAL_STEPS * NORMAL_SCALE).astype(np.int8),
    )


def _axes(normal: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The axis along which each normal is longest, and the two after it, each (sets, n)."""
    first = np.abs(normal - NORMAL_STEPS).argmax(-1)
    return first, (first + 1) % 3, (first + 2) % 3


def _take(place: np.ndarray, axis: np.ndarray) -> np.ndarray:
    taken: np.ndarray = np.take_along_axis(place, axis[..., None], 2)[..., 0]
    return taken


def _gather(curve: np.ndarray) -> np.ndarray:
    """Every second bit of numbers with 22 bits, the inverse of `_SPREAD`."""
    low, high = _GATHER[curve & (2**_HALF - 1)], _GATHER[curve >> _HALF & (2**_HALF - 1)]
    gathered: np.ndarray = low | high << (_HALF // 2)
    return gathered
