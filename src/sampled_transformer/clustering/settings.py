"""The options of amortised clustering, as the command line, a YAML file and the run folder know them. No torch here."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

from ..training.settings import flat


@dataclass(frozen=True)
class MixtureOptions:
    """The sets that are drawn. The defaults are those of the paper and of Lee et al.'s paper.

    Args:
        points: the number of points is drawn from [low, high); Lee et al.'s code has [300, 600).
        components: Gaussians of a mixture.
        dimension: of the points.
        spread: means are uniform in (-spread, spread).
        deviation: standard deviation of all Gaussians.
    """

    points: tuple[int, int] = (100, 500)
    components: int = 4
    dimension: int = 2
    spread: float = 4.0
    deviation: float = 0.3

    def __post_init__(self) -> None:
        if len(self.points) != 2 or not 0 < self.points[0] < self.points[1]:
            raise ValueError(f"data.points: expected [low, high] with 0 < low < high, got {list(self.points)}")
        for name in ("components", "dimension", "spread", "deviation"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"data.{name}: expected a positive number, got {getattr(self, name)}")
        if self.points[0] < self.components:
            least = f"at least {self.components} points for {self.components} clusters"
            raise ValueError(f"data.points: expected {least}, got {list(self.points)}")


@dataclass(frozen=True)
class MixtureChanges:
    """What is different from the sets a network was trained on; what is not given stays.

    Args:
        points: the number of points is drawn from [low, high).
        components: Gaussians of a mixture; only those of the network fit.
        dimension: of the points; only that of the network fits.
        spread: means are uniform in (-spread, spread).
        deviation: standard deviation of all Gaussians.
    """

    points: tuple[int, int] | None = None
    components: int | None = None
    dimension: int | None = None
    spread: float | None = None
    deviation: float | None = None

    def of(self, options: MixtureOptions) -> MixtureOptions:
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        return replace(options, **{name: value for name, value in given.items() if value is not None})


@dataclass(frozen=True)
class ClusterSettings:
    """All of a run. The keys are those of the command `cluster train`."""

    out: str = ""
    model: str = "set-transformer-mixture"
    options: Mapping[str, Any] = field(default_factory=dict)
    data: MixtureOptions = field(default_factory=MixtureOptions)
    steps: int = 50_000
    batch: int = 10
    rate: float = 1e-3
    clip: float = 1.0
    schedule: Literal["step", "cosine"] = "step"
    decay_at: float = 0.7
    seed: int = 0
    every: int = 1000
    sets: int = 1000
    recipe: str | None = None
    device: str | None = None

    def __post_init__(self) -> None:
        if not self.out:
            raise ValueError("out: expected the folder of the run, --out runs/name")
        for name in ("steps", "batch", "every", "sets"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: expected at least 1, got {getattr(self, name)}")
        if not 0 < self.rate < math.inf:
            raise ValueError(f"rate: expected a positive number, got {self.rate}")
        if not 0 <= self.clip < math.inf:
            raise ValueError(f"clip: expected 0 or a positive number, got {self.clip}")
        if self.schedule not in ("step", "cosine"):
            raise ValueError(f"schedule: expected step or cosine, got {self.schedule!r}")
        if not 0 < self.decay_at <= 1:
            raise ValueError(f"decay_at: expected a share of the run above 0, at most 1, got {self.decay_at}")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed: expected 0 to {2**32 - 1}, got {self.seed}")

    def tree(self) -> dict[str, Any]:
        """As plain values, for YAML."""
        tree = asdict(self)
        tree["data"]["points"] = list(self.data.points)
        return tree

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> ClusterSettings:
        data = {**tree["data"], "points": tuple(tree["data"]["points"])}
        return cls(**{**tree, "data": MixtureOptions(**data)})

    def network_options(self) -> dict[str, Any]:
        return {"inputs": self.data.dimension, "components": self.data.components, **self.options}

    def command(self) -> str:
        """The command that makes the same run, whatever recipe and files its options came from."""
        usual = dict(flat(ClusterSettings(out="-").tree()))
        words = ["sampled-transformer cluster train"]
        for name, value in flat(self.tree()):
            if name != "recipe" and value != usual.get(name):
                words.append(f"--{name} {shlex.quote(value if isinstance(value, str) else json.dumps(value))}")
        return " ".join(words)


def changed(one: ClusterSettings, two: ClusterSettings) -> list[str]:
    """Options in which two runs differ, but for those that a run may change when it goes on.

    The number of steps shapes the learning rate from the first step on, so it has to stay.
    """
    free = ("out", "recipe", "device")
    flat_one, flat_two = dict(flat(one.tree())), dict(flat(two.tree()))
    names = [name for name in {**flat_one, **flat_two} if name not in free]
    return [name for name in names if flat_one.get(name) != flat_two.get(name)]
