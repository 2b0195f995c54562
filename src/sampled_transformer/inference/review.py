"""Look back at the answers of a classifier about its test split: its mistakes, and the classes that it confuses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..support.printable import printable
from ..weights import describe_model
from .calibration import calibration
from .critical import critical_shares
from .evaluation import Asked, ask_cycles, load_with_test_split
from .familiarity import Ask
from .metrics import confused_pairs, confusion_counts
from .temperature import temperature_of
from .trained import pick_device


@dataclass(frozen=True)
class Mistake:
    """A misclassified test shape."""

    name: str
    truth: str
    answer: str
    probability: float  # of the answer
    points: np.ndarray  # (n, 3), as the network read them
    normals: np.ndarray | None
    shares: np.ndarray | None  # (n,), how much each point decided, see `critical_shares`


@dataclass(frozen=True)
class Confusion:
    """Two classes that the network confuses, and a shape of either."""

    truth: str
    answer: str
    times: int
    mistaken: np.ndarray  # a shape of the first class that was taken for the second, (n, 3)
    other: np.ndarray  # a shape of the second class, (n, 3)


class Review(Asked):
    """What its answers in one pass say about a classifier."""

    @classmethod
    def of(
        cls,
        weights: Path,
        source: str | None = None,
        root: str | None = None,
        device: str | None = None,
        up: str | None = None,
    ) -> Review:
        """Ask a network about a test split (default: that of its own data set)."""
        place = pick_device(device)
        network, view, pack, where = load_with_test_split(weights, source, root, place, up)
        description = describe_model(weights)
        temperature = temperature_of(description, weights)
        one_pass = ask_cycles(
            network, pack, view, view.transforms()[1], 1, batch=64, device=place, ask=Ask(temperature)
        )[0]
        return cls(network, description.model, view, pack, one_pass, temperature, printable(where))

    @classmethod
    def again(cls, asked: Asked) -> Review:
        """Look back at what was asked before."""
        return cls(**vars(asked))

    @property
    def labels(self) -> Tensor:
        assert self.pack.labels is not None
        return torch.from_numpy(self.pack.labels)

    @cached_property
    def confusion(self) -> Tensor:
        """Rows are true classes, columns are answers."""
        return confusion_counts(self.labels, self.probabilities, len(self.pack.classes))

    def calibration(self) -> dict[str, Any]:
        """Is the network right as often as it says?"""
        return calibration(self.probabilities[None], self.labels, self.temperature)

    def mistakes(self, most: int = 24) -> tuple[list[Mistake], int]:
        """The `most` mistakes with the highest probability, and the number of all mistakes."""
        confidence, answers = self.probabilities.max(1)
        wrong = torch.nonzero(answers != self.labels).squeeze(1)
        wrong = wrong[confidence[wrong].argsort(descending=True, stable=True)]
        found = [self._mistake(number, int(answers[number]), float(confidence[number])) for number in wrong[:most]]
        return found, len(wrong)

    def confused(self, most: int = 3) -> list[Confusion]:
        """The most frequent mistakes, each with the surest example and the other class's surest shape."""
        classes = list(self.pack.classes)
        answers = self.probabilities.argmax(1)
        found = []
        for truth, answer, times in confused_pairs(self.confusion, classes, most):
            one, other = classes.index(truth), classes.index(answer)
            taken = torch.nonzero((self.labels == one) & (answers == other)).squeeze(1)
            of_other = torch.nonzero(self.labels == other).squeeze(1)
            if not len(of_other):
                continue
            surest = (some[self.probabilities[some, other].argmax()] for some in (taken, of_other))
            shapes = [self.pack.batch([int(number)]).points[0].numpy() for number in surest]
            found.append(Confusion(truth, answer, times, *shapes))
        return found

    def _mistake(self, number: Tensor, answer: int, probability: float) -> Mistake:
        place = int(number)
        shape, labels = self.pack.batch([place]), self.pack.labels
        assert labels is not None
        normals = shape.normals if self.view.normals else None
        points, seen_normals = self.view.transforms()[1](shape.points, normals)
        device = next(self.network.parameters()).device
        own = None if seen_normals is None else seen_normals[0].to(device)
        return Mistake(
            f"number {place}" if self.pack.names is None else str(self.pack.names[place]),
            self.pack.classes[labels[place]],
            self.pack.classes[answer],
            probability,
            points[0].numpy(),
            None if seen_normals is None else seen_normals[0].numpy(),
            critical_shares(self.network, self.model, points[0].to(device), own),
        )
