"""A file is written whole or not at all."""

import os
import resource
from pathlib import Path

import pytest

from sampled_transformer.support.atomic import atomic_write, check_target, clear_leftovers


def test_the_file_appears_when_the_block_ends(tmp_path) -> None:
    path = tmp_path / "a.txt"
    with atomic_write(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")

    def stop_half_way() -> None:
        with atomic_write(path) as file:
            file.write(b"half of the new")
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        stop_half_way()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_name_of_full_length_still_has_room_for_its_temporary_file(tmp_path) -> None:
    path = tmp_path / ("n" * 255)
    with atomic_write(path) as file:
        file.write(b"x")
    assert path.read_bytes() == b"x"


def test_targets_are_refused_before_any_work(tmp_path) -> None:
    check_target("out", None, ".json")
    check_target("out", "a.JSON", ".json", ".csv")
    with pytest.raises(ValueError, match=r"out: expected a file name ending in \.json or \.csv, got 'a\.txt'"):
        check_target("out", "a.txt", ".json", ".csv")
    (tmp_path / "folder.csv").mkdir()
    for name in ("nowhere/a.csv", "folder.csv"):
        with pytest.raises(ValueError, match=r"out: expected a file in an existing folder, got '.*csv'"):
            check_target("out", str(tmp_path / name), ".json", ".csv")


def test_the_file_before_is_kept_if_wanted(tmp_path: Path) -> None:
    path, kept = tmp_path / "last", tmp_path / "previous"
    for text in (b"1", b"2", b"3"):
        with atomic_write(path, kept) as file:
            file.write(text)
    assert (path.read_bytes(), kept.read_bytes()) == (b"3", b"2")
    with pytest.raises(RuntimeError, match="stopped"), atomic_write(path, kept):
        raise RuntimeError("stopped")
    assert (path.read_bytes(), kept.read_bytes()) == (b"3", b"2")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["last", "previous"]


def test_the_file_before_is_kept_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no hard links here")

    monkeypatch.setattr(os, "link", refuse)
    path, kept = tmp_path / "last", tmp_path / "previous"
    for text in (b"1", b"2"):
        with atomic_write(path, kept) as file:
            file.write(text)
    assert (path.read_bytes(), kept.read_bytes()) == (b"2", b"1")


def test_a_full_disk_names_the_file(tmp_path: Path) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(OSError, match=r"File too large: '.*a\.txt'"), atomic_write(tmp_path / "a.txt") as file:
            file.write(b"more than ten letters")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert list(tmp_path.iterdir()) == []


def test_leftovers_are_cleared_and_nothing_else(tmp_path: Path) -> None:
    names = [".a.json.0123abcd.tmp", ".b.json.0123abcd.tmp", ".mine.tmp", "a.0123abcd.tmp", ".a.0123abcd.tmp.npz"]
    for name in names:
        (tmp_path / name).touch()
    clear_leftovers(tmp_path, "b.json")
    assert sorted(item.name for item in tmp_path.iterdir()) == sorted(set(names) - {names[1]})
    clear_leftovers(tmp_path)
    assert sorted(item.name for item in tmp_path.iterdir()) == sorted(names[2:])
    clear_leftovers(tmp_path / "nowhere")
