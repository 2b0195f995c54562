"""One run and its folder: config.yaml, metrics.csv, tensorboard/, last.ckpt, model.safetensors, result.json."""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
import yaml
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch import LightningDataModule, Trainer
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.utilities import rank_zero_only
from torch import nn

from .. import __version__
from ..attention import list_attention
from ..models import WITHOUT_NORMALS, MaskedAutoencoder, MaskedAutoencoderClassifier, create_model
from ..support.atomic import atomic_write
from ..support.machine import machine
from ..support.printable import printable
from ..weights import Description, find_weights, save_model
from .callbacks import AtomicCheckpoints, Interrupted, Progress, Record, Row, SaveOnInterrupt
from .classify import Classify
from .initial import Loaded, load_initial, network_options
from .loading import Batches, Splits, View, load_splits
from .run_folder import check_unchanged, config_to_resume
from .settings import DataOptions, OptimiserOptions, Settings, TrainerOptions, differences
from .task import Task

BEST_ON_TEST = "best epoch (chosen on test, not the headline)"
BEST_ON_VALIDATION = "best epoch (chosen on validation)"


class RunData(LightningDataModule):
    """The loaders of a run; built after the processes are started, when each knows its rank."""

    def __init__(self, splits: Splits, batch: int, seed: int) -> None:
        super().__init__()
        self.splits, self.batch, self.seed = splits, batch, seed

    def _batches(self, split: str, steps: Callable[[], int] | None = None) -> Batches:
        assert self.trainer is not None
        view = self.splits.view
        return Batches(
            getattr(self.splits, split),
            view.transforms()[0 if split == "train" else 1],
            view.normals,
            self.batch,
            self.seed,
            steps,
            self.trainer.global_rank,
            self.trainer.world_size,
        )

    def train_dataloader(self) -> Batches:
        trainer = self.trainer
        assert trainer is not None
        return self._batches("train", lambda: trainer.global_step)

    def val_dataloader(self) -> list[Batches]:
        return [self._batches(name) for name in split_names(self.splits)]


def split_names(splits: Splits) -> tuple[str, ...]:
    """The splits that are evaluated after each epoch."""
    return tuple(name for name in ("validation", "test") if getattr(splits, name) is not None)


@dataclass
class Run:
    """All parts of a run, checked and built, before anything is written."""

    settings: Settings
    splits: Splits
    network_options: Mapping[str, Any]
    task: Task
    record: Record
    trainer: Trainer
    loaded: Loaded | None = None

    @classmethod
    def prepare(cls, settings: Settings) -> Run:
        if settings.model == "mae":
            raise ValueError("model: expected a classifier; a 'mae' is trained by the command `pretrain`")
        data = settings.data
        if data.normals is None and settings.model in WITHOUT_NORMALS:
            data = replace(data, normals=False)
        check_options(settings.options)
        splits = load_splits(data, settings.seed)
        options = {
            "classes": len(splits.train.classes),
            "attention": settings.attention,
            "normals": splits.view.normals,
            **given_options(settings),
        }
        torch.manual_seed(settings.seed)
        network = build_network(settings.model, options)
        check_points(network, splits.view)
        task = Classify(network, options["classes"], settings.optimiser, settings.seed, split_names(splits))
        return cls.assemble(settings, splits, options, task)

    @classmethod
    def assemble(cls, settings: Settings, splits: Splits, options: Mapping[str, Any], task: Task) -> Run:
        """The run of a task: its first weights, its record and its engine."""
        network, folder, loaded = task.network, Path(settings.out), None
        if settings.init is not None:
            loaded = load_initial(network, settings.model, splits.train.classes, find_weights(settings.init))
        record = Record(folder, lambda name, row: save_model(network, folder / name, run.describe(row)))
        run = cls(settings, splits, options, task, record, build_trainer(settings, record), loaded)
        return run

    def describe(self, row: Row) -> Description:
        notes = {
            "data": {
                "source": self.settings.data.source,
                "root": self.settings.data.root,
                **asdict(self.splits.view),
            },
            "recipe": self.settings.recipe,
            "init": self.settings.init,
            "seed": self.settings.seed,
            "epochs": self.settings.epochs,
            "figures": row,
        }
        return Description(self.settings.model, self.network_options, self.splits.train.classes, notes)

    def figures(self) -> dict[str, Row | None]:
        rows = self.record.rows
        figures = {"last epoch": rows[-1] if rows else None}
        if self.splits.test is not None:
            figures[BEST_ON_TEST] = self.record.best_on("test")
        if self.splits.validation is not None:
            figures[BEST_ON_VALIDATION] = self.record.best_on("validation")
        return figures

    def result(self, finished: bool) -> dict[str, Any]:
        rows = self.record.rows
        return {
            "command": self.settings.command(),
            "recipe": self.settings.recipe,
            "attention": self.settings.attention,
            "data": self.settings.data.source,
            "points": self.splits.view.points,
            "seed": self.settings.seed,
            "finished": finished,
            "epochs": len(rows),
            "figures": self.figures(),
            "classes": list(self.splits.train.classes),
            "confusion": self.record.confusion,
            "seconds": round(sum(row["seconds"] for row in rows), 3),
            "parameters": sum(parameter.numel() for parameter in self.task.network.parameters()),
            "machine": machine(),
            "versions": {"sampled_transformer": __version__, "torch": torch.__version__},
        }


