"""Files that would take gigabytes or minutes, or the process with them, cost one line each."""

from __future__ import annotations

import lzma
import os
import sys
import threading
import time
import tokenize
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from helpers.hostile import HOSTILE

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.files import named_errors, only_data_errors, read_raw, read_shape
from sampled_transformer.data.guard import (
    Guard,
    current_limits,
    explain_death,
    guard_here,
    guarded,
    read_apart,
    read_each,
    read_file,
    read_pieces,
)
from sampled_transformer.data.scans import iter_scan_chunks, read_scan, scan_bounds
from sampled_transformer.support.limits import Limits
from sampled_transformer.support.workers import Announce, ProcessDied, run_in_order

linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited there")


# Readers that misbehave; the process that reads finds them by their module. ------------------------------------------


def who(path: Path) -> int:
    return os.getpid()


def hog(path: Path) -> int:
    return int(np.ones(400_000_000).sum())


def hog_in_a_library(path: Path) -> None:
    """What Rust does if it gets no memory."""
    try:
        np.ones(400_000_000)
    except MemoryError:
        os.abort()


def hang(path: Path) -> None:
    while True:
        pass


def wait(path: Path) -> str:
    """As long as a file takes on a machine that others use: more by the clock than it may compute."""
    time.sleep(1.5)
    return "read"


def sleep(path: Path) -> None:
    time.sleep(600)


def raises(path: Path, kind: str) -> None:
    kinds = {"TokenError": tokenize.TokenError, "LZMAError": lzma.LZMAError, "SystemError": SystemError}
    kinds |= {"RecursionError": RecursionError, "MemoryError": MemoryError, "TypeError": TypeError}
    with named_errors(str(path)), only_data_errors(path):
        raise kinds[kind]("two\nlines")


def raises_bare(path: Path) -> None:
    raise MemoryError


def by_name(path: Path, times: int) -> str:
    """Does what the file name says."""
    if path.stem == "bad":
        raise DataError(f"{path}: bad")
    if path.stem == "die":
        os._exit(3)
    if path.stem == "hang":
        time.sleep(600)
    return path.stem * times


def pieces(path: Path, count: int) -> Iterator[int]:
    yield from range(count)
    if path.name == "hang":
        hang(path)


# What comes of them ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def guard() -> Iterator[Guard]:
    with guarded(Limits(memory=1.0, seconds=60)) as own:
        yield own


def test_a_process_of_its_own_reads_and_stays(guard: Guard) -> None:
    first = read_file(who, Path("a"))
    assert first != os.getpid()
    assert read_file(who, Path("b")) == first
    assert current_limits() == Limits(memory=1.0, seconds=60)


@linux
def test_memory_is_limited(guard: Guard) -> None:
    with pytest.raises(DataError, match=r"^big\.las: reading it takes more than 1 GB of memory; --reading\.memory"):
        read_file(hog, Path("big.las"))
    with pytest.raises(DataError, match=r"^big\.laz: the process that read it died \(signal 6\); .* more than 1 GB"):
        read_file(hog_in_a_library, Path("big.laz"))
    assert read_file(who, Path("a")) != os.getpid()


def test_time_is_limited() -> None:
    with guarded(Limits(seconds=1.0)):
        with pytest.raises(DataError, match=r"^slow\.obj: reading it takes more than 1 s; --reading\.seconds allows"):
            read_file(hang, Path("slow.obj"))
        assert read_file(who, Path("a")) != os.getpid()


def test_a_file_that_waits_for_the_processor_is_read() -> None:
    with guarded(Limits(seconds=1.0)):
        assert read_file(wait, Path("good.obj")) == "read"


def test_a_file_that_only_waits_is_given_up() -> None:
    with guarded(Limits(seconds=0.2)), pytest.raises(DataError, match=r"^pipe\.obj: reading it takes more than 0\.2 s"):
        read_file(sleep, Path("pipe.obj"))


