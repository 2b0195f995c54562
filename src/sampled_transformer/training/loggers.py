"""The loggers of the training engine by name: where the figures of each epoch go, besides metrics.csv."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from lightning.pytorch.loggers import CSVLogger, Logger, MLFlowLogger, TensorBoardLogger, WandbLogger

from .settings import logger_names

PROJECT = "sampled-transformer"  # the name of the project or experiment
# The packages that a logger can work with; any one of them will do.
PACKAGES = {
    "csv": (),
    "tensorboard": ("tensorboard", "tensorboardX"),
    "wandb": ("wandb",),
    "mlflow": ("mlflow",),
}


def make_loggers(names: str, folder: str | Path) -> list[Logger]:
    """The loggers with these names, separated by commas, for the run in a folder. "none" gives no logger."""
    return [_make(name, Path(folder)) for name in logger_names(names)]


def _make(name: str, folder: Path) -> Logger:
    packages = PACKAGES[name]
    if packages and not any(find_spec(package) for package in packages):
        raise ValueError(f"trainer.logger: expected an installed logger, got {name}: pip install {packages[0]}")
    if name == "csv":
        return CSVLogger(folder, name="csv", flush_logs_every_n_steps=1)
    if name == "tensorboard":
        return TensorBoardLogger(folder, name="tensorboard", version="")
    if name == "wandb":
        return WandbLogger(name=folder.name, save_dir=folder, project=PROJECT)
    return MLFlowLogger(PROJECT, run_name=folder.name, save_dir=str(folder / "mlruns"))
