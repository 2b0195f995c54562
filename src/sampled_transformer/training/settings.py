"""The settings of `train`, `pretrain` and `fewshot`: this file states every option, its default and its help text once.

The command line, recipes, --config files and the config.yaml of a run all read these dataclasses. This module does not
load torch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal, Self

from .checkpoints import Every
from .run_settings import RunSettings

Up = Literal["x", "y", "z", "-x", "-y", "-z", "auto"]
LOGGERS = ("csv", "tensorboard", "wandb", "mlflow")


@dataclass(frozen=True)
class DataOptions:
    """Data and augmentation.

    Args:
        source: The name of a data set, a pack, or a folder of shapes.
        root: Folder that holds a data set given by name.
        points: Points per shape (default: as in the preset, or all if fewer are stored).
        normals: Use normals (default: when the data has them).
        preset: Resampling and augmentation (default: "bricks" for bricks; for other data "basic-strong" in `train`, or
            "resampled" if labels are numbers, "pretrain" in `pretrain`, "finetune-modelnet40" in `fewshot`).
        corruptions: For the presets "robust" and "robust-bricks", other shares of corrupted shapes than the usual ones,
            such as --data.corruptions.noise 0.5, or with severities, --data.corruptions.noise "[0.5, 0, 0.02]".
        validation: Share of the training split, of each class, to hold out, to choose model-best.safetensors on, and to
            fit honest probabilities on, as `calibrate` does.
        batch: Shapes per training step and device.
        up: Axis that is up in the files of a folder, which are turned to z up; "auto" asks the default networks of
            `predict` about some of them (default: as the format says, or else z).
    """

    short: ClassVar[str] = "source"  # `--data bricks` is short for `--data.source bricks`

    source: str
    root: str | None = None
    points: int | None = None
    normals: bool | None = None
    preset: str | None = None
    corruptions: Mapping[str, Any] = field(default_factory=dict)
    validation: float = 0.0
    batch: int = 64
    up: Up | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.validation < 1:
            raise ValueError(f"data.validation: expected 0 or more and less than 1, got {self.validation}")
        if self.batch < 2:
            raise ValueError(f"data.batch: expected at least 2 shapes, got {self.batch}")
        if self.points is not None and self.points < 1:
            raise ValueError(f"data.points: expected at least 1, got {self.points}")


@dataclass(frozen=True)
class OptimiserOptions:
    """Optimiser and learning-rate schedule.

    Args:
        name: Optimiser.
        rate: Highest learning rate.
        weight_decay: Weight decay; decoupled from the gradient with adamw, added to it with the others.
        schedule: Learning-rate schedule, applied at every step; "step" multiplies the rate by `decay` every
            `decay_epochs` epochs.
        warmup: Epochs of rising learning rate (default: 30 % of the run for "one-cycle", otherwise 0).
        decay: Factor of the schedule "step".
        decay_epochs: Epochs between two steps of the schedule "step".
        milestones: Epochs at which "step" lowers the rate, instead of every `decay_epochs`, such as "[120,160]".
        label_smoothing: Share of the target that is spread over all classes; not used if labels are numbers.
        clip: Largest norm of the gradient; 0 means no limit.
        decays: Which weights decay: "all", or only "matrices", not biases, norms and tokens.
    """

    name: Literal["adamw", "adam", "sgd"] = "adamw"
    rate: float = 2e-3
    weight_decay: float = 0.05
    schedule: Literal["one-cycle", "cosine", "step", "constant"] = "one-cycle"
    warmup: float | None = None
    decay: float = 0.5
    decay_epochs: int = 20
    milestones: list[int] = field(default_factory=list)
    label_smoothing: float = 0.1
    clip: float = 0.0
    decays: Literal["all", "matrices"] = "all"

    def __post_init__(self) -> None:
        if not 0 < self.rate < math.inf:
            raise ValueError(f"optimiser.rate: expected a positive number, got {self.rate}")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(f"optimiser.label_smoothing: expected 0 to below 1, got {self.label_smoothing}")
        if any(epoch < 1 for epoch in self.milestones):
            raise ValueError(f"optimiser.milestones: expected epochs from 1 on, got {self.milestones}")
        if self.decay_epochs < 1:
            raise ValueError(f"optimiser.decay_epochs: expected at least 1, got {self.decay_epochs}")
        for name in ("weight_decay", "decay", "clip", "warmup"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise ValueError(f"optimiser.{name}: expected 0 or more, got {value}")


@dataclass(frozen=True)
class TrainerOptions:
    """Hardware, which Lightning's Trainer takes, and what keeps a run safe.

    Args:
        accelerator: Kind of device, such as cpu, gpu or mps.
        devices: Number of devices per machine, or which ones.
        num_nodes: Number of machines.
        strategy: How processes share the work, such as ddp.
        precision: Precision, such as 32-true, bf16-mixed or 16-mixed.
        logger: Where the figures of each epoch go, besides metrics.csv: none, or names from csv, tensorboard, wandb and
            mlflow, separated by commas. The last two have to be installed.
        checkpoint_every: Time or number of steps between two checkpoints, such as 600s, 10m or "500 steps". Every epoch
            ends with one, too.
        nonfinite: What to do in a step whose loss or gradient is not finite: stop the run, or skip the step and count
            it.
    """

    not_lightnings: ClassVar[tuple[str, ...]] = ("logger", "checkpoint_every", "nonfinite")

    accelerator: str = "auto"
    devices: int | str = 1
    num_nodes: int = 1
    strategy: str = "auto"
    precision: str = "32-true"
    logger: str = "tensorboard"
    checkpoint_every: str | int = "600s"
    nonfinite: Literal["stop", "skip"] = "stop"

    def __post_init__(self) -> None:
        logger_names(self.logger)
        Every.read(self.checkpoint_every, "trainer.checkpoint_every")

    def hardware(self) -> dict[str, Any]:
        """The options that Lightning's Trainer takes as they are."""
        return {name: value for name, value in asdict(self).items() if name not in self.not_lightnings}


