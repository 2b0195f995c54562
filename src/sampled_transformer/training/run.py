"""One run and its folder: config.yaml, metrics.csv, tensorboard/, checkpoints, model.safetensors, result.json."""

from __future__ import annotations

import logging
import math
import os
import signal
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.utilities.exceptions import MisconfigurationException
from lightning.pytorch import LightningDataModule, Trainer
from lightning.pytorch.utilities import rank_zero_only

from .. import __version__
from ..data.transforms import Transform
from ..inference.calibrate import calibrate_on
from ..inference.calibrate import lines as calibration_lines
from ..inference.defaults import INITIAL_WEIGHTS
from ..inference.target import Target
from ..models import WITHOUT_NORMALS
from ..support.machine import machine
from ..support.signals import Stopped
from ..weights import FILE, Description, describe_model, find_weights, save_model
from .batch_statistics import FEW_STEPS, FreshStatistics
from .callbacks import AtomicCheckpoints, Interrupted, Progress, Record, Row, SaveOnInterrupt
from .checkpoints import Every, find_checkpoint, set_aside_damaged
from .classify import Classify
from .data_digest import changes, data_digest
from .initial import Loaded, attention_of, load_initial
from .loading import Batches, Splits, load_splits
from .loggers import make_loggers
from .network import build_network, check_given_options, check_points, given_options
from .nonfinite import NotFinite, WatchFinite
from .regress import Regress
from .run_folder import (
    check_folder,
    failing_writes,
    result_without_checkpoint,
    running,
    stopped,
    write_json,
    write_settings,
)
from .settings import OptimiserOptions, Settings
from .task import Task

BEST_ON_TEST = "best epoch (chosen on test, not the headline)"
BEST_ON_VALIDATION = "best epoch (chosen on validation)"


class Loaders(LightningDataModule):
    """The loaders of a run, and what else is asked about them."""

    def steps_per_epoch(self, world: int) -> int:
        """Training steps per epoch of this many processes."""
        raise NotImplementedError

    def sample_batches(self) -> Batches:
        """Shuffled training shapes as evaluation sees them, the same in every process and at any time."""
        raise NotImplementedError


class RunData(Loaders):
    """The loaders of a run. They are built after the processes have started, when each one knows its rank."""

    def __init__(self, splits: Splits, batch: int, seed: int) -> None:
        super().__init__()
        self.splits, self.batch, self.seed = splits, batch, seed

    def _batches(
        self, split: str, transform: Transform, steps: Callable[[], int] | None = None, rank: int = 0, world: int = 1
    ) -> Batches:
        pack, normals = getattr(self.splits, split), self.splits.view.normals
        return Batches(pack, transform, normals, self.batch, self.seed, steps, rank, world)

    def train_dataloader(self) -> Batches:
        trainer, transform = self.trainer, self.splits.view.transforms()[0]
        assert trainer is not None
        return self._batches("train", transform, lambda: trainer.global_step, trainer.global_rank, trainer.world_size)

    def val_dataloader(self) -> list[Batches]:
        trainer, transform = self.trainer, self.splits.view.transforms()[1]
        assert trainer is not None
        place = trainer.global_rank, trainer.world_size
        return [self._batches(name, transform, None, *place) for name in split_names(self.splits)]

    def steps_per_epoch(self, world: int) -> int:
        return len(self._batches("train", self.splits.view.transforms()[0], lambda: 0, 0, world))

    def sample_batches(self) -> Batches:
        return self._batches("train", self.splits.view.transforms()[1], lambda: 0)


def split_names(splits: Splits) -> tuple[str, ...]:
    """Names of the splits to evaluate after each epoch."""
    return tuple(name for name in ("validation", "test") if getattr(splits, name) is not None)


