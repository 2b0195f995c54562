"""How far a run is, read from its folder, and the lines that show it while it runs."""

from __future__ import annotations

import csv
import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import TextIO

from sampled_transformer.support.trees import read_file

INTERVAL = 60.0  # seconds between two lines on one run, where the output is not a terminal


@dataclass(frozen=True)
class Progress:
    """What a run has done of its epochs, steps or folds.

    Args:
        unit: "epoch", "step" or "fold".
        done, total: how many of them.
        seconds: time of one of them; None before the first.
        measured: when the last one was done, in seconds since the epoch of the clock.
    """

    unit: str
    done: int
    total: int
    seconds: float | None = None
    measured: float = 0.0

    def text(self, begin: float, now: float | None = None) -> str:
        """Such as "epoch 3 of 20, about 12 min left", for a run that (again) began at `begin`."""
        at = self.done if self.unit == "step" else min(self.done + 1, self.total)  # steps are counted in hundreds
        text = f"{self.unit} {at:,} of {self.total:,}"
        if self.seconds is None:
            return text
        passed = (time.time() if now is None else now) - max(self.measured, begin)
        left = (self.total - self.done) * self.seconds
        left -= min(max(passed, 0.0), self.seconds * (self.total - self.done))
        return f"{text}, about {duration(left)} left"


@dataclass(frozen=True)
class State:
    """What a run shows: how far it is, and the path of its log."""

    text: str
    log: str


def read_progress(folder: Path) -> Progress | None:
    """The progress of the run in a folder; None while it has none."""
    config = folder / "config.yaml"
    if not config.is_file():
        return None
    settings, table = read_file(config), folder / "metrics.csv"
    if "folds" in settings:
        paths = list(folder.glob("fold-*.json"))
        seconds = [json.loads(path.read_text("utf-8"))["seconds"] for path in paths]
        last = max((path.stat().st_mtime for path in paths), default=0.0)
        return Progress("fold", len(paths), settings["folds"], mean(seconds) if seconds else None, last)
    unit = "step" if "steps" in settings else "epoch"
    rows = list(csv.DictReader(table.read_text("utf-8").splitlines())) if table.is_file() else []
    if not rows:
        return Progress(unit, 0, settings[f"{unit}s"])
    done, last = int(float(rows[-1][unit])), table.stat().st_mtime
    seconds = [float(row["seconds"]) for row in rows]
    # Clustering writes the time of all steps so far, the others the time of one epoch.
    typical = seconds[-1] / done if unit == "step" else median(seconds)
    return Progress(unit, done, settings[f"{unit}s"], typical, last)


def duration(seconds: float) -> str:
    """Such as "40 s", "12 min" or "3 h 20 min"."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


class Board:
    """Shows one line per run. A terminal refreshes them; elsewhere a run gets a new line at most once a minute.

    The log of a run is named once, on a line that stays: beside the progress it would not fit into 80 columns.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.is_terminal = stream, stream.isatty()
        self._drawn = 0  # lines on the terminal that the next ones replace
        self._said: dict[str, tuple[str, float]] = {}  # the last line on a run, and when
        self._logs: set[str] = set()  # runs whose log has been named

    def say(self, line: str) -> None:
        """Write a line that stays."""
        self.stream.write(f"{self._erased()}{line}\n")
        self.stream.flush()

    def show(self, states: Mapping[str, State]) -> None:
        """Show how far each run is, by its name."""
        for name, state in states.items():
            if name not in self._logs:
                self._logs.add(name)
                self.say(f"{name}: log {state.log}")
        if self.is_terminal:
            width = shutil.get_terminal_size().columns - 1
            lines = [f"{name}: {state.text}"[:width] for name, state in states.items()]
            self.stream.write("".join([self._erased(), *(f"{line}\n" for line in lines)]))
            self.stream.flush()
            self._drawn = len(lines)
            return
        for name, state in states.items():
            before, when = self._said.get(name, ("", -INTERVAL))
            if state.text != before and time.monotonic() - when >= INTERVAL:
                self._said[name] = state.text, time.monotonic()
                self.say(f"{name}: {state.text}")

    def _erased(self) -> str:
        """The control sequence that erases the lines drawn last."""
        drawn, self._drawn = self._drawn, 0
        return f"\x1b[{drawn}F\x1b[J" if drawn else ""
