"""Ask a trained network about files: class probabilities or a number, and their spread over cycles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import torch

from ..data.axes import check_up
from ..data.errors import DataError
from ..data.limits import enough_memory
from ..data.remote import Url, local_copy
from ..support.printable import printable
from ..support.workers import Announce, in_chunks
from ..training.loading import View
from ..weights import FILE, WeightsError
from .answers import Answer, Measurement, failure
from .places import EmptyFolder, Place, files_below
from .prepared import Prepared, prepare_files, prepare_sides, seen_by
from .trained import check_classifier
from .trained_network import Probabilities, TrainedNetwork, load, standing
from .twins import OF_FEW, as_few, has_few, joint_scores, softening


class Predictor:
    """A trained network that classifies files, or predicts a number for each.

    Args:
        weights: The weights file. It also stores how many points the network reads, and whether it uses normals.
        samples: Average over this many cycles.
        device: Device (default: GPU if available).
        batch: Files per forward pass.
        up: The axis that is up in the files, or "auto", see `TrainedNetwork.predict`.
        twin: Other weights for the same classes and inputs, which bear more. They are asked too, and the surer answer
            is taken; sets of few points are theirs alone. What either finds strange is unfamiliar.
    """

    def __init__(
        self,
        weights: Path,
        samples: int = 8,
        device: str | None = None,
        batch: int = 1,
        up: str | None = None,
        twin: Path | None = None,
    ) -> None:
        if samples < 1:
            raise ValueError(f"samples: expected at least 1, got {samples}")
        check_up(up, auto=True)
        self.samples, self.trained, self.up = samples, load(weights, device, batch=batch), up
        self._twin: Predictor | None = None
        self.softening = self.softening_of_few = 1.0
        self.target = self.trained.target
        if up == "auto":
            self.trained.check_sure()
        if self.target is not None:
            return
        check_classifier(self.trained.description, weights)
        if not self.trained.classes:
            raise WeightsError(f"{printable(weights)}: expected class names in the file, got none")
        _ = self.trained.temperature, self.trained.familiarity  # report nonsense in the file before any answer
        self._twin = None if twin is None else Predictor(twin, samples, device, batch)
        if self._twin is not None:
            check_twins(self.trained, self._twin.trained)
            self.softening = softening(self._twin.trained, short_name(self.trained.name))
            self.softening_of_few = softening(self._twin.trained, OF_FEW)

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
                return self._answers(self._standing(sides) if self.up == "auto" else [own[0] for own in sides], top)
        except DataError as error:
            if len(sides) == 1:
                return [self.failure(sides[0][0].name, error)]
            return [answer for own in sides for answer in self._ask([own], top)]

    def _standing(self, sides: list[list[Prepared]]) -> list[Prepared]:
        """Each set with the axis up that all networks that are asked about it find likeliest."""
        if self._twin is None:
            return self.trained.upright(sides, self.samples)
        return standing(sides, joint_scores(self.trained, self._twin.trained, sides, self.samples))

    def _answers(self, sets: list[Prepared], top: int) -> list[Answer | Measurement]:
        if self.target is not None:
            values = self.trained.values(sets, samples=self.samples)
            numbers = zip(sets, values.mean.tolist(), values.spread.tolist(), strict=True)
            return [
                Measurement(one.name, values.target, mean, spread, list(one.notes), up=one.up)
                for one, mean, spread in numbers
            ]
        return [*(self._classes(sets, top) if self._twin is None else self._surer(self._twin, sets, top))]

    def _surer(self, twin: Predictor, sets: list[Prepared], top: int) -> list[Answer]:
        """Of the answers of two networks, the one with the higher probability; of sets of few points, the twin's.

        The surer of two is too sure, so its probabilities are softened afterwards, see `softening`. A set is
        unfamiliar if it is to any network that was asked, see `_known_to_all`: what answers surely about a stranger
        need not notice it.
        """
        first, second = short_name(self.trained.name), short_name(twin.trained.name)
        others = [seen_by(twin._view, one) for one in sets]
        found = twin.trained.probabilities(others, samples=self.samples)
        enough = [number for number, one in enumerate(sets) if not has_few(one)]
        answers = dict(self._of_few(twin, {n: one for n, one in enumerate(sets) if has_few(one)}, found, top))
        if enough:
            asked = [sets[number] for number in enough]
            mine = self.trained.probabilities(asked, samples=self.samples)
            surer = mine.mean.max(1) >= found.mean[enough].max(1)
            own = self._written(asked, mine.softened(self.softening), top)
            other = twin._written(others, found.softened(self.softening), top)
            for number, answer, is_surer in zip(enough, own, surer, strict=True):
                both = [(self.trained, answer), (twin.trained, other[number])]
                known = _known_to_all(answer if is_surer else other[number], both)
                answers[number] = replace(known, weights=first if is_surer else second)
        return [answers[number] for number in range(len(sets))]

    def _of_few(
        self, twin: Predictor, sets: dict[int, Prepared], filled: Probabilities, top: int
    ) -> Iterator[tuple[int, Answer]]:
        """What the twin answers about sets of few points, by their numbers, one pass for those of one size.

        `filled` is what it says about them filled up to all the points that it reads. They are unfamiliar if they are
        so both ways: sparse shapes look strange, but not all strange shapes are sparse.
        """
        read = {number: as_few(twin._view, one) for number, one in sets.items()}
        for size in sorted({len(one.points) for one in read.values()}):
            numbers = [number for number, one in read.items() if len(one.points) == size]
            own = [read[number] for number in numbers]
            found = twin.trained.probabilities(own, samples=self.samples).softened(self.softening_of_few)
            for number, answer in zip(numbers, twin._written(own, found, top), strict=True):
                if answer.strangeness is not None:
                    known = bool(answer.familiar or filled.familiar[number])
                    strangeness = min(answer.strangeness, float(filled.strangeness[number]))
                    answer = replace(answer, familiar=known, strangeness=strangeness)
                yield number, replace(answer, weights=short_name(twin.trained.name))

    def _classes(self, sets: list[Prepared], top: int) -> list[Answer]:
        return self._written(sets, self.trained.probabilities(sets, samples=self.samples), top)

    def _written(self, sets: list[Prepared], found: Probabilities, top: int) -> list[Answer]:
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


def _known_to_all(answer: Answer, asked: Sequence[tuple[TrainedNetwork, Answer]]) -> Answer:
    """The answer with the judgement of all networks: the largest strangeness, and familiar if it is so to each.

    Of k networks each may raise a share 1 / k of the false alarms, so that together they raise no more than one.
    """
    found = [(net.familiarity, own.strangeness) for net, own in asked]
    known = [(one, strangeness) for one, strangeness in found if one is not None and strangeness is not None]
    if not known:
        return answer
    usual = [bool(one.is_usual(torch.tensor(strangeness), len(known))) for one, strangeness in known]
    return replace(answer, familiar=all(usual), strangeness=max(strangeness for _, strangeness in known))


def short_name(weights: str) -> str:
    """The name of shipped weights, of the folder of a run, or of a file."""
    path = Path(weights)
    return path.parent.name if path.name == FILE else path.stem


def check_twins(first: TrainedNetwork, second: TrainedNetwork) -> None:
    """Raise a WeightsError unless two networks read the same sets and know the same classes."""
    views = [(net.view.points, net.view.normals, net.classes) for net in (first, second)]
    if views[0] != views[1]:
        names = f"{printable(second.name)}: expected the classes, points and normals of {printable(first.name)}"
        raise WeightsError(f"{names}, got others")


def predict(predictor: Predictor, places: Sequence[str], top: int = 5) -> Iterator[Answer | Measurement]:
    """Yield one answer per file, in the given order. Folders are searched for files of known formats."""
    if top < 1:
        raise ValueError(f"top: expected at least 1, got {top}")
    for some in in_chunks(files_below(places), predictor.trained.batch):
        yield from predictor.answers(some, top)
