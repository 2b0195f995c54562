"""The answers of `predict` as CSV. This module does not load torch."""

from __future__ import annotations

import csv
import io
from typing import Any

from .answers import Answer, Measurement


class AnswerTable:
    """Writes one row per file; the first answer decides on the columns, so files without one wait for it.

    For classes: file, class, probability, spread, then class_2, probability_2, spread_2 and so on, then familiar,
    strangeness and weights. For numbers: file, the name of the number, spread. Then, for both: up, notes, error.
    """

    def __init__(self) -> None:
        self.columns: list[str] | None = None
        self.waiting: list[Answer | Measurement] = []

    def add(self, answer: Answer | Measurement) -> str:
        """The lines that can be written now."""
        self.waiting.append(answer)
        return "" if self.columns is None and answer.error is not None else self.rest()

    def rest(self) -> str:
        """The lines that are left when no more answers come."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if self.columns is None and self.waiting:
            self.columns = list(_cells(self.waiting[-1]))
            writer.writerow(self.columns)
        for answer in self.waiting:
            cells = _cells(answer)
            writer.writerow([cells.get(name, "") for name in self.columns or ()])
        self.waiting = []
        return text.getvalue()


def _cells(answer: Answer | Measurement) -> dict[str, Any]:
    """The cells of a row, by column; None is an empty cell."""
    cells: dict[str, Any] = {"file": answer.file}
    if isinstance(answer, Answer):
        for number, row in enumerate(answer.classes, 1):
            end = "" if number == 1 else f"_{number}"
            cells |= {f"{name}{end}": row[name] for name in ("class", "probability", "spread")}
        cells |= {"familiar": answer.familiar, "strangeness": answer.strangeness, "weights": answer.weights}
    else:
        cells |= {answer.target: answer.value, "spread": answer.spread}
    return {**cells, "up": answer.up, "notes": "; ".join(answer.notes), "error": answer.error}
