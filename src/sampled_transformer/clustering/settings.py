"""The settings of `cluster train`: every option, its default and its help text. This module does not load torch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, make_dataclass, replace
from typing import Any, ClassVar, Literal, get_type_hints

from ..training.checkpoints import Every
from ..training.run_settings import RunSettings


@dataclass(frozen=True)
class MixtureOptions:
    """The sets to draw. The paper and the paper of Lee et al. have the same defaults.

    Args:
        points: Range [low,high) of the number of points per set; the code of Lee et al. has [300,600].
        components: Gaussians per mixture.
        dimension: Dimension of the points.
        spread: Means are uniform in (-spread, spread).
        deviation: Standard deviation of all Gaussians.
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


# The fields and help texts of `MixtureOptions`, each of which may be None.
_OptionalMixture: Any = make_dataclass(
    "_OptionalMixture",
    [(name, kind | None, None) for name, kind in get_type_hints(MixtureOptions).items()],
    namespace={"__doc__": MixtureOptions.__doc__},
    frozen=True,
)


@dataclass(frozen=True)
class MixtureChanges(_OptionalMixture):  # type: ignore[misc]
    """Changes to the sets that a network was trained on (default of each: as in training).

    Args:
        points: Range [low,high) of the number of points per set.
        components: Gaussians per mixture; they must fit the network.
        dimension: Dimension of the points; it must fit the network.
    """

    def of(self, options: MixtureOptions) -> MixtureOptions:
        """The options with these changes."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        return replace(options, **{name: value for name, value in given.items() if value is not None})


@dataclass(frozen=True)
class ClusterSettings(RunSettings):
    """The settings of `cluster train`.

    Args:
        out: Folder of the run. It must not exist yet.
        model: Network, set-transformer-mixture or pooling-mixture.
        options: Further options of the network, such as --options.attention sampled.
        data: The sets to draw.
        steps: Training steps.
        batch: Sets per step.
        rate: Highest learning rate of Adam.
        clip: Largest norm of the gradient; 0, as in the code of Lee et al., means no limit.
        schedule: Learning-rate schedule; "step" multiplies the rate by 0.1 from `decay_at` on, "cosine" lets it fall to
            zero.
        decay_at: Share of the run before the schedule "step" steps; 0.7 in the paper of Lee et al., 0.5 in their code.
        seed: Random seed.
        every: Steps between two rows of figures; each also writes a checkpoint.
        sets: Number of fixed sets that the result is measured on.
        recipe: Name of a recipe, such as cluster-columns; options on the command line override it.
        device: Device (default: GPU if available).
        checkpoint_every: Time or number of steps between two further checkpoints, such as 600s, 10m or "500 steps".
        nonfinite: What to do in a step whose likelihood or gradient is not finite: stop the run, or skip the step and
            count it.
    """

    command_name: ClassVar[str] = "cluster train"
    # The number of steps shapes the learning rate from the first step on, so it must stay.
    free: ClassVar[tuple[str, ...]] = ("out", "recipe", "device", "checkpoint_every", "nonfinite")

    out: str
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
    checkpoint_every: str | int = "600s"
    nonfinite: Literal["stop", "skip"] = "stop"

    def __post_init__(self) -> None:
        Every.read(self.checkpoint_every, "checkpoint_every")
        if not self.out:
            raise ValueError("out: expected the folder of the run, --out runs/name, got nothing")
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

    def network_options(self) -> dict[str, Any]:
        """All options of the network."""
        return {"inputs": self.data.dimension, "components": self.data.components, **self.options}
