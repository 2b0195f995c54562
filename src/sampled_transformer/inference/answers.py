"""What `predict` says about a file. Worker processes send it to one that need not load torch, nor does this module."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..support.printable import printable

ESTIMATED = "normals estimated from neighbouring points"  # a note


@dataclass(frozen=True)
class Answer:
    """The likeliest classes of one file with probability and spread, or the error that prevented an answer.

    `familiar` says whether the file looks like what the network was trained on, and `strangeness` is the share of
    held-out training shapes that look less strange. Both are None if the weights have no such statistics. If
    two networks were asked, `weights` names the one whose classes these are, and `strangeness` is the larger of two.
    """

    file: str
    classes: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    error: str | None = None
    up: str | None = None  # the axis of the file that was taken for up; None if its axes stayed as they are
    familiar: bool | None = None
    strangeness: float | None = None
    weights: str | None = None

    def lines(self) -> list[str]:
        """The answer as text; the spread only where passes differ."""
        if self.familiar is False:
            who = "this network knows" if self.weights is None else "these networks know"
            return [f"looks like nothing {who} (nearest: {printable(self.classes[0]['class'])})"]
        vary = any(row["spread"] > 0 for row in self.classes)  # "+- 0.0" would sound like certainty
        return [
            f"{100 * row['probability']:5.1f} %{_deviation(row) if vary else ''}  {printable(row['class'])}"
            for row in self.classes
        ]


def _deviation(row: dict[str, Any]) -> str:
    return f" +- {100 * row['spread']:4.1f}"


@dataclass(frozen=True)
class Measurement:
    """The predicted number of one file with its spread, or the error that prevented an answer."""

    file: str
    target: str
    value: float | None = None
    spread: float | None = None
    notes: list[str] = field(default_factory=list)
    error: str | None = None
    up: str | None = None  # as in `Answer`

    def lines(self) -> list[str]:
        """The answer as text."""
        return [f"{self.value:.6g} +- {self.spread:.2g}  {printable(self.target)}"]


def failure(file: str, error: Exception, target: str | None) -> Answer | Measurement:
    """The answer about a file that cannot be read, of a classifier or, with a target, of a regression."""
    if target is None:
        return Answer(file, error=str(error))
    return Measurement(file, target, error=str(error))
