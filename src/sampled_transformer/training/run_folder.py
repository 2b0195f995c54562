"""The folder of a run: its settings, tables and checkpoints, and how it stops and continues. Shared by all trainings.

Every file is replaced only when the new one is complete. This module loads neither torch nor lightning at import.
"""

from __future__ import annotations

import csv
import io
import json
import shlex
import signal
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from ..support.atomic import atomic_write
from ..support.printable import printable
from ..support.trees import flat
from .run_settings import RunSettings

AnySettings = TypeVar("AnySettings", bound=RunSettings)


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
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
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


def write_table(path: Path, rows: Sequence[Mapping[str, Any]], columns: Iterable[str] | None = None) -> None:
    """One line per row; the columns are all names in the rows, since some are not measured in every row."""
    text = io.StringIO()
    names = list(columns or dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


def write_checkpoint(path: str | Path, state: Mapping[str, Any]) -> None:
    """Save tensors and plain values."""
    import torch

    buffer = io.BytesIO()  # a full disk is then an OSError of `write`, not an error of torch's own
    torch.save(state, buffer)
    with atomic_write(path) as file:
        file.write(buffer.getbuffer())


def read_checkpoint(path: str | Path, map_location: Any = "cpu") -> dict[str, Any]:
    """Load tensors and plain values, and nothing that could run code."""
    import torch

    state: dict[str, Any] = torch.load(path, map_location=map_location, weights_only=True)
    return state


# Stopping -------------------------------------------------------------------------------------------------------------


class StopRequest:
    """Turns Ctrl-C into a request: the first one sets `asked`, the second one acts as it did before.

    Use it as a context manager, or call `begin` and `end`. Outside the main thread it hears nothing.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = None

    def begin(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._ask)

    def end(self) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _ask(self, number: int, frame: Any) -> None:
        self.asked = True
        self.end()

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


def stopped(settings: RunSettings, where: str) -> str:
    """What a stopped run says: where it stopped, and the command that continues it."""
    words = " ".join(settings.first_words())
    return f"stopped {where}; go on with: {words} --out {shlex.quote(printable(settings.out))} --resume"
