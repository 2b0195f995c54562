"""The options of a training run, as the command line, a YAML file and the run folder know them."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, Literal


@dataclass(frozen=True)
class DataOptions:
    """What is trained on.

    Args:
        source: the name of a data set, a pack, or a folder of shapes; --data is short for it.
        root: the folder that holds a data set given by name.
        points: points of each shape; what the preset says if not given, or all where fewer are stored.
        normals: whether normals are used; if there are any, if not given.
        preset: resampling and augmentation; if not given, "bricks" for bricks, and for others "basic-strong" in
            `train`, "pretrain" in `pretrain` and "finetune-modelnet40" in `fewshot`.
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
        milestones: the epochs before which it steps instead, such as [120, 160].
        label_smoothing: share of the target that is spread over all classes.
        clip: largest norm of the gradient; 0 for any.
        decays: which weights do: "all", or only "matrices", not biases, norms and tokens.
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
    """Where it runs; all of them are handed to Lightning's Trainer.

    Args:
        accelerator: cpu, gpu, mps, ..., or auto.
        devices: how many, or which.
        num_nodes: machines.
        strategy: auto, ddp, ...
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

    unnamed: ClassVar[tuple[str, ...]] = ("data.source", "recipe")  # not among the words of the command
    # What may change when a run goes on. The number of processes decides how many steps an epoch has: it has to stay.
    free: ClassVar[tuple[str, ...]] = (
        "out",
        "epochs",
        "recipe",
        "trainer.accelerator",
        "trainer.strategy",
        "trainer.precision",
    )

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

    @property
    def verb(self) -> str:
        """The command that makes such runs."""
        return "train"

    def command(self) -> str:
        """The command that makes the same run, whatever recipe and files its options came from."""
        usual = dict(flat(asdict(type(self)(DataOptions(""), out="-"))))
        words = [f"sampled-transformer {self.verb} --data {shlex.quote(self.data.source)}"]
        for name, value in flat(asdict(self)):
            if name in self.unnamed or value == usual.get(name):
                continue
            if isinstance(value, bool) and "." not in name:  # a switch of the command; options within options are not
                words.append(f"--{name}" if value else f"--no-{name}")
            else:
                words.append(f"--{name} {shlex.quote(value if isinstance(value, str) else json.dumps(value))}")
        return " ".join(words)


PRETRAINING = OptimiserOptions(rate=5e-4, schedule="cosine", warmup=10, label_smoothing=0.0, decays="matrices")


@dataclass(frozen=True)
class PretrainSettings(Settings):
    """All of a pre-training. The keys are those of the command `pretrain`; the defaults are the paper's.

    `probe_every`: epochs between two linear probes on a part of the training split; 0 for none.
    """

    model: str = "mae"
    epochs: int = 300
    optimiser: OptimiserOptions = PRETRAINING
    probe_every: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.probe_every < 0:
            raise ValueError(f"probe_every: expected 0 or more epochs, got {self.probe_every}")
        if self.data.validation:
            raise ValueError(f"data.validation: expected 0, as nothing is held out, got {self.data.validation}")

    @property
    def verb(self) -> str:
        return "pretrain"


FINE_TUNING = OptimiserOptions(
    rate=5e-4, schedule="cosine", warmup=10, label_smoothing=0.0, clip=10.0, decays="matrices"
)


@dataclass(frozen=True)
class FewShotSettings(Settings):
    """All of a few-shot measurement. The keys are those of the command `fewshot`; Point-MAE's are in its recipes.

    `options` are further ones of the classifier; those of its encoder come with the weights, `init`. Each fold has
    `way` classes, `shot` shapes of each to train on and `queries` to test on. `scratch` begins with new weights.
    `frozen` leaves the encoder as it is and fits a logistic regression on its features: no epochs, no optimiser.
    `samples` is a number of cycles over which probabilities are averaged, beside the one pass.
    """

    unnamed: ClassVar[tuple[str, ...]] = ("data.source", "recipe", "model", "init")
    free: ClassVar[tuple[str, ...]] = ("out", "folds", "recipe")

    model: str = "mae-classifier"
    attention: str = ""  # that of the weights
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
        if self.data.validation:
            raise ValueError(f"data.validation: expected 0, as nothing is held out, got {self.data.validation}")
        if str(self.trainer.devices) != "1" or self.trainer.num_nodes != 1:
            raise ValueError("trainer.devices, trainer.num_nodes: expected 1, as a fold is small")

    @property
    def verb(self) -> str:
        return f"fewshot {shlex.quote(self.init or '')}"


def flat(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Options as they stand on the line: data.points and its value."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def differences(one: Settings, two: Settings) -> list[str]:
    """Options in which two runs differ, but for those that a run may change when it goes on."""
    flat_one, flat_two = dict(flat(asdict(one))), dict(flat(asdict(two)))
    names = [name for name in {**flat_one, **flat_two} if name not in one.free]
    return [name for name in names if flat_one.get(name) != flat_two.get(name)]