@dataclass
class Run:
    """All parts of a run, checked and built before anything is written."""

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
            raise ValueError("model: expected a classifier, got 'mae', which the command `pretrain` trains")
        if settings.model == "segmenter":
            raise ValueError("model: expected a classifier, got 'segmenter', which the command `segment train` trains")
        data = settings.data
        if data.normals is None and settings.model in WITHOUT_NORMALS:
            data = replace(data, normals=False)
        check_given_options(settings.options)
        splits = load_splits(data, settings.seed)
        target = Target.of(splits.train)
        options = {
            "classes": len(splits.train.classes) if target is None else 1,
            "attention": settings.attention,
            "normals": splits.view.normals,
            **given_options(settings),
        }
        torch.manual_seed(settings.seed)
        network = build_network(settings.model, options)
        check_points(network, splits.view)
        if target is None:
            task = Classify(network, options["classes"], settings.optimiser, settings.seed, split_names(splits))
            return cls.assemble(settings, splits, options, task)
        check_smoothing(settings.optimiser)
        standard: dict[str, Any] = {
            name: target.standardised(getattr(splits, name)) for name in ("train", *split_names(splits))
        }
        regress = Regress(network, target, settings.optimiser, settings.seed, split_names(splits))
        return cls.assemble(settings, replace(splits, **standard), options, regress, target)

    @classmethod
    def assemble(
        cls,
        settings: Settings,
        splits: Splits,
        options: Mapping[str, Any],
        task: Task,
        target: Target | None = None,
    ) -> Run:
        """The run of a task: initial weights, record and trainer."""
        network, folder, loaded = task.network, Path(settings.out), None
        if settings.init is not None:
            loaded = load_initial(network, settings.model, splits.train.classes, find_weights(settings.init), target)
        record = Record(folder, lambda name, row: save_model(network, folder / name, run.describe(row)), task.score)
        record.data = data_digest({name: getattr(splits, name) for name in ("train", "validation", "test")})
        run = cls(settings, splits, options, task, record, build_trainer(settings, record), loaded)
        return run

    def loaders(self) -> Loaders:
        """The batches of all splits."""
        return RunData(self.splits, self.settings.data.batch, self.settings.seed)

    def describe(self, row: Row) -> Description:
        share = self.settings.data.validation
        notes = {
            "data": {
                "source": self.settings.data.source,
                "root": self.settings.data.root,
                **({} if self.settings.data.up is None else {"up_in_files": self.settings.data.up}),
                **asdict(self.splits.view),
                **({"validation": share} if share else {}),  # `calibrate` has to know what was held out
            },
            "recipe": self.settings.recipe,
            "init": self.settings.init,
            "seed": self.settings.seed,
            "epochs": self.settings.epochs,
            "figures": {name: value for name, value in row.items() if name != "seconds"},  # the same run, the same file
            **self.task.notes(),
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
            "skipped_steps": int(sum(row.get("skipped_steps", 0) for row in rows)),
            "largest_gradient_norm": max((row.get("gradient_norm", 0.0) for row in rows), default=0.0),
            "classes": list(self.splits.train.classes),
            "confusion": self.record.confusion,
            **self.task.notes(),
            "seconds": round(sum(row["seconds"] for row in rows), 3),
            "parameters": sum(parameter.numel() for parameter in self.task.network.parameters()),
            "machine": machine(),
            "versions": {"sampled_transformer": __version__, "torch": torch.__version__},
        }


def check_smoothing(optimiser: OptimiserOptions) -> None:
    """Refuse label smoothing, if somebody asked for it, where labels are numbers."""
    if optimiser.label_smoothing not in (0, OptimiserOptions.label_smoothing):
        expected = "expected 0, because the labels are numbers"
        raise ValueError(f"optimiser.label_smoothing: {expected}, got {optimiser.label_smoothing}")


