"""A file is written whole or not at all."""

import os

import pytest

from sampled_transformer.support.atomic import atomic_write, check_target


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
