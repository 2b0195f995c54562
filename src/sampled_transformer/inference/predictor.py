"""Ask a trained network about files: class probabilities or a number, and their spread over cycles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from ..data.axes import check_up
from ..data.errors import DataError
from ..data.limits import enough_memory
from ..data.remote import Url, local_copy
from ..support.printable import printable
from ..support.workers import Announce, in_chunks
from ..training.loading import View
from ..weights import WeightsError
from .answers import Answer, Measurement, failure
from .places import EmptyFolder, Place, files_below
from .prepared import Prepared, prepare_files, prepare_sides
from .trained import check_classifier
from .trained_network import load


class Predictor:
    """A trained network that classifies files, or predicts a number for each.

    Args:
        weights: The weights file. It also stores how many points the network reads, and whether it uses normals.
        samples: Average over this many cycles.
        device: Device (default: GPU if available).
        batch: Files per forward pass.
        up: The axis that is up in the files, or "auto", see `TrainedNetwork.predict`.
    """

    def __init__(
        self, weights: Path, samples: int = 8, device: str | None = None, batch: int = 1, up: str | None = None
    ) -> None:
        if samples < 1:
            raise ValueError(f"samples: expected at least 1, got {samples}")
        check_up(up, auto=True)
        self.samples, self.trained, self.up = samples, load(weights, device, batch=batch), up
        self.target = self.trained.target
        if up == "auto":
            self.trained.check_sure()
        if self.target is not None:
            return
        check_classifier(self.trained.description, weights)
        if not self.trained.classes:
            raise WeightsError(f"{printable(weights)}: expected class names in the file, got none")
        _ = self.trained.temperature, self.trained.familiarity  # report nonsense in the file before any answer

    @cached_property
    def _view(self) -> View:
        return self.trained.view

    def answer(self, path: Path, top: int = 5) -> Answer | Measurement:
        """The `top` likeliest classes of one file, or its number; with an error if the file cannot be read."""
        return self.answers([path], top)[0]

    def answers(
        self, paths: Sequence[Place | EmptyFolder], top: int = 5, announce: Announce = lambda _: None
    ) -> list[Answer | Measurement]:
        """One answer per file, in their order. A file that cannot be read costs its own answer.

        We announce the number of each file before we read it, and None before the network sees all of them.
        """
        read: list[list[Prepared] | DataError] = []
        with closing(prepare_files(self._view, [path for path in paths if isinstance(path, Path)], self.up)) as local:
            for number, path in enumerate(paths):
                announce(number)
                read.append(next(local) if isinstance(path, Path) else self._fetch(path))
        announce(None)
        given = iter(self._ask([one for one in read if not isinstance(one, DataError)], top))
        return [
            self.failure(path.place if isinstance(path, EmptyFolder) else str(path), one)
            if isinstance(one, DataError)
            else replace(next(given), file=str(path))
            for path, one in zip(paths, read, strict=True)
        ]

    def _fetch(self, url: Url | EmptyFolder) -> list[Prepared] | DataError:
        """A remote file as the network reads it, once per axis that may be up."""
        if isinstance(url, EmptyFolder):
            return url
        try:
            with enough_memory(printable(url)), local_copy(url) as copy:
                sides = prepare_sides(self._view, copy, up=self.up)[0][0]
            return [replace(one, name=printable(url)) for one in sides]
        except DataError as error:
            return error

    def _ask(self, sides: list[list[Prepared]], top: int) -> list[Answer | Measurement]:
        """Ask the network about several files at once; if one of them fails, about each alone."""
        if not sides:
            return []
        try:
            with enough_memory(sides[0][0].name):
                sets = self.trained.upright(sides, self.samples) if self.up == "auto" else [own[0] for own in sides]
                return self._answers(sets, top)
        except DataError as error:
            if len(sides) == 1:
                return [self.failure(sides[0][0].name, error)]
            return [answer for own in sides for answer in self._ask([own], top)]

    def _answers(self, sets: list[Prepared], top: int) -> list[Answer | Measurement]:
        if self.target is not None:
            values = self.trained.values(sets, samples=self.samples)
            numbers = zip(sets, values.mean.tolist(), values.spread.tolist(), strict=True)
            return [
                Measurement(one.name, values.target, mean, spread, list(one.notes), up=one.up)
                for one, mean, spread in numbers
            ]
        found = self.trained.probabilities(sets, samples=self.samples)
        nothing = [None] * len(sets)  # weights without statistics of their training shapes claim nothing
        familiar = nothing if found.familiar is None else found.familiar.tolist()
        strangeness = nothing if found.strangeness is None else found.strangeness.tolist()
        return [
            Answer(
                one.name,
                [{"class": each.name, "probability": each.probability, "spread": each.spread} for each in likeliest],
                list(one.notes),
                up=one.up,
                familiar=known,
                strangeness=strange,
            )
            for one, likeliest, known, strange in zip(sets, found.top(top), familiar, strangeness, strict=True)
        ]

    def failure(self, file: str, error: DataError) -> Answer | Measurement:
        """The answer about a file that cannot be read."""
        return failure(file, error, None if self.target is None else self.target.name)


def predict(predictor: Predictor, places: Sequence[str], top: int = 5) -> Iterator[Answer | Measurement]:
    """Yield one answer per file, in the given order. Folders are searched for files of known formats."""
    if top < 1:
        raise ValueError(f"top: expected at least 1, got {top}")
    for some in in_chunks(files_below(places), predictor.trained.batch):
        yield from predictor.answers(some, top)
