"""What happens to strangers' shapes: noise, missing parts, outliers, other axes; for training and for evaluation.

A corruption is a function of a batch of clouds, a severity and a generator:

    corruption(points, normals, severity, generator) -> points, normals

with points (batch, n, 3), normals of the same shape or None, and a severity that is one number or one per shape,
(batch,). The number of points stays n. Lengths are in units of the shape's radius, the largest distance from its mean,
so that the unit of a file does not matter.

Corruptions that remove points put those that are left first, in random order, and then repeat random ones of them, as
`predict` does with a file of few points: the first m points are m random points of what is left, or all of them and
some repeated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor
from torch.nn.functional import normalize

from .draws import Cloud, about_axis, from_quaternion, normal, pick, turn, uniform

Severity = float | Tensor
Function = Callable[[Tensor, Tensor | None, Severity, Generator | None], Cloud]
NEWTON_STEPS = 6  # to the precision of float32 from 0 to pi


def noise(points: Tensor, normals: Tensor | None, severity: Severity, generator: Generator | None) -> Cloud:
    """Add severity * radius * N(0, 1) to every coordinate. Normals stay."""
    deviation = _per_shape(severity, points) * _ball(points)[1]
    return points + (deviation * normal(tuple(points.shape), points, generator)).to(points.dtype), normals


def outliers(points: Tensor, normals: Tensor | None, severity: Severity, generator: Generator | None) -> Cloud:
    """Put uniform points of the ball around the shape in place of a share of its points, with random normals."""
    batch, n, _ = points.shape
    centre, radius = _ball(points)
    chosen = _lowest(uniform((batch, n), points, generator), severity)
    directions = normalize(normal((batch, n, 3), points, generator), dim=2)
    places = centre + radius * directions * uniform((batch, n, 1), points, generator) ** (1 / 3)
    new = torch.where(chosen, places.to(points.dtype), points)
    if normals is None:
        return new, None
    any_normals = normalize(normal((batch, n, 3), points, generator), dim=2).to(normals.dtype)
    return new, torch.where(chosen, any_normals, normals)


def half_space(points: Tensor, normals: Tensor | None, severity: Severity, generator: Generator | None) -> Cloud:
    """Remove the share of the points that lies beyond a plane in a random direction."""
    direction = normalize(normal((len(points), 3, 1), points, generator), dim=1)
    return _remove(points, normals, (points.to(direction.dtype) @ direction).squeeze(2), severity, generator)


def crop(points: Tensor, normals: Tensor | None, severity: Severity, generator: Generator | None) -> Cloud:
    """Remove the share of the points that is nearest to a random point of the shape: a hole."""
    batch, n, _ = points.shape
    centre = (uniform((batch, 1, 1), points, generator) * n).long().clamp(0, max(0, n - 1))
    if n == 0:
        return points, normals
    distance = (points - points.gather(1, centre.expand(-1, -1, 3))).norm(dim=2)
    return _remove(points, normals, -distance, severity, generator)


def sparse(points: Tensor, normals: Tensor | None, severity: Severity, generator: Generator | None) -> Cloud:
    """Remove a share of the points at random."""
    return _remove(points, normals, uniform(tuple(points.shape[:2]), points, generator), severity, generator)


def rotation(
    points: Tensor, normals: Tensor | None, severity: Severity, generator: Generator | None, axis: str = "z"
) -> Cloud:
    """Rotate about an axis by an angle U(-severity, severity) in degrees; 180 is any angle."""
    share = 2 * uniform((len(points),), points, generator) - 1
    return turn(points, normals, about_axis(axis, share * _per_shape(severity, points).flatten() * (math.pi / 180)))


def any_rotation(points: Tensor, normals: Tensor | None, severity: Severity, generator: Generator | None) -> Cloud:
    """Rotate uniformly among all rotations by at most `severity` degrees, about any axis; 180 is any rotation.

    The angle a has the density 1 - cos a, so that we solve a - sin a = u (s - sin s) for u in U(0, 1) and s = severity.
    """
    share = uniform((len(points), 1), points, generator)
    largest = _per_shape(severity, points).flatten()[:, None] * (math.pi / 180)
    angle = largest * share ** (1 / 3)
    goal = share * (largest - largest.sin())
    for _ in range(NEWTON_STEPS):
        slope = 1 - angle.cos()
        step = (angle - angle.sin() - goal) / torch.where(slope > 1e-6, slope, 1)
        angle = (angle - step).clamp(min=0).minimum(largest)
    axis = normalize(normal((len(points), 3), points, generator), dim=1)
    return turn(points, normals, from_quaternion(torch.cat([(angle / 2).cos(), (angle / 2).sin() * axis], 1)))


def scale(points: Tensor, normals: Tensor | None, severity: Severity, generator: Generator | None) -> Cloud:
    """Multiply by `severity`: another unit. Who normalises the shapes does not notice."""
    return points * _per_shape(severity, points).to(points.dtype), normals


def no_normals(points: Tensor, normals: Tensor | None, severity: Severity, generator: Generator | None) -> Cloud:
    """Set the normals of a share of the points to zero, which means unknown."""
    if normals is None:
        return points, None
    chosen = _lowest(uniform(tuple(points.shape[:2]), points, generator), severity)
    return points, torch.where(chosen, 0, normals)


@dataclass(frozen=True)
class Corruption:
    """A corruption by name, and the severities that training draws from, uniformly."""

    function: Function
    low: float
    high: float


CORRUPTIONS: dict[str, Corruption] = {
    "noise": Corruption(noise, 0.0, 0.05),
    "outliers": Corruption(outliers, 0.0, 0.3),
    "half_space": Corruption(half_space, 0.1, 0.7),
    "crop": Corruption(crop, 0.1, 0.6),
    "sparse": Corruption(sparse, 0.5, 0.95),
    "rotation": Corruption(rotation, 180.0, 180.0),
    "any_rotation": Corruption(any_rotation, 180.0, 180.0),
    "scale": Corruption(scale, 0.5, 2.0),
    "no_normals": Corruption(no_normals, 1.0, 1.0),
}


def _per_shape(severity: Severity, points: Tensor) -> Tensor:
    """The severity of each shape, (batch, 1, 1), in at least float32."""
    wide = torch.promote_types(points.dtype, torch.float32)
    severities = torch.as_tensor(severity, dtype=wide, device=points.device)
    if severities.ndim > 1 or (severities.ndim == 1 and len(severities) != len(points)):
        got = tuple(severities.shape)
        raise ValueError(f"severity: expected one number or one per shape ({len(points)}), got {got}")
    return severities.expand(len(points)).view(-1, 1, 1)


def _ball(points: Tensor) -> tuple[Tensor, Tensor]:
    """The mean of each shape, (batch, 1, 3), and its radius, (batch, 1, 1)."""
    if points.shape[1] == 0:
        return points.new_zeros((len(points), 1, 3)), points.new_zeros((len(points), 1, 1))
    centre = points.mean(1, keepdim=True)
    return centre, (points - centre).norm(dim=2, keepdim=True).amax(1, keepdim=True)


def _count(severity: Severity, points: Tensor) -> Tensor:
    """How many points a share of each shape is, (batch, 1)."""
    share = _per_shape(severity, points).squeeze(2)
    return (share * points.shape[1]).round().long().clamp(0, points.shape[1])


def _lowest(key: Tensor, severity: Severity) -> Tensor:
    """The share of the points with the smallest keys (batch, n), as a mask (batch, n, 1)."""
    place = torch.arange(key.shape[1], device=key.device).expand(key.shape)
    first = place < _count(severity, key)
    return first.scatter(1, key.argsort(1), first).unsqueeze(2)


def _remove(
    points: Tensor, normals: Tensor | None, score: Tensor, severity: Severity, generator: Generator | None
) -> Cloud:
    """Remove the share of the points with the largest scores (batch, n); one point stays in any case."""
    batch, n, _ = points.shape
    kept = (n - _count(severity, points)).clamp(min=1)  # (batch, 1)
    place = torch.arange(n, device=points.device).expand(batch, n)
    key = uniform((batch, n), points, generator)
    shuffled = score.argsort(1).gather(1, (key + (place >= kept)).argsort(1))  # what is left first, in random order
    again = (uniform((batch, n), points, generator) * kept).long().minimum(kept - 1)
    return pick(points, normals, shuffled.gather(1, torch.where(place < kept, place, again)))