def given_options(settings: Settings) -> dict[str, Any]:
    """Those that were given, and beside them those of the weights to begin with."""
    if settings.init is None:
        return dict(settings.options)
    return network_options(settings.model, settings.attention, settings.options, find_weights(settings.init))


def check_options(options: Mapping[str, Any]) -> None:
    """Refuse options of the network that others decide."""
    decided = {"classes": "the data", "attention": "--attention", "normals": "--data.normals"}
    for name in decided:
        if name in options:
            raise ValueError(f"options.{name}: expected none, as {decided[name]} decides it, got {options[name]!r}")


def build_network(model: str, options: Mapping[str, Any]) -> nn.Module:
    if options["attention"] not in list_attention():
        raise ValueError(f"attention: expected one of {', '.join(list_attention())}, got {options['attention']!r}")
    try:
        return create_model(model, **options)
    except TypeError as error:
        raise ValueError(f"options: {error}") from None


def check_points(network: nn.Module, view: View) -> None:
    """Refuse clouds with fewer points than the groups of a network that makes tokens of them."""
    if isinstance(network, MaskedAutoencoder | MaskedAutoencoderClassifier):
        least = max(network.groups, network.group_size)
        if view.points < least:
            expected = f"expected at least {least}, for {network.groups} groups of {network.group_size}"
            raise ValueError(f"data.points: {expected}, got {view.points}")


def make_trainer(settings: Settings, **more: Any) -> Trainer:
    """A quiet engine with the options of the settings."""
    for name in ("lightning.pytorch", "lightning.fabric", "pytorch_lightning"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # Says that a process has died before it ends the others.
    logging.getLogger("lightning.fabric.strategies.launchers.subprocess_script").setLevel(logging.INFO)
    try:
        return Trainer(
            **asdict(settings.trainer),
            max_epochs=settings.epochs,
            gradient_clip_val=settings.optimiser.clip or None,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            **more,
        )
    except (MisconfigurationException, ValueError, TypeError, RuntimeError) as error:
        raise ValueError(f"trainer: {error}") from None


def build_trainer(settings: Settings, record: Record) -> Trainer:
    trainer = make_trainer(
        settings,
        default_root_dir=settings.out,
        logger=TensorBoardLogger(settings.out, name="tensorboard", version=""),
        plugins=[AtomicCheckpoints()],
        callbacks=[record, SaveOnInterrupt(record), Progress(record)],
        num_sanity_val_steps=0,
    )
    started = int(os.environ.get("WORLD_SIZE", "1"))
    if "TORCHELASTIC_RUN_ID" in os.environ and started != trainer.num_devices * trainer.num_nodes:
        expected = f"expected a product of {started}, the processes that torchrun started"
        raise ValueError(
            f"trainer.devices, trainer.num_nodes: {expected}, got {trainer.num_devices} * {trainer.num_nodes}"
        )
    return trainer


def train(settings: Settings, resume: bool = False, prepare: Callable[[Any], Run] = Run.prepare) -> dict[str, Any]:
    """Train, or go on with a run that was interrupted; returns what result.json holds.

    `prepare` makes the run of the settings: the one of the command `train`, or of another kind of training.
    Raises KeyboardInterrupt, with a line that says how to go on, after Ctrl-C.
    """
    folder = Path(settings.out)
    if is_first_process():
        check_folder(folder, settings, resume)
    run = prepare(settings)
    going_on = resume and run.record.checkpoint.is_file()
    if going_on:
        check_checkpoint(run)
    elif run.loaded is not None and is_first_process():
        print(run.loaded, flush=True)
    if is_first_process():
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "config.yaml", yaml.safe_dump(asdict(settings), sort_keys=False, allow_unicode=True))
    data = RunData(run.splits, settings.data.batch, settings.seed)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="lightning|torch.utils.tensorboard|torch.optim")
            run.trainer.fit(run.task, data, ckpt_path=str(run.record.checkpoint) if going_on else None)
    except (Interrupted, SystemExit) as stop:  # SystemExit is what the engine makes of a second Ctrl-C
        if isinstance(stop, Interrupted):
            finish(run, finished=False)
        if not is_first_process():
            raise SystemExit(0) from None  # one says it for all; at another code the engine kills it while it writes
        raise KeyboardInterrupt(_how_to_go_on(run)) from None
    except RuntimeError as error:
        if not is_lost_process(error):
            raise
        who = f"process {run.trainer.global_rank} of {run.trainer.world_size} (counted from 0)"
        raise ConnectionError(f"{who} lost another one; {_how_to_go_on(run)}") from None
    except OSError as error:
        reason = error.strerror or error
        raise OSError(
            f"{printable(folder)}: {reason}; what was saved before is whole, --resume goes on from it"
        ) from None
    return finish(run, finished=True)


