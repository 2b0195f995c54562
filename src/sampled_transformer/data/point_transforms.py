"""Parts of sets, and augmentation of packed sets whose points have labels and features of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Generator, Tensor
from torch.nn.functional import normalize

from ..geometry.neighbourhoods import measure_spacing
from ..sets import segments
from .draws import about_axis, from_quaternion, normal, uniform
from .pack import Batch
from .per_point import COLOUR


def choose_rows(points: Tensor, count: int, part: str, generator: Generator | None) -> Tensor:
    """The rows (count,) of a part of one set (n, 3): a random "subset", or a "crop" around a random point.

    A crop has the points that are nearest to the chosen one along the ground, x and y, like a piece cut out of a map.
    """
    n = len(points)
    if n <= count:
        return torch.arange(n)
    if part == "subset":
        return uniform((n,), points, generator).argsort()[:count]
    middle = points[int(uniform((1,), points, generator) * n)]
    distance = (points[:, :2] - middle[:2]).square().sum(1)
    return distance.topk(count, largest=False, sorted=False).indices.sort().values


@dataclass(frozen=True)
class PointAugmentation:
    """Random changes of whole sets. Normals turn with the points; labels stay.

    Args:
        turn: "none", "up" (about z) or "any".
        flip: mirror half of the sets.
        scale: range of a factor of the size.
        jitter: standard deviation of noise on the positions, in spacings.
        missing: share of the sets in which an optional feature becomes NaN, which networks read as missing. Each goes
            by itself, because a file may lack any of them.
        optional: names of the features that may be missing; "normals" are one of them.
        colour_jitter: standard deviation of noise on the colour.
    """

    turn: Literal["none", "up", "any"] = "up"
    flip: bool = True
    scale: tuple[float, float] = (0.8, 1.25)
    jitter: float = 0.0
    missing: float = 0.0
    optional: tuple[str, ...] = ()
    colour_jitter: float = 0.0

    def __call__(self, batch: Batch, generator: Generator | None = None) -> Batch:
        """Change packed sets."""
        assert batch.ptr is not None
        points, normals, sets = batch.points, batch.normals, len(batch.ptr) - 1
        number = segments(batch.ptr, len(points))
        rotation = self._rotation(points, sets, generator)
        points = torch.einsum("nij,nj->ni", rotation[number], points)
        normals = None if normals is None else torch.einsum("nij,nj->ni", rotation[number], normals)
        low, high = self.scale
        points = points * (low + (high - low) * uniform((sets, 1), points, generator))[number]
        if self.jitter:
            spacing = measure_spacing(points, batch.ptr).to(points)[number].unsqueeze(1)
            points = points + self.jitter * spacing * normal(tuple(points.shape), points, generator)
            normals = None if normals is None else normalize(normals, dim=1)
        features = dict(batch.features or {})
        if self.colour_jitter and COLOUR in features:
            noise = normal(tuple(features[COLOUR].shape), points, generator)
            features[COLOUR] = (features[COLOUR] + self.colour_jitter * noise).clamp(0.0, 1.0)
        for name in self.optional if self.missing else ():
            gone = (uniform((sets,), points, generator) < self.missing)[number].unsqueeze(1)
            if name == "normals" and normals is not None:
                normals = normals.masked_fill(gone, torch.nan)
            elif name in features:
                features[name] = features[name].masked_fill(gone, torch.nan)
        return batch._replace(points=points, normals=normals, features=features or None)

    def _rotation(self, points: Tensor, sets: int, generator: Generator | None) -> Tensor:
        """A rotation per set, with a reflection for half of them if `flip`: (sets, 3, 3)."""
        if self.turn == "any":
            rotation = from_quaternion(normalize(normal((sets, 4), points, generator), dim=1))
        else:
            angle = 2 * torch.pi * uniform((sets,), points, generator)
            rotation = about_axis("z", angle if self.turn == "up" else torch.zeros_like(angle))
        if self.flip:
            mirrored = uniform((sets, 1), points, generator) < 0.5
            sign = torch.where(mirrored, -1.0, 1.0).to(rotation.dtype)
            rotation = torch.cat([rotation[:, :1] * sign.unsqueeze(2), rotation[:, 1:]], 1)
        return rotation
