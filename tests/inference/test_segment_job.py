"""Labelled scans by a job: those of `segment predict`, with its fields in the parts."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.point_packs import save_segmenter

from sampled_transformer.engine.job import MANIFEST, Failure
from sampled_transformer.inference.segment_files import SegmentQuestion, label_place, load_segmenter
from sampled_transformer.inference.segment_job import SegmentActor, label_table, segment_job
from sampled_transformer.inference.segment_targets import job_outputs

pytest.importorskip("pyarrow")


@pytest.fixture
def question(tmp_path: Path) -> SegmentQuestion:
    return SegmentQuestion(str(save_segmenter(tmp_path / "w.safetensors")))


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Two scans, a broken one between them, one that is not there, and one that cannot have a result."""
    for number in range(3):
        np.savetxt(tmp_path / f"{number}.txt", np.random.default_rng(number).normal(size=(70, 3)))
    (tmp_path / "1.txt").write_text("no numbers")
    (tmp_path / "4.obj").write_text("v 0 0 0\n")
    return [str(tmp_path / name) for name in ("0.txt", "1.txt", "2.txt", "3.txt", "4.obj")]


def test_a_table_has_the_fields_of_the_answers(question: SegmentQuestion, files: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    job = segment_job(question, job_outputs(files, out), str(out))
    out.mkdir()
    (out / MANIFEST).touch()
    announced: list[int | None] = []
    found = job.actor()(files, announced.append)
    assert announced == [0, 1, 2, 3, 4]
    reasons = [one.reason if isinstance(one, Failure) else None for one in found]
    assert [reason is None for reason in reasons] == [True, False, True, False, False]
    for name, reason in zip(files, reasons, strict=True):
        assert reason is None or reason.startswith(f"{name}: ")
    rows = job.table(list(zip(files, found, strict=True))).to_pylist()
    assert [row["error"] for row in rows] == reasons
    assert rows[1] | {"error": None} == dict.fromkeys(rows[1]) | {"file": files[1]}
    alone = label_place(load_segmenter(question), Path(files[2]), tmp_path / "2-alone.txt", question, lambda _: None)
    expected = asdict(alone) | {"error": None, "out": str(out / "2.txt")}
    expected["classes"] = [{"class": name, "points": count} for name, count in alone.classes.items()]
    assert rows[2] == expected
    assert (out / "2.txt").read_bytes() == (tmp_path / "2-alone.txt").read_bytes()
    assert sorted(path.name for path in out.iterdir()) == ["0.txt", "2.txt", MANIFEST]
    assert label_table([]).schema == job.table([(files[1], Failure("why"))]).schema


def test_a_remote_scan_has_the_labels_of_its_copy(question: SegmentQuestion, files: list[str], tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    out = tmp_path / "out"
    out.mkdir()
    (out / MANIFEST).touch()
    urls = [f"file://{name}" for name in files[:2]]
    found: list[Any] = segment_job(question, job_outputs(urls, out), str(out)).actor()(urls, lambda _: None)
    assert (found[0].file, found[0].out) == (urls[0], str(out / "0.txt"))
    assert found[1].reason.startswith(f"{urls[1]}: ")
    label_place(load_segmenter(question), Path(files[0]), tmp_path / "alone.txt", question, lambda _: None)
    assert (out / "0.txt").read_bytes() == (tmp_path / "alone.txt").read_bytes()


def test_other_weights_and_a_folder_that_is_not_shared_are_refused(
    question: SegmentQuestion, files: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    job = segment_job(question, job_outputs(files, out), str(out))
    with pytest.raises(ValueError, match="out: expected a folder that every machine sees, got "):
        job.actor()
    assert not out.exists()
    out.mkdir()
    (out / MANIFEST).touch()
    assert isinstance(job.actor(), SegmentActor)
    save_segmenter(tmp_path / "w.safetensors", neighbours=4)
    with pytest.raises(ValueError, match=r"weights: expected the same file .* on every machine"):
        job.actor()
    with pytest.raises(ValueError, match="shard: expected at least 1, got 0"):
        segment_job(question, {}, str(out), shard=0)


def test_a_job_knows_where_its_results_go(question: SegmentQuestion, files: list[str], tmp_path: Path) -> None:
    """The same files, named in two ways, have other results."""
    out = tmp_path / "out"
    (tmp_path / "deep").mkdir()
    Path(files[0]).rename(tmp_path / "deep" / "0.txt")
    found = [job_outputs([str(place)], out) for place in (tmp_path / "*" / "0.txt", tmp_path / "deep" / "0.txt")]
    assert list(found[0]) == list(found[1])
    jobs = [segment_job(question, outputs, str(out)) for outputs in found]
    assert jobs[0].settings != jobs[1].settings
