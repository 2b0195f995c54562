"""Answers of worker processes: those of one by one, in order, whatever happens to a process."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.trained import save_small

from sampled_transformer.inference.answering import Question, answer_files

CUSTOM = """
import os
from sampled_transformer.data import files

def kill(path):
    os.kill(os.getpid(), 9)

files.READERS[".kill"] = kill
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Clouds of several sizes, and a broken file among them."""
    (tmp_path / "files").mkdir()
    for number in range(9):
        points = np.random.default_rng(number).normal(size=(20 + 10 * number, 3))
        np.savetxt(tmp_path / "files" / f"{number}.xyz", points * [1, 0.7, 0.1 * number + 0.1])
    (tmp_path / "files" / "4.xyz").write_text("no numbers")
    return tmp_path / "files"


def same(one, other) -> bool:
    rows = zip(one.classes, other.classes, strict=True)
    return (one.file, one.notes, one.error) == (other.file, other.notes, other.error) and all(
        left["class"] == right["class"] and abs(left[key] - right[key]) < 1e-5
        for left, right in rows
        for key in ("probability", "spread")
    )


def test_batches_and_workers_answer_as_one_by_one_does(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    places = [str(folder), str(tmp_path / "empty"), str(tmp_path / "none.off"), str(folder / "2.xyz")]
    alone = Question(str(save_small(tmp_path / "w.safetensors")), samples=2, batch=1)
    expected = list(answer_files(alone, places, workers=0))
    assert [Path(one.file).name for one in expected] == [
        *(f"{number}.xyz" for number in range(9)),
        "empty",
        "none.off",
        "2.xyz",
    ]
    assert [bool(one.error) for one in expected] == [n in (4, 9, 10) for n in range(12)]
    together = alone._replace(batch=5)
    for workers in (0, 2):
        found = list(answer_files(together, places, workers))
        assert len(found) == 12
        assert all(map(same, found, expected))


def test_a_process_that_dies_costs_its_own_file(
    folder: Path, tmp_path: Path, regressor: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text(CUSTOM)
    (tmp_path / "bad.kill").write_text("x")
    monkeypatch.setenv("PYTHONPATH", ":".join([str(tmp_path / "own"), *filter(None, sys.path)]))
    places = [str(folder / "0.xyz"), str(tmp_path / "bad.kill"), str(folder / "1.xyz"), str(folder / "2.xyz")]
    need = "or need more than 2 GB of memory; --reading.memory allows more"
    reason = f"the process that read it died (signal 9); the file may be damaged, {need}"
    for workers in (0, 1):
        found = list(answer_files(Question(str(regressor), samples=1), places, workers))
        assert [one.file for one in found] == places
        assert [one.value is None for one in found] == [False, True, False, False]
        assert found[1].target == "height in mm"
        assert found[1].error == f"{tmp_path / 'bad.kill'}: {reason}"


@pytest.mark.parametrize(("name", "value", "workers"), [("top", 0, 0), ("batch", 0, 0), ("workers", -1, -1)])
def test_numbers_that_are_too_small(name: str, value: int, workers: int) -> None:
    question = Question("modelnet40")
    if name != "workers":
        question = question._replace(**{name: value})
    with pytest.raises(ValueError, match=f"{name}: expected at least [01], got {value}"):
        next(answer_files(question, ["a.off"], workers))


def test_wrong_weights_are_an_error_of_the_parent(folder: Path) -> None:
    with pytest.raises(ValueError, match="no such file, run folder or shipped weights"):
        list(answer_files(Question("nowhere"), [str(folder)], workers=1))
