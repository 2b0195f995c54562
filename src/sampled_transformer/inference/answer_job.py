"""`predict` for many files: answers in parts, see `engine.job`. The columns are the fields of `predict --json`."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

from ..data.guard import guard_here
from ..engine.job import Failure, Job
from ..support.memory import keep_freed_memory
from ..support.printable import printable
from ..support.workers import Announce, Pairs
from .answering import Question, make_predictor
from .answers import failure
from .places import place_of


class AnswerActor:
    """A network that answers a question about files. It refuses other weights than those of the job."""

    def __init__(self, question: Question, digest: str, twin_digest: str | None = None) -> None:
        keep_freed_memory()
        guard_here(question.limits)
        check_weights(question.weights, digest)
        if question.twin is not None and twin_digest is not None:
            check_weights(question.twin, twin_digest)
        self.question, self.predictor = question, make_predictor(question)

    def __call__(self, files: list[str], announce: Announce) -> list[Any]:
        found = self.predictor.answers([place_of(name) for name in files], self.question.top, announce)
        return [one if one.error is None else Failure(one.error) for one in found]


def answer_job(question: Question, shard: int = 256) -> Job:
    """The job of `predict`, for `engine.job.run_job`. It loads the network once here, to refuse what cannot work.

    Args:
        question: What to ask about every file.
        shard: Files per part, rounded up to whole batches.
    """
    from ..weights import digest_weights

    for name, value in (("top", question.top), ("batch", question.batch), ("shard", shard)):
        if value < 1:
            raise ValueError(f"{name}: expected at least 1, got {value}")
    target = make_predictor(question).target
    digest = digest_weights(question.weights)
    twin_digest = None if question.twin is None else digest_weights(question.twin)
    settings = {"weights": question.weights, "weights_digest": digest, "samples": question.samples}
    if question.twin is not None:
        settings |= {"twin": question.twin, "twin_digest": twin_digest}
    return Job(
        "predict",
        {**settings, "up": question.up, "top": question.top},
        partial(AnswerActor, question, digest, twin_digest),
        partial(answer_table, target=None if target is None else target.name),
        question.batch,
        -(-shard // question.batch) * question.batch,
    )


def answer_table(pairs: Pairs, target: str | None = None) -> Any:
    """A table with one row per file; a file without an answer has its reason in the column `error`."""
    import pyarrow

    classes = pyarrow.struct({"class": pyarrow.string(), "probability": pyarrow.float64(), "spread": pyarrow.float64()})
    answered = {
        "notes": pyarrow.list_(pyarrow.string()),
        "error": pyarrow.string(),
        "up": pyarrow.string(),
    }
    if target is None:
        answered = {"classes": pyarrow.list_(classes), **answered}
        answered |= {"familiar": pyarrow.bool_(), "strangeness": pyarrow.float64(), "weights": pyarrow.string()}
    else:
        numbers = {"value": pyarrow.float64(), "spread": pyarrow.float64()}
        answered = {"target": pyarrow.string(), **numbers, **answered}
    rows = []
    for name, answer in pairs:
        if isinstance(answer, Failure):
            answer = failure(name, ValueError(answer.reason), target)
        rows.append({**asdict(answer), "file": printable(name)})
    return pyarrow.Table.from_pylist(rows, pyarrow.schema({"file": pyarrow.string(), **answered}))


def check_weights(weights: str, digest: str) -> None:
    """Raise a ValueError unless the weights of this machine are those of the job."""
    from ..weights import digest_weights

    if digest_weights(weights) != digest:
        where = "on every machine"
        raise ValueError(f"weights: expected the same file {printable(weights)} {where}, got another one on this")