def make_trainer(settings: Settings, **more: Any) -> Trainer:
    """A quiet Lightning trainer with the options of the settings."""
    for name in ("lightning.pytorch", "lightning.fabric", "pytorch_lightning"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # This logger says that a process has died before it ends the others.
    logging.getLogger("lightning.fabric.strategies.launchers.subprocess_script").setLevel(logging.INFO)
    try:
        return Trainer(
            **settings.trainer.hardware(),
            max_epochs=settings.epochs,
            gradient_clip_val=settings.optimiser.clip or None,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            **more,
        )
    except (MisconfigurationException, ValueError, TypeError, RuntimeError) as error:
        given = ", ".join(f"{name} {value}" for name, value in settings.trainer.hardware().items())
        reason = " ".join(str(error).split())
        raise ValueError(f"trainer: expected options that Lightning can use here, got {given} ({reason})") from None


def build_trainer(settings: Settings, record: Record) -> Trainer:
    trainer = make_trainer(
        settings,
        default_root_dir=settings.out,
        logger=make_loggers(settings.trainer.logger, settings.out) or False,
        plugins=[AtomicCheckpoints()],
        callbacks=[
            FreshStatistics(),
            record,
            WatchFinite(settings.trainer.nonfinite, record.skip),
            SaveOnInterrupt(record, Every.read(settings.trainer.checkpoint_every, "trainer.checkpoint_every")),
            Progress(record),
        ],
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
    """Train, or continue a run that was interrupted; returns the content of result.json.

    `prepare` turns the settings into a run; other kinds of training have their own.
    After Ctrl-C and the signals of systems and schedulers it raises Stopped, a KeyboardInterrupt with a line that says
    how to continue. While it runs, no other process can use the folder.
    """
    folder = Path(settings.out)
    with running(settings, is_first_process()) as came:
        if not settings.attention:
            settings = replace(settings, attention=attention_of(settings.init))
        if is_first_process():
            check_folder(folder, settings, resume)
        if resume and (result := result_without_checkpoint(folder, settings.epochs)) is not None:
            return result
        run = prepare(settings)
        checkpoint = check_checkpoint(run) if resume else None
        with failing_writes(folder):
            return _fit(run, checkpoint, came)


def _fit(run: Run, checkpoint: Path | None, came: list[int]) -> dict[str, Any]:
    """Train from the beginning or from a checkpoint to the end; `came` are the signals that came."""
    folder, settings = Path(run.settings.out), run.settings
    if is_first_process():
        if checkpoint is not None:
            set_aside_damaged(folder, checkpoint)
        elif run.loaded is not None:
            print(run.loaded, flush=True)
        write_settings(folder, settings)
    data = run.loaders()
    if is_first_process() and checkpoint is None:
        warn_of_few_steps(run, data.steps_per_epoch(run.trainer.world_size))
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="lightning|torch.utils.tensorboard|torch.optim")
            run.trainer.fit(run.task, data, ckpt_path=None if checkpoint is None else str(checkpoint))
        result = finish(run, finished=True)
        leave_group()
        return result
    except (Interrupted, SystemExit, KeyboardInterrupt) as stop:  # Lightning turns a second Ctrl-C into SystemExit
        if isinstance(stop, Interrupted):
            finish(run, finished=False)
            leave_group()
        if not is_first_process():
            raise SystemExit(0) from None  # one speaks for all; at another code Lightning kills it while it writes
        number = stop.number if isinstance(stop, Interrupted) else [*came, signal.SIGINT][0]
        raise Stopped(_stopped(run), number) from None
    except NotFinite:
        if not is_first_process():
            raise SystemExit(0) from None
        raise
    except RuntimeError as error:
        if not is_lost_process(error):
            raise
        who = f"process {run.trainer.global_rank} of {run.trainer.world_size} (counted from 0)"
        raise ConnectionError(f"{who} lost another one; {_stopped(run)}") from None


def warn_of_few_steps(run: Run, per_epoch: int) -> None:
    """Say so if a training that begins with random weights has too few steps to learn much."""
    settings, steps = run.settings, run.settings.epochs * per_epoch
    if settings.init is not None or steps >= FEW_STEPS:
        return
    advice = f"give --epochs {math.ceil(FEW_STEPS / per_epoch)} or more"
    shipped = describe_model(INITIAL_WEIGHTS)
    if (settings.command_name, settings.model) == ("train", shipped.model):
        without = "" if run.splits.view.normals else ", which needs normals (`data pack --normals estimate`)"
        advice += f", or begin with trained weights: --init {INITIAL_WEIGHTS}{without}"
    sets, noun = len(run.splits.train), "shape" if settings.command_name == "train" else "set"
    counted = f"{steps} training step{'s' * (steps != 1)} on {sets} {noun}{'s' * (sets != 1)}"
    warnings.warn(f"new weights learn little in {counted}: {advice}", stacklevel=3)


def _stopped(run: Run) -> str:
    made, epochs = len(run.record.rows), run.settings.epochs
    return stopped(run.settings, f"in epoch {made + 1} of {epochs}" if made < epochs else "after the last epoch")


def is_first_process() -> bool:
    """Whether this is the first of the processes that train together. It starts the others, and only it writes."""
    first_machine = os.environ.get("NODE_RANK", "0") == "0"  # before it starts others, Lightning knows no better
    return bool(rank_zero_only.rank == 0) and first_machine  # type: ignore[attr-defined]


def leave_group() -> None:
    """End the threads by which processes that train together talk.

    One of them that needs the interpreter while it shuts down aborts the process, after all is saved.
    """
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def is_lost_process(error: RuntimeError) -> bool:
    """Whether processes lost contact with each other; gloo, which joins them on CPUs, has no exception of its own."""
    return isinstance(error, torch.distributed.DistError) or "gloo" in str(error)


def finish(run: Run, finished: bool) -> dict[str, Any]:
    result = run.result(finished)
    if is_first_process():
        if not finished:  # the network as it is now, with the figures of the last complete epoch
            FreshStatistics().refresh(run.trainer, run.task)
            run.record.save("model.safetensors", run.record.rows[-1] if run.record.rows else {})
        elif run.splits.validation is not None and isinstance(run.task, Classify):
            result["calibration"] = calibrate_run(run)
        write_json(Path(run.settings.out, "result.json"), result)
    return result


def calibrate_run(run: Run) -> dict[str, Any]:
    """Store the temperature, and what is familiar, with the weights of a finished run."""
    splits, device = run.splits, run.trainer.strategy.root_device
    assert splits.validation is not None
    results = {}
    for name in ("model-best.safetensors", FILE):  # of which the last is the run's own
        path = Path(run.settings.out, name)
        if path.is_file():
            results = calibrate_on(path, path, splits.view, splits.train, splits.validation, device=device)
    for line in calibration_lines(results):
        print(line, flush=True)
    return results


def check_checkpoint(run: Run) -> Path | None:
    """The checkpoint to continue from; refuses one of another network, or of other data."""

    def check(state: dict[str, Any]) -> None:
        stored = {name: tuple(tensor.shape) for name, tensor in state["state_dict"].items()}
        if stored != {name: tuple(tensor.shape) for name, tensor in run.task.state_dict().items()}:
            raise ValueError("checkpoint of another network; expected one of this run")
        before = state["callbacks"][run.record.state_key].get("data")  # runs begun before it was kept lack it
        if before and (found := changes(before, run.record.data)):
            expected = "expected the data that the run was started with"
            raise ValueError(f"checkpoint of a run on other data: {', '.join(found)}; {expected}")

    found = find_checkpoint(run.record.folder, check)
    return None if found is None else found[0]