def logger_names(text: str) -> list[str]:
    """The names in a list that is separated by commas; "none" has none."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",")))
    if names == ["none"]:
        return []
    for name in names:
        if name not in LOGGERS:
            expected = f"expected none, or names from {', '.join(LOGGERS)}, separated by commas"
            raise ValueError(f"trainer.logger: {expected}, got {name!r}")
    return names


@dataclass(frozen=True)
class Settings(RunSettings):
    """The settings of `train`.

    Args:
        data: Data and augmentation.
        out: Folder of the run. It must not exist yet.
        model: Network. A mae-classifier needs a recipe, such as finetune-modelnet40-small.
        attention: Attention mechanism (default: as in --init, or sampled).
        options: Further options of the network, such as --options.dim 128.
        epochs: Passes over the training split.
        seed: Random seed.
        optimiser: Optimiser and learning-rate schedule.
        trainer: Hardware.
        recipe: Name of a recipe, such as basic-sampled; options on the command line override it.
        init: Initial weights: the folder of a run, a weights file, or the name of shipped weights. Network options that
            you do not give come from them.
    """

    command_name: ClassVar[str] = "train"
    short_names: ClassVar[Mapping[str, str]] = {"data.source": "data"}
    # The number of processes decides how many steps an epoch has, so it must stay.
    free: ClassVar[tuple[str, ...]] = (
        "out",
        "epochs",
        "recipe",
        "trainer.accelerator",
        "trainer.strategy",
        "trainer.precision",
        "trainer.logger",
        "trainer.checkpoint_every",
        "trainer.nonfinite",
    )

    data: DataOptions
    out: str
    model: str = "basic"
    attention: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    epochs: int = 20
    seed: int = 0
    optimiser: OptimiserOptions = field(default_factory=OptimiserOptions)
    trainer: TrainerOptions = field(default_factory=TrainerOptions)
    recipe: str | None = None
    init: str | None = None

    def __post_init__(self) -> None:
        if not self.out:
            raise ValueError("out: expected the folder of the run, --out runs/name, got nothing")
        if self.epochs < 1:
            raise ValueError(f"epochs: expected at least 1, got {self.epochs}")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed: expected 0 to {2**32 - 1}, got {self.seed}")
        if not self.attention and self.init is None:
            object.__setattr__(self, "attention", "sampled")

    @classmethod
    def usual(cls) -> Self:
        return cls(DataOptions(""), out="-")


PRETRAINING = OptimiserOptions(rate=5e-4, schedule="cosine", warmup=10, label_smoothing=0.0, decays="matrices")


@dataclass(frozen=True)
class PretrainSettings(Settings):
    """The settings of `pretrain`. The defaults come from the paper.

    Args:
        model: Network.
        options: Further options of the network, such as --options.mask_ratio 0.6.
        recipe: Name of a recipe, such as pretrain-sampled; options on the command line override it.
        probe_every: Epochs between two linear probes on a part of the training split, if it has labels; 0 means none.
    """

    command_name: ClassVar[str] = "pretrain"
    fixed: ClassVar[tuple[str, ...]] = ("data.validation",)

    model: str = "mae"
    epochs: int = 300
    optimiser: OptimiserOptions = PRETRAINING
    probe_every: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.probe_every < 0:
            raise ValueError(f"probe_every: expected 0 or more epochs, got {self.probe_every}")
        _refuse_validation(self.data)


FINE_TUNING = OptimiserOptions(
    rate=5e-4, schedule="cosine", warmup=10, label_smoothing=0.0, clip=10.0, decays="matrices"
)


@dataclass(frozen=True)
class FewShotSettings(Settings):
    """The settings of `fewshot`. The recipes hold the settings of Point-MAE.

    Args:
        data: Data that shots and queries are drawn from.
        out: Folder for one file per fold. It must not exist yet.
        attention: Attention mechanism (default: as in the weights).
        options: Further options of the classifier, such as --options.pooling cls-max. The options of its encoder come
            with the weights.
        epochs: Passes over the shots.
        recipe: Name of a recipe, such as fewshot-5way-10shot; options on the command line override it.
        init: Pre-trained weights: the folder of a run, a weights file, or the name of shipped weights.
        way: Classes per fold.
        shot: Training shapes per class, from the training split.
        folds: Number of folds.
        queries: Test shapes per class, from the test split.
        samples: Also average the probabilities over this many cycles.
        scratch: Start from new weights instead, for comparison.
        frozen: Keep the encoder as it is and fit a logistic regression on its features, which takes seconds: no epochs,
            no optimiser.
    """

    command_name: ClassVar[str] = "fewshot"
    positional: ClassVar[Mapping[str, str]] = {"init": "weights"}
    fixed: ClassVar[tuple[str, ...]] = (
        "model",
        "data.validation",
        "trainer.logger",
        "trainer.checkpoint_every",  # folds are short
    )
    free: ClassVar[tuple[str, ...]] = ("out", "folds", "recipe")

    model: str = "mae-classifier"
    epochs: int = 150
    optimiser: OptimiserOptions = FINE_TUNING
    way: int = 5
    shot: int = 10
    folds: int = 10
    queries: int = 20
    samples: int = 1
    scratch: bool = False
    frozen: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("way", 2), ("shot", 1), ("folds", 1), ("queries", 1), ("samples", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}: expected at least {least}, got {getattr(self, name)}")
        _refuse_validation(self.data)
        if str(self.trainer.devices) != "1" or self.trainer.num_nodes != 1:
            got = f"{self.trainer.devices} and {self.trainer.num_nodes}"
            raise ValueError(f"trainer.devices, trainer.num_nodes: expected 1, because a fold is small, got {got}")

    @classmethod
    def usual(cls) -> Self:
        return cls(DataOptions(""), out="-", init="-")


def _refuse_validation(data: DataOptions) -> None:
    if data.validation:
        raise ValueError(f"data.validation: expected 0, because nothing is held out, got {data.validation}")
