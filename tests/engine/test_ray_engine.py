"""A local Ray cluster of two workers, one per module: the same answers, whoever is killed. And it is local."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.engine_work import SlowAnswerActor, squares
from helpers.point_packs import save_segmenter
from helpers.trained import save_small

from sampled_transformer.cli import main
from sampled_transformer.engine.job import Failure, run_job
from sampled_transformer.engine.ray_engine import ray_cluster, run_on_ray
from sampled_transformer.inference.answer_job import answer_job, answer_table
from sampled_transformer.inference.answering import Question, answer_files
from sampled_transformer.support.workers import ProcessDied

pytest.importorskip("ray")
pyarrow = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
ENGINE = partial(run_on_ray, workers=2)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", ":".join(filter(None, sys.path)))  # so that its processes can import helpers
        with ray_cluster(workers=2) as ray:
            yield ray


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Clouds in two classes, and a broken file among them."""
    for number in range(24):
        path = tmp_path / "files" / "ab"[number % 2] / f"{number:02d}.xyz"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savetxt(path, np.random.default_rng(number).normal(size=(40, 3)) * [1, 0.7, 0.1 * number + 0.1])
    (tmp_path / "files" / "a" / "04.xyz").write_text("no numbers")
    return tmp_path / "files"


@pytest.fixture
def one_thread() -> Iterator[None]:
    """As in worker processes: the number of threads may change the last bit."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def table(folder: Path) -> Any:
    return pyarrow.concat_tables(pyarrow.parquet.read_table(path) for path in sorted(folder.glob("part-*.parquet")))


def descendants(process: int) -> set[int]:
    parents = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            parents[int(entry)] = int(Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has ended
            continue
    found = {process}
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def actors() -> list[int]:
    """The processes that Ray Data works in."""
    names = {one: Path(f"/proc/{one}/cmdline").read_bytes() for one in descendants(os.getpid()) - {os.getpid()}}
    return sorted(one for one, name in names.items() if name.startswith(b"ray::MapWorker"))


def test_every_unit_comes_once_though_a_worker_is_killed(cluster: Any) -> None:
    units = [[[10 * unit, 10 * unit + 1], [10 * unit + 2]] for unit in range(12)]
    units[7] = [[70, "kill", 72]]
    found: dict[int, Any] = {}
    killed = None
    for number, pairs in ENGINE(squares, units):
        assert number not in found
        found[number] = pairs
        if killed is None:
            killed = pairs[0][1][1]
            os.kill(killed, signal.SIGKILL)
    assert isinstance(found[7].pop(1)[1], ProcessDied)
    items = [item for number in range(12) for item, _ in found[number]]
    assert items == [item for unit in units for chunk in unit for item in chunk if item != "kill"]
    assert all(result[0] == item * item for pairs in found.values() for item, result in pairs)
    assert len({result[1] for pairs in found.values() for _, result in pairs}) >= 2


def test_an_error_of_the_work_is_that_of_the_caller(cluster: Any) -> None:
    with pytest.raises(ValueError, match="refused"):
        list(ENGINE(squares, [[["raise"]]]))
    assert list(ENGINE(squares, [])) == []


def test_predict_is_the_same_to_the_bit_though_a_worker_is_killed(
    cluster: Any, one_thread: None, files: Path, tmp_path: Path
) -> None:
    question = Question(str(save_small(tmp_path / "w.safetensors")), samples=2, batch=2)
    job = answer_job(question, shard=2)
    slow = replace(job, actor=partial(SlowAnswerActor, *job.actor.args))
    names = sorted(str(path) for path in files.rglob("*.xyz"))
    killed: list[int] = []

    def kills(work: Any, units: Iterable[Any]) -> Iterator[Any]:
        for number, pairs in ENGINE(work, units):
            if not killed:
                killed.append(actors()[0])
                os.kill(killed[0], signal.SIGKILL)
            yield number, pairs

    run_job(slow, names, tmp_path / "ray", kills)
    assert killed
    alone = [(one.file, one if one.error is None else Failure(one.error)) for one in answer_files(question, names, 0)]
    assert table(tmp_path / "ray") == answer_table(alone)
    assert len(alone) == 24


def test_the_commands_write_the_same_with_the_engine(
    cluster: Any, one_thread: None, files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = str(save_small(tmp_path / "w.safetensors", "basic-positions"))
    engine = ["--engine", "ray", "--workers", "2"]
    words = ["features", str(files / "**" / "*.xyz"), "--weights", weights, "--out"]
    assert main([*words, str(tmp_path / "features"), "--shard", "10", *engine]) == 1
    assert capsys.readouterr().out == f"{tmp_path}/features: 23 of 24 files in 3 parts\n"
    assert main([*words, str(tmp_path / "features.parquet")]) == 1
    assert table(tmp_path / "features") == pyarrow.parquet.read_table(tmp_path / "features.parquet")
    for name, more in (("ray", engine), ("here", [])):
        assert main(["data", "pack", str(files), str(tmp_path / name), "--points", "32", *more]) == 0
    ray, here = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("ray", "here"))
    assert ray == here
    assert sorted(ray) == ["test.npz", "train.npz"]
    assert not list(tmp_path.glob("*.partial"))


def test_scans_are_labelled_the_same_with_the_engine(
    cluster: Any, one_thread: None, files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And a job that lost a part, and a scan of it, makes only that part again."""
    weights = str(save_segmenter(tmp_path / "w.safetensors", attention="sampled"))
    words = ["segment", "predict", str(files / "**" / "*.xyz"), "--weights", weights, "--out"]
    assert main([*words, str(tmp_path / "here")]) == 1
    capsys.readouterr()
    ray = [*words, str(tmp_path / "ray"), "--engine", "ray", "--workers", "2", "--shard", "5"]
    assert main(ray) == 1
    assert capsys.readouterr().out == f"{tmp_path}/ray: 23 of 24 files in 5 parts\n"
    first = table(tmp_path / "ray")

    def scans(folder: Path) -> dict[str, bytes]:
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.xyz")}

    here = scans(tmp_path / "here")
    assert scans(tmp_path / "ray") == here
    assert len(here) == 23
    rows = first.to_pylist()
    assert [row["file"] for row in rows] == sorted(str(path) for path in files.rglob("*.xyz"))
    assert {row["out"] for row in rows if row["error"] is None} == {str(tmp_path / "ray" / name) for name in here}
    assert {row["points"] for row in rows} == {40, None}
    kept = (tmp_path / "ray" / "part-00000.parquet").stat().st_mtime_ns
    (tmp_path / "ray" / "part-00001.parquet").unlink()
    Path(rows[5]["out"]).unlink()
    assert main(ray) == 1
    assert "4 of 5 parts were finished by an earlier run" in capsys.readouterr().err
    assert scans(tmp_path / "ray") == here
    assert table(tmp_path / "ray") == first
    assert (tmp_path / "ray" / "part-00000.parquet").stat().st_mtime_ns == kept


def test_the_cluster_listens_on_this_machine_alone(cluster: Any) -> None:
    sockets = set()
    for process in descendants(os.getpid()):
        for link in Path(f"/proc/{process}/fd").iterdir():
            try:
                sockets.add(os.readlink(link).removeprefix("socket:[").removesuffix("]"))
            except OSError:  # closed meanwhile
                continue
    addresses = []
    for table in ("tcp", "tcp6"):
        rows = [line.split() for line in Path("/proc/net", table).read_text().splitlines()[1:]]
        addresses += [row[1].partition(":")[0] for row in rows if row[3] == "0A" and row[9] in sockets]
    assert addresses
    assert {address[-8:] for address in addresses} == {"0100007F"}  # 127.0.0.1, in tcp6 behind ::ffff:


def test_a_cluster_that_is_not_there(files: Path, tmp_path: Path) -> None:
    program = "import sys; from sampled_transformer.cli import main; sys.exit(main(sys.argv[1:]))"
    words = ["data", "pack", str(files), str(tmp_path / "out"), "--engine", "ray", "--address", "127.0.0.1:1"]
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "address: expected a Ray cluster that can be reached, got 127.0.0.1:1" in done.stderr
