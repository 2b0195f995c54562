"""Answer about many files: worker processes read and classify them in batches, and the answers come in their order.

Each worker has its own copy of the network and one thread. This process loads torch only if it has to answer itself.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import cache, partial
from itertools import chain, islice
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..data.guard import explain_death, guard_here, guarded
from ..support.limits import Limits
from ..support.memory import keep_freed_memory
from ..support.workers import Announce, ProcessDied, available_cores, in_chunks, run_in_order
from .answers import Answer, Measurement, failure
from .places import EmptyFolder, Place, files_below

if TYPE_CHECKING:
    from .predictor import Predictor

WORTH_A_WORKER = 8  # files; a worker takes seconds to start
MOST_WORKERS = 8  # that we start without being told; each takes a few hundred megabytes


class Question(NamedTuple):
    """What to ask a network about every file, and what reading one may take.

    The fields are the arguments of `Predictor` and `predict`.
    """

    weights: str
    samples: int = 8
    device: str | None = None
    batch: int = 32
    up: str | None = None
    top: int = 5
    limits: Limits = Limits()
    twin: str | None = None


def answer_files(
    question: Question, places: Sequence[str], workers: int | None = None
) -> Generator[Answer | Measurement, None, None]:
    """Yield one answer per file, in the given order. Folders are searched for files of known formats.

    Args:
        question: What to ask.
        places: Files and folders.
        workers: Number of processes; 0 reads and classifies in this one (default: one per core, at most 8, and none for
            a single file). A file whose reader dies costs only its own answer, with or without workers.
    """
    for name, value, least in (("top", question.top, 1), ("batch", question.batch, 1), ("workers", workers, 0)):
        if value is not None and value < least:
            raise ValueError(f"{name}: expected at least {least}, got {value}")
    coming = files_below(places)
    most = min(available_cores(), MOST_WORKERS) if workers is None else workers
    known = list(islice(coming, most * max(WORTH_A_WORKER, question.batch)))
    if workers is None:
        workers = 0 if len(known) == 1 else min(most, ceil(len(known) / WORTH_A_WORKER))
    size = max(1, min(question.batch, ceil(len(known) / workers))) if workers else question.batch
    chunks = in_chunks(chain(known, coming), size)
    if workers == 0:
        with guarded(question.limits) as guard:
            guard.warm()  # it starts while we load the network
            predictor = make_predictor(question)
            for chunk in chunks:
                yield from predictor.answers(chunk, question.top)
        return
    for path, answer in run_in_order(partial(_answer, question=question), chunks, workers):
        yield _died(question, path, answer) if isinstance(answer, ProcessDied) else answer


def _answer(chunk: list[Place | EmptyFolder], announce: Announce, question: Question) -> list[Answer | Measurement]:
    """Run in a worker, which loads the network once."""
    return _own_predictor(question).answers(chunk, question.top, announce)


@cache
def _own_predictor(question: Question) -> Predictor:
    keep_freed_memory()
    guard_here(question.limits)
    return make_predictor(question)


def make_predictor(question: Question) -> Predictor:
    """The network that answers the question."""
    from ..weights import find_weights
    from .predictor import Predictor

    weights, twin = find_weights(question.weights), None if question.twin is None else find_weights(question.twin)
    return Predictor(weights, question.samples, question.device, question.batch, question.up, twin)


def _died(question: Question, path: Place, how: ProcessDied) -> Answer | Measurement:
    """The answer about a file whose process died."""
    from ..weights import describe_model
    from .target import target_of

    target = target_of(describe_model(question.weights), question.weights)
    reason = explain_death(str(how), Path(path), question.limits)
    return failure(str(path), OSError(reason), None if target is None else target.name)