@pytest.mark.parametrize("kind", ["TokenError", "LZMAError", "SystemError", "RecursionError", "TypeError"])
def test_any_error_is_one_line_that_names_the_file(guard: Guard, kind: str) -> None:
    with pytest.raises(DataError) as error:
        read_file(raises, Path("a.npy"), kind)
    assert str(error.value) == f"a.npy: damaged NPY file ({kind}: two lines)"


def test_a_lack_of_memory_is_one_line_too(guard: Guard) -> None:
    for read in (
        lambda: read_file(raises, Path("a.npy"), "MemoryError"),
        lambda: read_file(raises_bare, Path("a.npy")),
    ):
        with pytest.raises(DataError, match=r"^a\.npy: reading it takes more than 1 GB of memory"):
            read()


def test_pieces(guard: Guard) -> None:
    assert list(read_pieces(pieces, Path("a"), 3)) == [0, 1, 2]
    with guarded(Limits(seconds=1.0)), pytest.raises(DataError, match=r"^hang: reading it takes more than 1 s"):
        list(read_pieces(pieces, Path("hang"), 3))


def test_many_files_each_have_a_result(guard: Guard) -> None:
    requests = [(Path(name), 2) for name in ("a", "bad", "b", "die", "c.glb", "die.ply", "d")]
    found = list(read_each(by_name, requests))
    assert [one for one in found if isinstance(one, str)] == ["aa", "bb", "cc", "dd"]
    assert [str(found[1]), found[1].__class__] == ["bad: bad", DataError]
    for number, name in ((3, "die"), (5, "die.ply")):
        assert str(found[number]).startswith(f"{name}: the process that read it died (exit code 3); ")
    assert list(read_each(by_name, [])) == []


def test_one_process_reads_many_files(guard: Guard) -> None:
    here = read_file(who, Path("a"))
    assert list(read_each(who, [(Path("a"),), (Path("b"),)])) == [here, here]
    results = read_each(who, [(Path("a"),), (Path("b"),)])
    assert [next(results), next(results)] == [here, here]
    results.close()  # type: ignore[attr-defined]
    assert read_file(who, Path("a")) == here


def test_of_many_files_the_one_that_hangs_is_named() -> None:
    with guarded(Limits(seconds=1.0)):
        found = list(read_each(by_name, [(Path("a"), 1), (Path("hang"), 1), (Path("b"), 1)]))
    assert found[::2] == ["a", "b"]
    assert str(found[1]).startswith("hang: reading it takes more than 1 s; --reading.seconds allows more")


def test_large_files_keep_limits_of_their_own(tmp_path: Path) -> None:
    """A small file beside a large one, which has more time, is still ended after the time of a small one."""
    large, hangs = tmp_path / "large", tmp_path / "hang"
    with open(large, "wb") as file:
        file.truncate(2 * 10**9)  # a thousand seconds, and no bytes on the disk
    hangs.write_bytes(b"x")
    with guarded(Limits(seconds=0.5)):
        found = list(read_each(by_name, [(large, 1), (hangs, 1)]))
    assert found[0] == "large"
    assert str(found[1]).startswith(f"{hangs}: reading it takes more than 0.5 s")


def test_who_stops_asking_ends_the_process(guard: Guard) -> None:
    first = read_file(who, Path("a"))
    results = read_each(who, [(Path("a"),)] * 50)
    assert next(results) == first
    results.close()  # type: ignore[attr-defined]
    assert read_file(who, Path("a")) != first


def test_threads_read_side_by_side(guard: Guard) -> None:
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(read_file(who, Path("a")))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert os.getpid() not in found


def test_without_a_guard_files_are_read_here() -> None:
    with guarded():
        pass
    from sampled_transformer.data import guard as subject

    before, subject._guard = subject._guard, None
    try:
        assert read_file(who, Path("a")) == os.getpid()
        assert current_limits() == Limits()
        assert read_apart(who, Path("a")) != os.getpid()
        found = list(read_each(by_name, [(Path("a"), 2), (Path("bad"), 2)]))
        assert (found[0], str(found[1])) == ("aa", "bad: bad")
    finally:
        subject._guard = before


