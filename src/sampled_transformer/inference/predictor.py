"""Ask a trained network about files: class probabilities or a number, and their spread over cycles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..data.errors import DataError
from ..data.files import READERS
from ..support.printable import printable
from ..weights import WeightsError
from .trained import check_classifier
from .trained_network import load


@dataclass(frozen=True)
class Answer:
    """The likeliest classes of one file with probability and spread, or the error that prevented an answer.

    `familiar` says whether the file looks like what the network was trained on, and `strangeness` is the share of
    held-out training shapes that look less strange. Both are None if the weights have no such statistics.
    """

    file: str
    classes: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    error: str | None = None
    familiar: bool | None = None
    strangeness: float | None = None

    def lines(self) -> list[str]:
        """The answer as text."""
        if self.familiar is False:
            return [f"looks like nothing this network knows (nearest: {printable(self.classes[0]['class'])})"]
        return [
            f"{100 * row['probability']:5.1f} % +- {100 * row['spread']:4.1f}  {row['class']}" for row in self.classes
        ]


@dataclass(frozen=True)
class Measurement:
    """The predicted number of one file with its spread, or the error that prevented an answer."""

    file: str
    target: str
    value: float | None = None
    spread: float | None = None
    notes: list[str] = field(default_factory=list)
    error: str | None = None

    def lines(self) -> list[str]:
        """The answer as text."""
        return [f"{self.value:.6g} +- {self.spread:.2g}  {printable(self.target)}"]


class Predictor:
    """A trained network that classifies files, or predicts a number for each.

    Args:
        weights: The weights file. It also stores how many points the network reads, and whether it uses normals.
        samples: Average over this many cycles.
        device: Device (default: GPU if available).
    """

    def __init__(self, weights: Path, samples: int = 8, device: str | None = None) -> None:
        if samples < 1:
            raise ValueError(f"samples: expected at least 1, got {samples}")
        self.samples, self.trained = samples, load(weights, device)
        self.target = self.trained.target
        if self.target is not None:
            return
        check_classifier(self.trained.description, weights)
        if not self.trained.classes:
            raise WeightsError(f"{printable(weights)}: expected class names in the file, got none")
        _ = self.trained.temperature, self.trained.familiarity  # report nonsense in the file before any answer

    def answer(self, path: Path, top: int = 5) -> Answer | Measurement:
        """The `top` likeliest classes of one file, or its number; with an error if the file cannot be read."""
        try:
            prepared = self.trained.prepare(path)
            if self.target is not None:
                value = self.trained.values(prepared, samples=self.samples)
                return Measurement(str(path), value.target, value.mean, value.spread, list(prepared.notes))
            answer = self.trained.probabilities(prepared, samples=self.samples)
            found = answer.top(top)
        except DataError as error:
            return self.failure(str(path), error)
        likeliest = [{"class": one.name, "probability": one.probability, "spread": one.spread} for one in found]
        strange = {"familiar": answer.familiar, "strangeness": answer.strangeness}
        return Answer(str(path), likeliest, list(prepared.notes), **strange)

    def failure(self, file: str, error: DataError) -> Answer | Measurement:
        """The answer about a file that cannot be read."""
        if self.target is None:
            return Answer(file, error=str(error))
        return Measurement(file, self.target.name, error=str(error))


def predict(predictor: Predictor, places: Sequence[str], top: int = 5) -> Iterator[Answer | Measurement]:
    """Yield one answer per file, in the given order. Folders are searched for files of known formats."""
    if top < 1:
        raise ValueError(f"top: expected at least 1, got {top}")
    for path in files_below(places):
        yield predictor.answer(path, top) if isinstance(path, Path) else predictor.failure(path.place, path)


class EmptyFolder(DataError):
    """A folder without any file of a known format."""

    def __init__(self, place: Path) -> None:
        self.place = str(place)
        super().__init__(f"{printable(place)}: no file of a known format in this folder")


def files_below(places: Sequence[str]) -> Iterator[Path | EmptyFolder]:
    """The given files, and those of known formats below the given folders, in the given order."""
    for place in map(Path, places):
        found: list[Path] = sorted(_shapes_in(place)) if place.is_dir() else [place]
        if not found:
            yield EmptyFolder(place)
        yield from found


def _shapes_in(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix.lower() in READERS and not hidden and path.is_file():
            yield path
