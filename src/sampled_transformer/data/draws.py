"""What transforms and corruptions of batches share: random numbers by a generator, gathered points, rotations.

Clouds are points (batch, n, 3) with normals of the same shape or None.
"""

from __future__ import annotations

import torch
from torch import Generator, Tensor

Cloud = tuple[Tensor, Tensor | None]


def uniform(shape: tuple[int, ...], points: Tensor, generator: Generator | None) -> Tensor:
    """U(0, 1) in at least float32, drawn on the generator's device and moved to the device of the points."""
    device = points.device if generator is None else generator.device
    return torch.rand(shape, generator=generator, device=device).to(points.device, _wide(points))


def normal(shape: tuple[int, ...], points: Tensor, generator: Generator | None) -> Tensor:
    """N(0, 1), drawn as in `uniform`."""
    device = points.device if generator is None else generator.device
    return torch.randn(shape, generator=generator, device=device).to(points.device, _wide(points))


def pick(points: Tensor, normals: Tensor | None, indices: Tensor) -> Cloud:
    """The points and normals at indices (batch, m)."""
    indices = indices.unsqueeze(2).expand(-1, -1, 3)
    return points.gather(1, indices), None if normals is None else normals.gather(1, indices)


def turn(points: Tensor, normals: Tensor | None, rotation: Tensor) -> Cloud:
    """Rotate each cloud by its matrix, (batch, 3, 3)."""
    transposed = rotation.transpose(1, 2)
    turned = points @ transposed.to(points.dtype)
    return turned, None if normals is None else normals @ transposed.to(normals.dtype)


def about_axis(axis: str, angle: Tensor) -> Tensor:
    """The rotations (batch, 3, 3) about "x", "y" or "z" by angles (batch,) in radians."""
    up = "xyz".index(axis)
    right, ahead = (up + 1) % 3, (up + 2) % 3
    rotation = angle.new_zeros((len(angle), 3, 3))
    rotation[:, up, up] = 1
    rotation[:, right, right] = rotation[:, ahead, ahead] = angle.cos()
    rotation[:, ahead, right] = angle.sin()
    rotation[:, right, ahead] = -angle.sin()
    return rotation


def from_quaternion(quaternion: Tensor) -> Tensor:
    """The rotations (batch, 3, 3) of unit quaternions (batch, 4), real part first."""
    w, *axis = quaternion.unbind(1)
    vector = torch.stack(axis, 1)
    x, y, z = axis
    zero = torch.zeros_like(w)
    cross = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], 1).view(-1, 3, 3)
    identity = torch.eye(3, device=w.device, dtype=w.dtype)
    cosine = (2 * w.square() - 1).view(-1, 1, 1)
    return cosine * identity + 2 * vector.unsqueeze(2) * vector.unsqueeze(1) + 2 * w.view(-1, 1, 1) * cross


def _wide(points: Tensor) -> torch.dtype:
    return torch.promote_types(points.dtype, torch.float32)
