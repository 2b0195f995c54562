"""The options of a training run, as the command line, a YAML file and the run folder know them."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class DataOptions:
    """What is trained on.

    Args:
        source: the name of a data set, a pack, or a folder of shapes; --data is short for it.
        root: the folder that holds a data set given by name.
        points: points of each shape; what the preset says if not given, or all where fewer are stored.
        normals: whether normals are used; if there are any, if not given.
        preset: resampling and augmentation; "bricks" for bricks and "basic-strong" for others if not given.
        validation: share of each class of the training split that is held out and chooses model-best.safetensors.
        batch: shapes of a training step, for each device.
    """

    source: str
    root: str | None = None
    points: int | None = None
    normals: bool | None = None
    preset: str | None = None
    validation: float = 0.0
    batch: int = 64

    def __post_init__(self) -> None:
        if not 0 <= self.validation < 1:
            raise ValueError(f"data.validation: expected 0 or more and less than 1, got {self.validation}")
        if self.batch < 2:
            raise ValueError(f"data.batch: expected at least 2 shapes, got {self.batch}")
        if self.points is not None and self.points < 1:
            raise ValueError(f"data.points: expected at least 1, got {self.points}")


@dataclass(frozen=True)
class OptimiserOptions:
    """How the weights are moved.

    Args:
        name: the optimiser.
        rate: the highest learning rate.
        weight_decay: decoupled from the gradient with adamw, added to it with the others.
        schedule: of the learning rate, moved at every step; "step" multiplies it by decay every decay_epochs.
        warmup: epochs of rising learning rate; 0 if not given, and 30 % of the run with "one-cycle".
        decay: factor of the schedule "step".
        decay_epochs: epochs between two steps of the schedule "step".
        label_smoothing: share of the target that is spread over all classes.
        clip: largest norm of the gradient; 0 for any.
    """

    name: Literal["adamw", "adam", "sgd"] = "adamw"
    rate: float = 2e-3
    weight_decay: float = 0.05
    schedule: Literal["one-cycle", "cosine", "step", "constant"] = "one-cycle"
    warmup: float | None = None
    decay: float = 0.5
    decay_epochs: int = 20
    label_smoothing: float = 0.1
    clip: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.rate < math.inf:
            raise ValueError(f"optimiser.rate: expected a positive number, got {self.rate}")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(f"optimiser.label_smoothing: expected 0 to below 1, got {self.label_smoothing}")
        if self.decay_epochs < 1:
            raise ValueError(f"optimiser.decay_epochs: expected at least 1, got {self.decay_epochs}")
        for name in ("weight_decay", "decay", "clip", "warmup"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise ValueError(f"optimiser.{name}: expected 0 or more, got {value}")


@dataclass(frozen=True)
class TrainerOptions:
    """Where it runs; all of them are handed to Lightning's Trainer.

    Args:
        accelerator: cpu, gpu, mps, ..., or auto.
        devices: how many, or which.
        num_nodes: machines.
        strategy: auto, ddp, fsdp, ...
        precision: 32-true, bf16-mixed, 16-mixed, ...
    """

    accelerator: str = "auto"
    devices: int | str = 1
    num_nodes: int = 1
    strategy: str = "auto"
    precision: str = "32-true"


@dataclass(frozen=True)
class Settings:
    """All of a run. The keys are those of the command `train`."""

    data: DataOptions
    out: str = ""
    model: str = "basic"
    attention: str = "sampled"
    options: Mapping[str, Any] = field(default_factory=dict)
    epochs: int = 20
    seed: int = 0
    optimiser: OptimiserOptions = field(default_factory=OptimiserOptions)
    trainer: TrainerOptions = field(default_factory=TrainerOptions)
    recipe: str | None = None
    init: str | None = None

    def __post_init__(self) -> None:
        if not self.out:
            raise ValueError("out: expected the folder of the run, --out runs/name")
        if self.epochs < 1:
            raise ValueError(f"epochs: expected at least 1, got {self.epochs}")
        if not 0 <= self.seed < 2**32:
            raise ValueError(f"seed: expected 0 to {2**32 - 1}, got {self.seed}")

    def command(self) -> str:
        """The command that makes the same run, whatever recipe and files its options came from."""
        usual = dict(_flat(asdict(Settings(DataOptions(""), out="-"))))
        words = [f"sampled-transformer train --data {shlex.quote(self.data.source)}"]
        for name, value in _flat(asdict(self)):
            if name not in ("data.source", "recipe") and value != usual.get(name):
                words.append(f"--{name} {shlex.quote(value if isinstance(value, str) else json.dumps(value))}")
        return " ".join(words)


def _flat(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def differences(one: Settings, two: Settings) -> list[str]:
    """Options in which two runs differ, but for those that a run may change when it goes on.

    The number of processes decides how many steps an epoch has, so it has to stay.
    """
    free = ("out", "epochs", "recipe", "trainer.accelerator", "trainer.strategy", "trainer.precision")
    flat_one, flat_two = dict(_flat(asdict(one))), dict(_flat(asdict(two)))
    names = [name for name in {**flat_one, **flat_two} if name not in free]
    return [name for name in names if flat_one.get(name) != flat_two.get(name)]
