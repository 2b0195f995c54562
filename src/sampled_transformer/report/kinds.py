"""Which command made a folder of figures, and which of them one page may compare."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from ..support.printable import printable

FAMILIES = ("cluster", "segment")  # commands of two words
TRAININGS = ("train", "segment train")  # whose runs are read in the same way
RUNS = (*TRAININGS, "pretrain", "fewshot", "cluster train")
EVALUATIONS = ("evaluate", "segment evaluate", "cluster evaluate", "robustness", "bench")
FIGURES = {
    "result.json": "",
    "robustness.json": "robustness",
    "bench.json": "bench",
}  # and what only one command writes


def kind_of(folder: Path) -> str:
    """The command that made a run or a measurement, such as "train" or "segment evaluate"; "train" if nobody knows.

    Of a run that knows no better, the page says what is missing.
    """
    for file, only in FIGURES.items():
        if (folder / file).is_file():
            return only or _named(folder / file)
    return "train"


def _named(path: Path) -> str:
    try:
        _, first, *others = str(json.loads(path.read_text("utf-8"))["command"]).split()
    except (OSError, ValueError, KeyError, TypeError):
        return "train"
    return " ".join([first, *others[:1]]) if first in FAMILIES else first


def one_kind(folders: Iterable[Path]) -> str:
    """What made all of these folders; a ValueError if a page cannot show them together."""
    folders = list(folders)
    kinds = sorted({kind_of(folder) for folder in folders})
    if len(kinds) > 1:
        raise ValueError(f"runs: expected runs of one command, got {' and '.join(map(printable, kinds))}")
    kind = kinds[0]
    if kind not in (*RUNS, *EVALUATIONS):
        known = ", ".join((*RUNS, *EVALUATIONS))
        raise ValueError(f"runs: expected what one page can show ({known}), got {printable(kind)}")
    if kind in EVALUATIONS and len(folders) == 1:
        got = f"one, whose page {printable(kind)} wrote"
        raise ValueError(f"runs: expected a run, or several evaluations to compare, got {got}")
    return kind
