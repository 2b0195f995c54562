"""The folder of a run: who writes there, its settings and tables, and how to continue it. Shared by all trainings.

Every file is replaced only when the new one is complete. This module loads neither torch nor lightning at import.
"""

from __future__ import annotations

import csv
import io
import json
import shlex
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

from ..support.atomic import atomic_write, clear_leftovers
from ..support.lack_of_memory import memory_errors
from ..support.locks import locked
from ..support.printable import printable
from ..support.signals import Stopped, interrupting
from ..support.trees import flat
from .checkpoints import LAST, PREVIOUS
from .requeue import requeue
from .run_settings import RunSettings

AnySettings = TypeVar("AnySettings", bound=RunSettings)
LOCK = ".lock"


# One writer -----------------------------------------------------------------------------------------------------------


@contextmanager
def running(settings: RunSettings, first: bool = True) -> Iterator[list[int]]:
    """What surrounds every training: one writer, signals that stop it, and SLURM, which may start it again.

    Yields the signals that came. `first` is whether this is the first of the processes that train together. Whatever
    interrupts a run that has begun, the error says how to continue it.
    """
    folder = Path(settings.out)
    try:
        with interrupting() as came, claimed(folder) if first else nullcontext():
            yield came
    except KeyboardInterrupt as stop:
        number = stop.number if isinstance(stop, Stopped) else signal.SIGINT
        if first:
            requeue(number)
        begun = (folder / "config.yaml").is_file()
        said = str(stop) if str(stop) or not begun else stopped(settings, "outside of a step")
        raise Stopped(said or "stopped", number) from None


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Be the only one who writes to the folder of a run, and clear what killed writes have left in it.

    A folder that is made for this and stays empty, because something else was wrong, is removed again.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"out: expected a folder, got the file {printable(folder)}")
    with locked(folder / LOCK, "out", printable(folder)):
        clear_leftovers(folder)
        yield


@contextmanager
def failing_writes(folder: Path) -> Iterator[None]:
    """Errors of the disk, and a lack of memory, name the folder and say that what was saved before is complete."""
    try:
        with memory_errors():
            yield
    except ConnectionError:
        raise
    except (OSError, MemoryError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        kind = OSError if isinstance(error, OSError) else MemoryError
        raise kind(
            f"{printable(folder)}: {reason}; the files saved before are complete, and --resume continues from them"
        ) from None


# Settings -------------------------------------------------------------------------------------------------------------


def config_to_resume(folder: Path) -> Path:
    """The configuration of the run in a folder; refuses a folder without a run."""
    config = folder / "config.yaml"
    if not config.is_file():
        raise ValueError(f"{printable(folder)}: no run to resume; expected a config.yaml in it")
    return config


def check_folder(folder: Path, settings: RunSettings, resume: bool) -> None:
    """Refuse to overwrite a run, and to continue one with other settings."""
    if not resume:
        if folder.exists() and (not folder.is_dir() or any(item.name != LOCK for item in folder.iterdir())):
            got = f"{printable(folder)}, which exists already; choose another one, or --resume the run in it"
            raise ValueError(f"out: expected a new or empty folder, got {got}")
        return
    earlier = read_settings(config_to_resume(folder), type(settings))
    differing = earlier.differences(settings)
    if differing:
        name = differing[0]
        before, now = (_shown(dict(flat(one.tree())).get(name)) for one in (earlier, settings))
        raise ValueError(f"{name}: expected {before}, as when the run in {printable(folder)} was started, got {now}")


def _shown(value: Any) -> str:
    return "nothing" if value is None else printable(str(value))


def read_settings(config: Path, kind: type[AnySettings]) -> AnySettings:
    """The settings of a run."""
    try:
        return kind.from_file(config)
    except ValueError as error:
        raise ValueError(
            f"{printable(config)}: not the configuration of a run of `{kind.command_name}` ({error})"
        ) from None


def write_settings(folder: Path, settings: RunSettings) -> None:
    """Make the folder and write its config.yaml."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "config.yaml", settings.yaml())


# Files ----------------------------------------------------------------------------------------------------------------


def write_text(path: Path, text: str) -> None:
    with atomic_write(path) as file:
        file.write(text.encode("utf-8"))


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """The content of a file that `write_json` has written."""
    try:
        value = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ValueError(f"{printable(path)}: not a complete JSON file; expected one that the run has written")
    return value


def write_table(path: Path, rows: Sequence[Mapping[str, Any]], columns: Iterable[str] | None = None) -> None:
    """One line per row; the columns are all names in the rows, since some are not measured in every row."""
    text = io.StringIO()
    names = list(columns or dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


# Continuing -----------------------------------------------------------------------------------------------------------


def stopped(settings: RunSettings, where: str) -> str:
    """What a stopped run says: where it stopped, and the command that continues it."""
    words = " ".join(settings.first_words())
    return f"stopped {where}; go on with: {words} --out {shlex.quote(printable(settings.out))} --resume"


def result_without_checkpoint(folder: Path, wanted: int) -> dict[str, Any] | None:
    """The result of a run that is complete, though its checkpoints are gone; None if there is a checkpoint, or no step.

    Refuses a run that was under way and lost its checkpoints: it would start again from the beginning. `wanted` is the
    number of epochs or steps to make.
    """
    if any((folder / name).is_file() for name in (LAST, PREVIOUS)):
        return None
    result = read_json(folder / "result.json") if (folder / "result.json").is_file() else {}
    made = result.get("epochs", result.get("steps", 0))
    if result.get("finished", True) and made >= wanted:
        return result
    table = folder / "metrics.csv"
    rows = len(table.read_text("utf-8").splitlines()) - 1 if table.is_file() else 0
    if result or rows > 1:  # a run that is killed before its first checkpoint may have written one row
        expected = f"expected {LAST} or {PREVIOUS}, because the run has begun and would start again from nothing"
        raise ValueError(f"{printable(folder)}: no checkpoint; {expected}")
    return None
