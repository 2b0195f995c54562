"""Answers in parts: those of `predict`, with its fields, for classes and numbers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from helpers.trained import save_small

from sampled_transformer.engine.job import Failure
from sampled_transformer.inference.answer_job import AnswerActor, answer_job, answer_table
from sampled_transformer.inference.answering import Question, answer_files

pytest.importorskip("pyarrow")


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for number in range(3):
        np.savetxt(tmp_path / f"{number}.xyz", np.random.default_rng(number).normal(size=(20, 3)))
    (tmp_path / "1.xyz").write_text("no numbers")
    return [str(tmp_path / f"{number}.xyz") for number in range(3)]


def test_a_table_has_the_fields_of_the_answers(files: list[str], tmp_path: Path) -> None:
    question = Question(str(save_small(tmp_path / "w.safetensors")), samples=2, batch=8)
    job = answer_job(question, shard=10)
    assert (job.batch, job.shard) == (8, 16)  # whole batches
    announced: list[int | None] = []
    found = job.actor()(files, announced.append)
    assert announced == [0, 1, 2, None]
    assert found[1] == Failure(f"{files[1]}: expected at least one line of numbers, got none")
    rows = job.table(list(zip(files, found, strict=True))).to_pylist()
    assert rows == [asdict(answer) for answer in answer_files(question, files, workers=0)]


def test_numbers(regressor: Path, files: list[str]) -> None:
    question = Question(str(regressor), samples=1)
    job = answer_job(question)
    rows = job.table(list(zip(files, job.actor()(files, lambda _: None), strict=True))).to_pylist()
    assert rows == [asdict(answer) for answer in answer_files(question, files, workers=0)]
    assert rows[1]["target"] == "height in mm"
    assert job.table([(files[1], Failure("why"))]).schema == answer_table([], "height in mm").schema


def test_a_remote_file_has_the_answer_of_its_copy(files: list[str], tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    question = Question(str(save_small(tmp_path / "w.safetensors")), samples=1, batch=1)
    local = list(answer_files(question, files, workers=0))
    remote = list(answer_files(question, [f"file://{name}" for name in files], workers=0))
    assert [one.classes for one in remote] == [one.classes for one in local]
    assert [one.file for one in remote] == [f"file://{name}" for name in files]
    assert remote[1].error == f"file://{local[1].error}"


def test_weights_that_differ_are_refused(tmp_path: Path) -> None:
    weights = save_small(tmp_path / "w.safetensors")
    job = answer_job(Question(str(weights)))
    save_small(weights, "basic-dense")
    with pytest.raises(
        ValueError, match=r"weights: expected the same file .* on every machine, got another one on this"
    ):
        job.actor()
    assert answer_job(Question(str(weights))).settings != job.settings
    with pytest.raises(ValueError, match="shard: expected at least 1, got 0"):
        answer_job(Question(str(weights)), shard=0)
    assert isinstance(answer_job(Question(str(weights))).actor(), AnswerActor)
