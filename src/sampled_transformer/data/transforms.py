"""Transforms of whole batches of clouds: normalisation, resampling, augmentation, and presets that combine them.

Call a transform as `transform(points, normals, generator)` with points (batch, n, 3), normals of the same shape or
None, and a torch.Generator (None: torch's global one). It returns new points and normals. Each cloud in a batch gets
its own random numbers, without a loop over clouds. Normals turn with the points and stay normal to the surface.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor
from torch.nn.functional import normalize

from ..geometry import farthest_points
from ..support.registry import look_up
from .corruptions import CORRUPTIONS
from .draws import Cloud, about_axis, from_quaternion, normal, pick, turn, uniform


class Transform(ABC):
    """Base class: `__call__` checks the arguments, `apply` does the work."""

    def __call__(self, points: Tensor, normals: Tensor | None = None, generator: Generator | None = None) -> Cloud:
        if points.ndim != 3 or points.shape[2] != 3 or not points.is_floating_point():
            got = f"{points.dtype} {tuple(points.shape)}"
            raise ValueError(f"points: expected a floating-point tensor of shape (batch, n, 3), got {got}")
        if normals is not None and normals.shape != points.shape:
            got = f"{tuple(normals.shape)}"
            raise ValueError(f"normals: expected {tuple(points.shape)}, the shape of points, got {got}")
        return self.apply(points, normals, generator)

    @abstractmethod
    def apply(self, points: Tensor, normals: Tensor | None, generator: Generator | None) -> Cloud: ...


class Compose(Transform):
    """Apply several transforms in order. `Compose()` changes nothing."""

    def __init__(self, *transforms: Transform) -> None:
        self.transforms = transforms

    def apply(self, points: Tensor, normals: Tensor | None, generator: Generator | None) -> Cloud:
        for transform in self.transforms:
            points, normals = transform(points, normals, generator)
        return points, normals

    def __repr__(self) -> str:
        return f"Compose({', '.join(map(repr, self.transforms))})"


# Normalisation


@dataclass(frozen=True)
class UnitSphere(Transform):
    """Centre each cloud on its mean and divide by its largest norm. A cloud of equal points is only centred."""

    def apply(self, points: Tensor, normals: Tensor | None, generator: Generator | None) -> Cloud:
        if points.shape[1] == 0:
            return points, normals
        centred = points - points.mean(1, keepdim=True)
        radius = centred.norm(dim=2, keepdim=True).amax(1, keepdim=True)
        return centred / torch.where(radius > 0, radius, 1), normals


@dataclass(frozen=True)
class Standardise(Transform):
    """Standardise as Lee et al. do: (x - mean) / deviation, with one mean and one deviation over all points and axes.

    This keeps the proportions of a shape. It centres the shape only along the diagonal (1, 1, 1).
    """

    def apply(self, points: Tensor, normals: Tensor | None, generator: Generator | None) -> Cloud:
        centred = points - points.mean((1, 2), keepdim=True)
        deviation = centred.square().mean((1, 2), keepdim=True).sqrt()
        return centred / torch.where(deviation > 0, deviation, 1), normals


# Resampling


@dataclass(frozen=True)
class FirstSubset(Transform):
    """The first `count` points. For points in random order, e.g. from a mesh, this is a repeatable random subset."""

    count: int

    def __post_init__(self) -> None:
        _check_count(self.count)

    def apply(self, points: Tensor, normals: Tensor | None, generator: Generator | None) -> Cloud:
        _check_enough(points, self.count)
        return points[:, : self.count], None if normals is None else normals[:, : self.count]


@dataclass(frozen=True)
class RandomSubset(Transform):
    """`count` random points per cloud, in random order, with or without replacement."""

    count: int
    replace: bool = False

    def __post_init__(self) -> None:
        _check_count(self.count)

    def apply(self, points: Tensor, normals: Tensor | None, generator: Generator | None) -> Cloud:
        batch, n, _ = points.shape
        _check_enough(points, 1 if self.replace else self.count)
        if self.replace:
            indices = (uniform((batch, self.count), points, generator) * n).long().clamp(max=n - 1)
        else:
            indices = uniform((batch, n), points, generator).argsort(1)[:, : self.count]
        return pick(points, normals, indices)


@dataclass(frozen=True)
class FarthestSubset(Transform):
    """`count` points per cloud by farthest point sampling, starting with the first point."""

    count: int

    def __post_init__(self) -> None:
        _check_count(self.count)

    def apply(self, points: Tensor, normals: Tensor | None, generator: Generator | None) -> Cloud:
        _check_enough(points, self.count)
        return pick(points, normals, farthest_points(points, self.count))


@dataclass(frozen=True)
class FarthestThenRandom(Transform):
    """Point-BERT and Point-MAE, fine-tuning: `farthest` points (or all, if fewer), then `count` of them at random."""

    farthest: int
    count: int

    def __post_init__(self) -> None:
        _check_count(self.count)
        if self.farthest < self.count:
            raise ValueError(f"farthest: expected at least count, {self.count}, got {self.farthest}")

    def apply(self, points: Tensor, normals: Tensor | None, generator: Generator | None) -> Cloud:
        _check_enough(points, self.count)
        if self.farthest < points.shape[1]:
            points, normals = FarthestSubset(self.farthest)(points, normals)
        return RandomSubset(self.count)(points, normals, generator)


@dataclass(frozen=True)
class PointDropout(Transform):
    """PointNet++: drop a share U(0, max_ratio) of each cloud. Dropped points become copies of the first point."""

    max_ratio: float = 0.875

    def __post_init__(self) -> None:
        if not 0 <= self.max_ratio <= 1:
            raise ValueError(f"max_ratio: expected 0 to 1, got {self.max_ratio}")

    def apply(self, points: Tensor, normals: Tensor | None, generator: Generator | None) -> Cloud:
        batch, n, _ = points.shape
        ratio = uniform((batch, 1, 1), points, generator) * self.max_ratio
        dropped = uniform((batch, n, 1), points, generator) < ratio
        points = torch.where(dropped, points[:, :1], points)
        return points, None if normals is None else torch.where(dropped, normals[:, :1], normals)


# Augmentation


@dataclass(frozen=True)
class RandomScale(Transform):
    """Multiply by U(low, high), drawn per axis or per cloud. Normals are divided by it and scaled to unit length."""

    low: float
    high: float
    per_axis: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.high < math.inf:
            raise ValueError(f"low, high: expected 0 < low <= high, got {self.low} and {self.high}")

    def apply(self, points: Tensor, normals: Tensor | None, generator: Generator | None) -> Cloud:
        drawn = uniform((len(points), 1, 3 if self.per_axis else 1), points, generator)
        scale = (self.low + (self.high - self.low) * drawn).to(points.dtype)
        if normals is not None and self.per_axis:
            stretched = normals / scale.to(normals.dtype)
            length = stretched.norm(dim=2, keepdim=True)
            normals = stretched / torch.where(length > 0, length, 1)
        return points * scale, normals


@dataclass(frozen=True)
class RandomShift(Transform):
    """Move each cloud by U(-amount, amount) along each axis."""

    amount: float

    def apply(self, points: Tensor, normals: Tensor | None, generator: Generator | None) -> Cloud:
        drawn = uniform((len(points), 1, 3), points, generator)
        return points + (self.amount * (2 * drawn - 1)).to(points.dtype), normals


@dataclass(frozen=True)
class Jitter(Transform):
    """Add Gaussian noise of deviation `sigma`, clipped to [-clip, clip], to each coordinate. Normals do not change."""

    sigma: float = 0.01
    clip: float = 0.05

    def apply(self, points: Tensor, normals: Tensor | None, generator: Generator | None) -> Cloud:
        noise = (self.sigma * normal(tuple(points.shape), points, generator)).clamp(-self.clip, self.clip)
        return points + noise.to(points.dtype), normals


@dataclass(frozen=True)
class RotateUp(Transform):
    """Rotate each cloud about one axis by an angle U(-max_angle, max_angle), in radians."""

    axis: str = "z"
    max_angle: float = math.pi

    def __post_init__(self) -> None:
        if self.axis not in ("x", "y", "z"):
            raise ValueError(f'axis: expected "x", "y" or "z", got {self.axis!r}')

    def apply(self, points: Tensor, normals: Tensor | None, generator: Generator | None) -> Cloud:
        angle = self.max_angle * (2 * uniform((len(points),), points, generator) - 1)
        return turn(points, normals, about_axis(self.axis, angle))


@dataclass(frozen=True)
class RotateAny(Transform):
    """Rotate each cloud by a uniformly random rotation, drawn as a random unit quaternion."""

    def apply(self, points: Tensor, normals: Tensor | None, generator: Generator | None) -> Cloud:
        quaternion = normalize(normal((len(points), 4), points, generator), dim=1)
        return turn(points, normals, from_quaternion(quaternion))


# Corruption


@dataclass(frozen=True)
class Shuffle(Transform):
    """Put the points of each cloud in random order."""

    def apply(self, points: Tensor, normals: Tensor | None, generator: Generator | None) -> Cloud:
        return pick(points, normals, uniform(tuple(points.shape[:2]), points, generator).argsort(1))


@dataclass(frozen=True)
class Corrupt(Transform):
    """Corrupt a random share of the clouds, each with its own severity U(low, high); the others stay as they are.

    Args:
        name: One of `CORRUPTIONS`.
        share: Probability of each cloud.
        low, high: Severities (default: those of the corruption).
    """

    name: str
    share: float
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        look_up("corruptions", self.name, CORRUPTIONS)
        if not 0 <= self.share <= 1:
            raise ValueError(f"corruptions.{self.name}: expected a share from 0 to 1, got {self.share}")
        low, high = self.severities
        if not 0 <= low <= high < math.inf:
            raise ValueError(f"corruptions.{self.name}: expected severities 0 <= low <= high, got {low} and {high}")

    @property
    def severities(self) -> tuple[float, float]:
        usual = CORRUPTIONS[self.name]
        return usual.low if self.low is None else self.low, usual.high if self.high is None else self.high

    def apply(self, points: Tensor, normals: Tensor | None, generator: Generator | None) -> Cloud:
        low, high = self.severities
        drawn = uniform((2, len(points)), points, generator)
        chosen = (drawn[0] < self.share).nonzero().squeeze(1)  # the others shall cost nothing
        severity = low + (high - low) * drawn[1, chosen]
        some = None if normals is None else normals[chosen]
        new, new_normals = CORRUPTIONS[self.name].function(points[chosen], some, severity, generator)
        points = points.index_copy(0, chosen, new)
        if normals is not None and new_normals is not None:
            normals = normals.index_copy(0, chosen, new_normals)
        return points, normals


@dataclass(frozen=True)
class RandomCount(Transform):
    """The first m points, one m for the whole batch: `most`, or in a share of the batches fewer, down to `least`.

    log m is uniform, so that as many batches have 64 to 128 points as have 512 to 1,024.
    """

    least: int
    most: int
    share: float = 1.0

    def __post_init__(self) -> None:
        _check_count(self.least)
        if self.most < self.least:
            raise ValueError(f"most: expected at least {self.least}, as least, got {self.most}")
        if not 0 <= self.share <= 1:
            raise ValueError(f"share: expected 0 to 1, got {self.share}")

    def apply(self, points: Tensor, normals: Tensor | None, generator: Generator | None) -> Cloud:
        chance, place = uniform((2,), points, generator).tolist()
        count = self.most
        if chance < self.share:
            count = round(math.exp(math.log(self.least) + place * (math.log(self.most) - math.log(self.least))))
        return FirstSubset(count)(points, normals)


# Presets

# The share of the shapes of "robust" that each corruption meets, and the share of batches with fewer points.
ROBUST = {
    "noise": 0.2,
    "outliers": 0.3,
    "half_space": 0.3,
    "crop": 0.2,
    "sparse": 0.2,
    "no_normals": 0.3,
    "points": 0.5,
}
ROBUST_LEAST = 64  # points of a batch


def _pretrain(points: int) -> tuple[Compose, Compose]:
    train = Compose(RandomSubset(points), UnitSphere(), RandomScale(2 / 3, 3 / 2), RandomShift(0.2))
    return train, Compose(FirstSubset(points), UnitSphere())


def _finetune(points: int) -> tuple[Compose, Compose]:
    farthest = points * 1200 // 1024
    train = Compose(FarthestThenRandom(farthest, points), RandomScale(2 / 3, 3 / 2), RandomShift(0.2))
    return train, Compose(FarthestSubset(points))


def _set_transformer(points: int) -> tuple[Compose, Compose]:
    turn = (RotateUp("z", 0.1 * math.pi), RandomScale(0.8, 1.25)) if points >= 5000 else ()
    return Compose(RandomSubset(points), Standardise(), *turn), Compose(FirstSubset(points), Standardise())


def _basic(points: int) -> tuple[Compose, Compose]:
    augmentation = PointDropout(0.875), RandomScale(0.8, 1.25, per_axis=False), RandomShift(0.1)
    return Compose(FirstSubset(points), *augmentation), Compose(FirstSubset(points))


def _basic_strong(points: int) -> tuple[Compose, Compose]:
    return Compose(RandomSubset(points), RandomScale(2 / 3, 3 / 2), RandomShift(0.2)), Compose(FirstSubset(points))


def _basic_ordered(points: int) -> tuple[Compose, Compose]:
    return Compose(FirstSubset(points), RandomScale(2 / 3, 3 / 2), RandomShift(0.2)), Compose(FirstSubset(points))


def _bricks(points: int) -> tuple[Compose, Compose]:
    train = Compose(RandomSubset(points), RandomScale(2 / 3, 3 / 2, per_axis=False), RandomShift(0.2))
    return train, Compose(FirstSubset(points))


def _robust(points: int, changes: Mapping[str, Any] | None = None, per_axis: bool = True) -> tuple[Compose, Compose]:
    mix = {name: _mixed(name, value) for name, value in {**ROBUST, **(changes or {})}.items()}
    share, least = [*mix.pop("points"), ROBUST_LEAST][:2]
    train = Compose(
        Shuffle(),
        # In the order of the table: noise and outliers before what repeats points, so that equal points stay equal.
        *(Corrupt(name, *mix[name]) for name in CORRUPTIONS if name in mix),
        RandomCount(min(int(least), points), points, share),
        UnitSphere(),
        RandomScale(2 / 3, 3 / 2, per_axis),
        RandomShift(0.2),
    )
    return train, Compose(FirstSubset(points), UnitSphere())


def _mixed(name: str, value: Any) -> list[float]:
    """A share, or a list of a share and what follows it, as a list."""
    look_up("corruptions", name, {**CORRUPTIONS, "points": None})
    values = list(value) if isinstance(value, list | tuple) else [value]
    lengths, form = ((1, 2), "[share, fewest points]") if name == "points" else ((1, 3), "[share, low, high]")
    if len(values) not in lengths or any(type(one) not in (int, float) for one in values):
        raise ValueError(f"corruptions.{name}: expected a share or {form}, got {value}")
    if name == "points" and not (0 <= values[0] <= 1 and min(values[1:], default=1) >= 1):
        raise ValueError(f"corruptions.points: expected a share from 0 to 1 and at least 1 point, got {value}")
    return values


def _robust_bricks(points: int, changes: Mapping[str, Any] | None = None) -> tuple[Compose, Compose]:
    return _robust(points, changes, per_axis=False)


def _resampled(points: int) -> tuple[Compose, Compose]:
    return Compose(RandomSubset(points)), Compose(FirstSubset(points))


def _none(points: int) -> tuple[Compose, Compose]:
    return Compose(FirstSubset(points)), Compose(FirstSubset(points))


PRESETS: dict[str, tuple[Callable[..., tuple[Compose, Compose]], int]] = {  # name: builder, default points
    "pretrain": (_pretrain, 1024),
    "finetune-modelnet40": (_finetune, 1024),
    "finetune-scanobjectnn": (_finetune, 1024),
    "set-transformer": (_set_transformer, 1000),
    "basic": (_basic, 1024),
    "basic-strong": (_basic_strong, 1024),
    "basic-ordered": (_basic_ordered, 1024),
    "bricks": (_bricks, 512),
    "robust": (_robust, 1024),
    "robust-bricks": (_robust_bricks, 512),
    "resampled": (_resampled, 1024),
    "none": (_none, 1024),
}


def list_presets() -> list[str]:
    """The names that `preset` knows."""
    return list(PRESETS)


def preset(
    name: str, points: int | None = None, *, rotate: str | None = None, corruptions: Mapping[str, Any] | None = None
) -> tuple[Compose, Compose]:
    """The transforms for training and for testing. The ones for testing are not random.

    - "pretrain": Point-MAE on ShapeNet. Random subset, unit sphere, scale U(2/3, 3/2) per axis, shift 0.2.
    - "finetune-modelnet40", "finetune-scanobjectnn": Point-BERT and Point-MAE. Farthest points (1200 for 1024 points),
      a random subset of them, scale and shift as above; testing uses farthest points. On ScanObjectNN, rotate="y"
      adds 3 to 4 points of accuracy.
    - "set-transformer": Lee et al. Random subset, standardise; from 5000 points on, also rotate by up to 0.1 pi about
      z and scale by U(0.8, 1.25) per axis.
    - "basic": the public PointNet++ recipe with normals. First points, dropout up to 0.875, scale U(0.8, 1.25),
      shift 0.1.
    - "basic-strong": random subset, scale U(2/3, 3/2) per axis, shift 0.2.
    - "basic-ordered": as "basic-strong", but with the first points in their stored order, the same in every epoch. A
      mechanism that reads the order of the points, such as "sparse", is itself only here: a random subset comes in a
      fresh random order.
    - "bricks": as "basic-strong", but with one scale for all axes, because proportions tell the bricks apart.
    - "robust": some shapes get noise, outliers, missing parts or fewer points, some batches have fewer points, down to
      64; then unit sphere, scale and shift as in "basic-strong". "robust-bricks" has one scale for all axes.
    - "resampled": a random subset, otherwise unchanged: for numbers to predict, which scaling may change.
    - "none": the first points, unchanged.

    Args:
        name: One of `list_presets()`.
        points: Points per cloud (default: 1000 for "set-transformer", 512 for "bricks", 1024 otherwise).
        rotate: "x", "y" or "z": in training, also rotate by a random angle about this axis.
        corruptions: For "robust", other shares than those of `ROBUST`, such as {"noise": 0.5}, or with severities,
            {"noise": [0.5, 0, 0.02]}; {"points": [0.5, 128]} is the share of batches with fewer points, down to 128.
    """
    build, default = look_up("preset", name, PRESETS)
    if corruptions and build not in (_robust, _robust_bricks):
        raise ValueError(f"corruptions: expected the preset robust or robust-bricks to have some, got {name}")
    train, test = build(default if points is None else points, *([corruptions] if corruptions else []))
    return train if rotate is None else Compose(*train.transforms, RotateUp(rotate)), test


# Helpers


def _check_count(count: int) -> None:
    if count < 1:
        raise ValueError(f"count: expected at least 1, got {count}")


def _check_enough(points: Tensor, count: int) -> None:
    if points.shape[1] < count:
        raise ValueError(f"points: expected at least {count} per cloud, got {points.shape[1]}")
