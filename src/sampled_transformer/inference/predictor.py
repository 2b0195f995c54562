"""Classify files with a trained network: class probabilities, and their spread over cycles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..data.errors import DataError
from ..data.files import READERS, Shape, read_shape
from ..support.printable import printable
from ..weights import WeightsError, load_model
from .trained import check_classifier, cycle_probabilities, pick_device, view_of


@dataclass(frozen=True)
class Answer:
    """The likeliest classes of one file with probability and spread, or the error that prevented an answer."""

    file: str
    classes: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    error: str | None = None


class Predictor:
    """A trained network that classifies files.

    Args:
        weights: The weights file. It also stores how many points the network reads, and whether it uses normals.
        samples: Average the probabilities over this many cycles.
        device: Device (default: GPU if available).
    """

    def __init__(self, weights: Path, samples: int = 8, device: str | None = None) -> None:
        if samples < 1:
            raise ValueError(f"samples: expected at least 1, got {samples}")
        self.device, self.samples = pick_device(device), samples
        self.network, description = load_model(weights, self.device)
        check_classifier(description, weights)
        if not description.classes:
            raise WeightsError(f"{printable(weights)}: expected class names in the file, got none")
        self.classes = description.classes
        self.view = view_of(description, weights)
        self.transform = self.view.transforms()[1]

    def probabilities(self, path: Path) -> tuple[Tensor, list[str]]:
        """Probabilities (samples, classes) for a file, and notes on how it was read."""
        shape, notes = self._read(path)
        points = torch.from_numpy(shape.points)[None]
        normals = None if shape.normals is None else torch.from_numpy(shape.normals)[None]
        points, normals = self.transform(points, normals)
        normals = None if normals is None else normals.to(self.device)
        return cycle_probabilities(self.network, points.to(self.device), normals, self.samples)[:, 0].cpu(), notes

    def _read(self, path: Path) -> tuple[Shape, list[str]]:
        notes = []
        shape = read_shape(path, points=self.view.points, normals="keep" if self.view.normals else "none")
        if self.view.normals and shape.normals is None:
            shape = read_shape(path, points=self.view.points, normals="estimate")
            notes.append("normals estimated from neighbouring points")
        if shape.distinct < self.view.points:
            notes.append(f"only {shape.distinct} points; repeated some to get the {self.view.points} the network reads")
        return shape, notes

    def answer(self, path: Path, top: int = 5) -> Answer:
        """The `top` likeliest classes of one file, or an answer with an error if the file cannot be read."""
        try:
            probabilities, notes = self.probabilities(path)
        except DataError as error:
            return Answer(str(path), error=str(error))
        if not probabilities.isfinite().all():
            return Answer(str(path), error=f"{printable(path)}: the network's output is not finite")
        mean, spread = probabilities.mean(0), probabilities.std(0, correction=0)
        order = mean.argsort(descending=True, stable=True)[:top].tolist()
        likeliest = [
            {"class": self.classes[i], "probability": float(mean[i]), "spread": float(spread[i])} for i in order
        ]
        return Answer(str(path), likeliest, notes)


def predict(predictor: Predictor, places: Sequence[str], top: int = 5) -> Iterator[Answer]:
    """Yield one answer per file, in the given order. Folders are searched for files of known formats."""
    if top < 1:
        raise ValueError(f"top: expected at least 1, got {top}")
    for place in map(Path, places):
        if not place.is_dir():
            yield predictor.answer(place, top)
            continue
        found = sorted(_shapes_in(place))
        if not found:
            yield Answer(str(place), error=f"{printable(place)}: no file of a known format in this folder")
        for path in found:
            yield predictor.answer(path, top)


def _shapes_in(folder: Path) -> Iterable[Path]:
    for path in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix.lower() in READERS and not hidden and path.is_file():
            yield path
