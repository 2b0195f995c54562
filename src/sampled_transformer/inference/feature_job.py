"""`features` for many files: rows in parts, see `engine.job`. The columns are those of feature_files.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..data.errors import DataError
from ..data.guard import guard_here
from ..data.limits import enough_memory
from ..data.remote import local_copy
from ..engine.job import Failure, Job
from ..support.limits import Limits
from ..support.memory import keep_freed_memory
from ..support.printable import printable
from ..support.workers import Announce, Pairs
from .answer_job import check_weights
from .feature_files import feature_table, point_feature_table
from .features import PointFeatures
from .places import Place, place_of
from .trained_network import TrainedNetwork, load


class FeatureQuestion(NamedTuple):
    """Which features of every file, and what reading one may take.

    The fields are the arguments of `load` and `TrainedNetwork.features`.
    """

    weights: str
    per_point: bool = False
    layer: int | str | None = None
    samples: int = 1
    up: str | None = None
    device: str | None = None
    limits: Limits = Limits()


class FeatureActor:
    """A network that gives features of files. It refuses other weights than those of the job."""

    def __init__(self, question: FeatureQuestion, digest: str) -> None:
        keep_freed_memory()
        guard_here(question.limits)
        check_weights(question.weights, digest)
        self.question, self.trained = question, load(question.weights, question.device)

    def __call__(self, files: list[str], announce: Announce) -> list[Any]:
        found: list[Any] = []
        for number, name in enumerate(files):
            announce(number)
            try:
                found.append(features_at(self.trained, place_of(name), self.question))
            except DataError as error:
                found.append(Failure(str(error)))
        return found


def features_at(
    trained: TrainedNetwork,
    place: Place,
    question: FeatureQuestion,
    tell: Callable[[Sequence[str]], None] = lambda notes: None,
) -> Any:
    """The features of one file, which may be remote; `tell` is given the notes about the way there."""
    with enough_memory(printable(place)), local_copy(place) as path:
        one = trained.prepare(path, up=question.up, samples=question.samples)
        tell(one.notes)
        return trained.features(one, per_point=question.per_point, layer=question.layer, samples=question.samples)


def feature_job(question: FeatureQuestion, shard: int = 256) -> Job:
    """The job of `features`, for `engine.job.run_job`. It loads the network once here, to refuse what cannot work.

    Args:
        question: Which features.
        shard: Files per part.
    """
    from ..weights import digest_weights

    if shard < 1:
        raise ValueError(f"shard: expected at least 1, got {shard}")
    trained = load(question.weights, question.device)
    question = question._replace(layer=trained.find_layer(question.layer))
    if question.up == "auto":
        trained.check_sure()
    points = np.random.default_rng(0).normal(size=(64, 3))
    some = trained.features(points, per_point=question.per_point, layer=question.layer, samples=question.samples)
    digest = digest_weights(question.weights)
    known = {name: value for name, value in question._asdict().items() if name not in ("device", "limits")}
    return Job(
        "features",
        {**known, "weights_digest": digest},
        partial(FeatureActor, question, digest),
        partial(feature_rows, example=some),
        1,
        shard,
    )


def feature_rows(pairs: Pairs, example: np.ndarray | PointFeatures) -> Any:
    """A table with the features of all files that could be read; the example has the columns if there are none."""
    found = [(printable(name), one) for name, one in pairs if not isinstance(one, Failure)]
    table: Callable[..., Any] = point_feature_table if isinstance(example, PointFeatures) else feature_table
    if not found:
        return table([""], [example]).slice(0, 0)
    names, features = zip(*found, strict=True)
    return table(names, features)
