"""Jobs: parts and a manifest, going on after a stop, refusing another job, and failures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.engine_work import LengthActor, length_table

from sampled_transformer.engine.engines import run_here
from sampled_transformer.engine.job import Job, Summary, run_job

parquet = pytest.importorskip("pyarrow.parquet")
ENGINE = partial(run_here, workers=1)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "in").mkdir()
    names = [tmp_path / "in" / f"{number} é.txt" for number in range(11)]
    for number, name in enumerate(names):
        name.write_text("bad" if number == 4 else "x" * number)
    return list(map(str, names))


@pytest.fixture
def job(tmp_path: Path) -> Job:
    (tmp_path / "made").mkdir()
    return Job("count", {"unit": "letter"}, partial(LengthActor, str(tmp_path / "made")), length_table, 2, 4)


def rows(out: Path) -> list[dict[str, Any]]:
    return [row for path in sorted(out.glob("part-*.parquet")) for row in parquet.read_table(path).to_pylist()]


def test_answers_are_in_parts_and_the_manifest_tells_of_them(job: Job, files: list[str], tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    done = run_job(job, files, out, ENGINE)
    assert done == Summary(11, 1, 3, 0, {files[4]: f"{files[4]}: bad"})
    assert rows(out) == [{"file": name, "length": n} for n, name in enumerate(files) if n != 4]
    assert len(list((tmp_path / "made").iterdir())) == 1  # loaded once
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["complete"] is True
    assert manifest["settings"] == {"unit": "letter"}
    assert manifest["parts"][1:] == [
        {"name": "part-00001.parquet", "lines": [5, 8], "rows": 3, "failed": 1},
        {"name": "part-00002.parquet", "lines": [9, 11], "rows": 3, "failed": 0},
    ]
    assert manifest["failures"] == done.failures
    assert (out / "files.list").read_text().splitlines() == files


def test_a_stopped_job_goes_on_and_answers_each_file_once(job: Job, files: list[str], tmp_path: Path) -> None:
    asked: list[str] = []

    def stops(work: Any, units: Iterable[list[list[str]]]) -> Iterator[Any]:
        for number, pairs in ENGINE(work, units):
            if number == 1:
                raise KeyboardInterrupt
            asked.extend(name for name, _ in pairs)
            yield number, pairs

    def counts(work: Any, units: Iterable[list[list[str]]]) -> Iterator[Any]:
        for number, pairs in ENGINE(work, units):
            asked.extend(name for name, _ in pairs)
            yield number, pairs

    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run_job(job, files, out, stops)
    assert json.loads((out / "manifest.json").read_text())["complete"] is False
    first = (out / "part-00000.parquet").read_bytes()
    (out / ".part-00001.parquet.1234.tmp").write_bytes(b"half")
    (out / "part-00002.parquet").write_bytes(first[:100])  # damaged, so it is made again
    assert run_job(job, files, out, counts).earlier == 1
    assert asked == files
    assert (out / "part-00000.parquet").read_bytes() == first
    whole = tmp_path / "whole"
    run_job(job, files, whole, ENGINE)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == {
        path.name: path.read_bytes() for path in whole.iterdir()
    }
    assert run_job(job, files, out, counts) == Summary(11, 1, 3, 3, {files[4]: f"{files[4]}: bad"})
    assert asked == files


def test_another_job_is_refused_and_changes_nothing(job: Job, files: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    run_job(job, files, out, ENGINE)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    for other, names, what in (
        (replace(job, settings={"unit": "word"}), files, "unit letter, got word"),
        (replace(job, command="weigh"), files, "command count, got weigh"),
        (replace(job, shard=2), files, "shard 4, got 2"),
        (job, files[:-1], "its 11 files, got 10, or others"),
        (job, files[::-1], "its 11 files, got 11, or others"),
    ):
        with pytest.raises(ValueError, match=f"out: expected the job of .*/out with {what}; choose another folder"):
            run_job(other, names, out, ENGINE)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_folders_that_are_not_ours(job: Job, files: list[str], tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"out: expected a new folder or that of the same job, got .*/in with other files"
    ):
        run_job(job, files, tmp_path / "in", ENGINE)
    with pytest.raises(ValueError, match=r"out: expected a folder, got the file .*/0 é.txt"):
        run_job(job, files, files[0], ENGINE)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text("[1]")
    with pytest.raises(ValueError, match=r"manifest.json: not the manifest of a job; expected format 1"):
        run_job(job, files, tmp_path / "out", ENGINE)
    for names, what in (([], "at least one, got none"), (["a\nb"], r"names without line breaks, got a\\nb")):
        with pytest.raises(ValueError, match=f"files: expected {what}"):
            run_job(job, names, tmp_path / "none", ENGINE)
    assert not (tmp_path / "none").exists()
    with pytest.raises(ValueError, match="shard: expected a multiple of batch, which is 2, got 3"):
        run_job(replace(job, shard=3), files, tmp_path / "none", ENGINE)


def test_a_file_that_kills_its_reader_is_a_failure(job: Job, files: list[str], tmp_path: Path) -> None:
    Path(files[2]).write_text("kill")
    done = run_job(job, files, tmp_path / "out", ENGINE)
    assert list(done.failures) == [files[2], files[4]]
    reason = "the process that read it died (signal 9); the file may be damaged or too large for memory"
    assert done.failures[files[2]] == f"{files[2]}: {reason}"
    assert [row["length"] for row in rows(tmp_path / "out")] == [0, 1, 3, 5, 6, 7, 8, 9, 10]
