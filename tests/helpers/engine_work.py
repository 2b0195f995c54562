"""Work that the processes of an engine import; they cannot import a test."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from sampled_transformer.engine.job import Failure
from sampled_transformer.inference.answer_job import AnswerActor
from sampled_transformer.support.workers import Announce


def squares(chunk: list[Any], announce: Announce) -> list[tuple[int, int]]:
    """The squares, each with the process whose child computed it."""
    found = []
    for index, item in enumerate(chunk):
        announce(index)
        if item == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if item == "raise":
            raise ValueError("refused")
        time.sleep(0.05)
        found.append((item * item, os.getppid()))
    return found


class LengthActor:
    """Answers with the length of a file's text, and notes in a folder that it was made."""

    def __init__(self, made: str) -> None:
        Path(made, f"{os.getpid()}-{time.monotonic_ns()}").touch()

    def __call__(self, files: list[str], announce: Announce) -> list[Any]:
        found: list[Any] = []
        for number, name in enumerate(files):
            announce(number)
            text = Path(name).read_text()
            if text == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            found.append(Failure(f"{name}: bad") if text == "bad" else len(text))
        return found


def length_table(pairs: list[tuple[str, Any]]) -> Any:
    import pyarrow

    read = [(name, answer) for name, answer in pairs if not isinstance(answer, Failure)]
    schema = pyarrow.schema({"file": pyarrow.string(), "length": pyarrow.int64()})
    return pyarrow.Table.from_pylist([{"file": name, "length": length} for name, length in read], schema)


class SlowAnswerActor(AnswerActor):
    """Takes its time, so that a test can kill its process in the middle."""

    def __call__(self, files: list[str], announce: Announce) -> list[Any]:
        time.sleep(0.2)
        return super().__call__(files, announce)
