"""The settings of `segment train`: every option, its default and its help text. This module does not load torch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

from .settings import OptimiserOptions, Settings, Up


@dataclass(frozen=True)
class PointDataOptions:
    """Data and augmentation.

    Args:
        source: The name of a data set with labels per point, a pack, or a folder of labelled scans.
        root: Folder that holds a data set given by name.
        points: Points per set (default: 1,024 for a subset, 50,000 for a crop, or all if fewer are stored).
        part: Which points of a larger set a training step reads: a "subset" of all of them, for shapes, or a "crop",
            those nearest to a random one, for scenes.
        size: Size that the network sees: "unit" scales every set into the unit sphere, for shapes; "kept" keeps the
            unit of the data, for scenes (default: "unit" for subsets, "kept" for crops).
        normals: Use normals (default: when the data has them).
        features: Names of further features to use (default: all that the data has).
        missing: Share of the training sets that lose their normals, and likewise each feature, so that the network can
            do without any of them.
        turn: Random rotation in training: none, about the axis that is up, or about any axis.
        flip: Mirror half of the training sets.
        scale: Range [low,high] of a random factor of the size of training sets.
        jitter: Standard deviation of noise on the positions of training sets, in spacings of the points.
        colour_jitter: Standard deviation of noise on the feature "colour" of training sets.
        validation: Share of the training sets to hold out and to choose model-best.safetensors on.
        batch: Sets per training step and device.
        up: Axis that is up in the files of a folder or in a pack, which are turned to z up (default: as it is stored).
    """

    short: ClassVar[str] = "source"  # `--data brick-parts` is short for `--data.source brick-parts`

    source: str
    root: str | None = None
    points: int | None = None
    part: Literal["subset", "crop"] = "subset"
    size: Literal["unit", "kept"] | None = None
    normals: bool | None = None
    features: list[str] | None = None
    missing: float = 0.0
    turn: Literal["none", "up", "any"] = "up"
    flip: bool = True
    scale: tuple[float, float] = (0.8, 1.25)
    jitter: float = 0.0
    colour_jitter: float = 0.05
    validation: float = 0.0
    batch: int = 16
    up: Up | None = None

    def __post_init__(self) -> None:
        for name in ("validation", "missing"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"data.{name}: expected 0 or more and less than 1, got {getattr(self, name)}")
        for name in ("jitter", "colour_jitter"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"data.{name}: expected 0 or more, got {getattr(self, name)}")
        if self.batch < 1:
            raise ValueError(f"data.batch: expected at least 1 set, got {self.batch}")
        if self.points is not None and self.points < 2:
            raise ValueError(f"data.points: expected at least 2, got {self.points}")
        if len(self.scale) != 2 or not 0 < self.scale[0] <= self.scale[1] < math.inf:
            raise ValueError(f"data.scale: expected [low, high] with 0 < low <= high, got {list(self.scale)}")
        if self.up == "auto":
            raise ValueError("data.up: expected an axis, because only classifiers can be asked, got auto")


@dataclass(frozen=True)
class LossOptions:
    """What training minimises.

    Args:
        balance: Classes weigh their share of the points to the power of minus this: 0 weighs all points alike, 1 all
            classes.
        fade: Let the balance fall to 0 along the training. Weights help to find rare classes, but a network that keeps
            them sees rare classes where there are none.
        also: Add a second term that follows the IoU more closely: "lovasz" or "dice".
        ignore: Names of classes whose points do not count, neither in training nor in evaluation.
    """

    balance: float = 0.5
    fade: bool = True
    also: Literal["none", "lovasz", "dice"] = "none"
    ignore: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not 0 <= self.balance <= 2:
            raise ValueError(f"loss.balance: expected 0 to 2, got {self.balance}")


SEGMENTING = OptimiserOptions(label_smoothing=0.0, clip=1.0)


@dataclass(frozen=True)
class SegmentSettings(Settings):
    """The settings of `segment train`.

    Args:
        data: Data and augmentation.
        loss: What training minimises.
        model: Network.
        attention: Attention mechanism (default: as in --init, or rotary).
        options: Further options of the network, such as --options.widths "[32,64,128]".
        epochs: Passes over the training sets; a scene counts as often as it has crops.
        recipe: Name of a recipe, such as segment-rotary; options on the command line override it.
    """

    command_name: ClassVar[str] = "segment train"
    short_names: ClassVar[Mapping[str, str]] = {"data.source": "data"}

    data: PointDataOptions  # type: ignore[assignment]
    model: str = "segmenter"
    epochs: int = 30
    optimiser: OptimiserOptions = SEGMENTING
    loss: LossOptions = field(default_factory=LossOptions)

    def __post_init__(self) -> None:
        if not self.attention and self.init is None:
            object.__setattr__(self, "attention", "rotary")
        super().__post_init__()
        if self.model != "segmenter":
            raise ValueError(f"model: expected 'segmenter', the network that labels points, got {self.model!r}")

    @classmethod
    def usual(cls) -> Self:
        return cls(PointDataOptions(""), out="-")

    def view_options(self) -> dict[str, Any]:
        """How the network sees sets, as far as the options say it."""
        size = self.data.size or ("unit" if self.data.part == "subset" else "kept")
        return {"part": self.data.part, "size": size}