def _how_to_go_on(run: Run) -> str:
    where = f"stopped in epoch {len(run.record.rows) + 1} of {run.settings.epochs}"
    return f"{where}; go on with: sampled-transformer {run.settings.verb} --out {printable(run.settings.out)} --resume"


def is_first_process() -> bool:
    """Of those that train together: it starts the others when it has made the folder, and alone writes to it."""
    return rank_zero_only.rank == 0  # type: ignore[attr-defined]


def is_lost_process(error: RuntimeError) -> bool:
    """Whether processes that train together lost touch; gloo, which joins them on CPUs, has no exception of its own."""
    return isinstance(error, torch.distributed.DistError) or "gloo" in str(error)


def finish(run: Run, finished: bool) -> dict[str, Any]:
    result = run.result(finished)
    if is_first_process():
        if not finished:  # the network as it is now, with the figures of the last whole epoch
            run.record.save("model.safetensors", run.record.rows[-1] if run.record.rows else {})
        write_text(Path(run.settings.out, "result.json"), json.dumps(result, indent=2) + "\n")
    return result


def check_folder(folder: Path, settings: Settings, resume: bool) -> None:
    """Refuse to write over a run, and to go on with one that was made with other options."""
    config = config_to_resume(folder, resume)
    if config is None:
        return
    try:
        earlier = read_settings(config, type(settings))
    except (TypeError, KeyError, ValueError, yaml.YAMLError):
        raise ValueError(f"{printable(config)}: not the configuration of a run") from None
    check_unchanged(folder, differences(earlier, settings))


def read_settings(config: Path, kind: type[Settings] = Settings) -> Settings:
    tree = yaml.safe_load(config.read_text("utf-8"))
    parts = {"data": DataOptions, "optimiser": OptimiserOptions, "trainer": TrainerOptions}
    return kind(**{name: parts[name](**value) if name in parts else value for name, value in tree.items()})


def check_checkpoint(run: Run) -> None:
    """Refuse a checkpoint that is damaged or of another network before the engine meets it."""
    path = run.record.checkpoint
    try:
        stored = AtomicCheckpoints().load_checkpoint(path)["state_dict"]
        stored = {name: tuple(tensor.shape) for name, tensor in stored.items()}
    except Exception as error:  # a damaged file can make the reader raise anything
        raise ValueError(f"{printable(path)}: not a whole checkpoint ({type(error).__name__})") from None
    if stored != {name: tuple(tensor.shape) for name, tensor in run.task.state_dict().items()}:
        raise ValueError(f"{printable(path)}: a checkpoint of another network")


def write_text(path: Path, text: str) -> None:
    with atomic_write(path) as file:
        file.write(text.encode("utf-8"))
