from __future__ import annotations

import csv
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from helpers.runs import rows
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from sampled_transformer.training.loggers import PACKAGES, make_loggers
from sampled_transformer.training.run import train
from sampled_transformer.training.settings import LOGGERS, DataOptions, Settings, TrainerOptions

SMALL = {"dim": 16, "heads": 2, "hidden": 16, "embedding": 8}


@pytest.fixture
def settings(pack_folder: Path, tmp_path: Path) -> Settings:
    data = DataOptions(str(pack_folder), points=24, batch=16, preset="bricks")
    return Settings(data, str(tmp_path / "run"), options=SMALL, epochs=2, trainer=TrainerOptions("cpu"))


def test_csv_and_tensorboard_get_every_epoch(settings: Settings) -> None:
    train(replace(settings, trainer=TrainerOptions("cpu", logger="csv, tensorboard")))
    expected = [float(row["test_accuracy"]) for row in rows(settings.out)]
    with open(Path(settings.out, "csv", "version_0", "metrics.csv"), newline="") as file:
        assert [float(row["test_accuracy"]) for row in csv.DictReader(file)] == expected
    events = EventAccumulator(str(Path(settings.out, "tensorboard")))
    events.Reload()
    found = events.Scalars("test_accuracy")
    assert [event.step for event in found] == [1, 2]
    assert [event.value for event in found] == pytest.approx(expected)


def test_a_resumed_run_may_log_elsewhere_and_loses_nothing(settings: Settings) -> None:
    train(replace(settings, epochs=1, trainer=TrainerOptions("cpu", logger="csv")))
    assert not Path(settings.out, "tensorboard").exists()
    train(replace(settings, trainer=TrainerOptions("cpu", logger="csv")), resume=True)
    train(replace(settings, epochs=3, trainer=TrainerOptions("cpu", logger="none")), resume=True)
    tables = sorted(Path(settings.out, "csv").glob("*/metrics.csv"))
    assert [len(table.read_text().splitlines()) for table in tables] == [2, 2]  # a heading and one epoch each
    assert len(rows(settings.out)) == 3


def test_names(tmp_path: Path) -> None:
    assert make_loggers("none", tmp_path) == []
    assert [type(one).__name__ for one in make_loggers("csv,tensorboard,csv", tmp_path)] == [
        "CSVLogger",
        "TensorBoardLogger",
    ]
    assert set(PACKAGES) == set(LOGGERS)
    for names in ("", "csv,", "TensorBoard", "none,csv"):
        with pytest.raises(ValueError, match=r"trainer.logger: expected none, or names from csv, .*, got '"):
            TrainerOptions(logger=names)


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_a_logger_that_is_not_installed(settings: Settings, name: str) -> None:
    if find_spec(name) is not None:
        pytest.skip(f"{name} is installed")
    message = f"^trainer.logger: expected an installed logger, got {name}: pip install {name}$"
    with pytest.raises(ValueError, match=message):
        train(replace(settings, trainer=TrainerOptions("cpu", logger=name)))
    assert not Path(settings.out).exists()