def read_in_a_worker(chunk: list[str], announce: Announce) -> list[str]:
    guard_here(Limits(memory=1.0, seconds=1.0), expendable=True)
    found = []
    for number, name in enumerate(chunk):
        announce(number)
        try:
            function = {"hog": hog, "hang": hang, "wait": wait, "who": who}[name]
            found.append(str(read_file(function, Path(name)) == os.getpid() or name == "wait"))
        except DataError as error:
            found.append(str(error))
    return found


@linux
def test_a_process_that_may_die_reads_itself() -> None:
    answers = [answer for _, answer in run_in_order(read_in_a_worker, [["who", "hog", "hang", "wait", "who"]], 1)]
    assert answers[0] == answers[3] == answers[4] == "True"
    assert answers[1].startswith("hog: reading it takes more than 1 GB")
    assert isinstance(answers[2], ProcessDied)
    line = explain_death(str(answers[2]), Path("hang"), Limits(seconds=1.0))
    assert line == "hang: reading it takes more than 1 s; --reading.seconds allows more"
    assert "died (signal 9)" in explain_death("signal 9", Path("a"), Limits())


def test_the_same_points_here_and_there(guard: Guard, tmp_path: Path) -> None:
    table = np.random.default_rng(0).normal(size=(500, 4))
    np.save(tmp_path / "a.npy", table)
    with pytest.warns(UserWarning, match="column 4 not used"):
        apart = read_shape(tmp_path / "a.npy", points=64, normals="estimate")
    assert apart.estimated
    assert np.array_equal(read_raw(tmp_path / "a.npy")[0], table[:, :3])
    assert np.array_equal(read_scan(tmp_path / "a.npy").features["column_4"], table[:, 3])
    with pytest.raises(DataError, match=r"none\.npy: No such file"):
        read_shape(tmp_path / "none.npy")


def test_scans_in_pieces(guard: Guard, tmp_path: Path) -> None:
    laspy = pytest.importorskip("laspy")
    file = laspy.LasData(laspy.LasHeader(point_format=3, version="1.2"))
    file.x, file.y, file.z = np.random.default_rng(0).normal(size=(3, 50)) * 100
    file.write(str(tmp_path / "a.las"))
    assert scan_bounds(tmp_path / "a.las").count == 50
    assert [len(scan) for scan in iter_scan_chunks(tmp_path / "a.las", 20)] == [20, 20, 10]
    assert read_scan(tmp_path / "a.las").points.shape == (50, 3)


# Files made by hand ---------------------------------------------------------------------------------------------------

OUTCOMES = {
    "strides": "meshes with 79,920,000 vertices need about 16 GB, more than 0.3 GB of memory",
    "nodes": "too large a tree: 20,000 nodes, nested up to 19,999 deep",
    "instances": "10,000 nodes with 300,000,000 vertices need about 60 GB",
    "layers": "damaged LAZ data: a chunk claims layers of",
    "claimed_points": "damaged LAZ file",
    "blank_text": None,
    "compressed_arrays": "arrays of 12,000,000 bytes with 4,000,000 rows need about",
    "narrow_integers": "arrays of 12,000,000 bytes with 4,000,000 rows need about",
    "ragged_lists": None,
    "materials": None,
    "solids": None,
}


@linux
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_read_or_refused_within_their_limits(name: str, tmp_path: Path) -> None:
    if name in ("layers", "claimed_points"):
        pytest.importorskip("lazrs")
    path = HOSTILE[name](tmp_path)
    expected = OUTCOMES[name]
    with guarded(Limits(memory=0.3)):
        if expected is None:
            assert len(read_shape(path, points=32).points) == 32
            return
        with pytest.raises(DataError) as error:
            read_shape(path, points=32)
    assert str(error.value).startswith(f"{path}: ")
    assert expected in str(error.value)
