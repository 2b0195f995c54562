"""Lists of names: a damaged or hostile one costs one line, wherever it is read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sampled_transformer.data import DataError
from sampled_transformer.data.guard import guarded
from sampled_transformer.data.name_lists import LARGEST, read_names, read_words
from sampled_transformer.support.limits import Limits
from sampled_transformer.support.memory import CAN_LIMIT


@pytest.fixture(scope="module", params=["here", "apart"])
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "here":
        yield request.param
        return
    with guarded(Limits(memory=0.5)):
        yield request.param


def test_words_and_names(place: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("chair_1\r\nbänk_2 \n\xa0x".encode())
    assert read_words(tmp_path / "a.txt") == ["chair_1", "bänk_2", "x"]
    (tmp_path / "a.json").write_text('["a", "b/c"]')
    assert read_names(tmp_path / "a.json") == ["a", "b/c"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[" * 200_000, r"not JSON \("),
        (b"[1", r"not JSON \("),
        (b"\xff\xfe[", r"not JSON \("),
        (b'{"a": 1}', r"expected a list of names, got dict"),
        (b'["a", 7]', r"expected a list of names, got list"),
        (b"", r"empty file"),
    ],
)
def test_what_is_no_list_of_names(place: str, tmp_path: Path, text: bytes, message: str) -> None:
    (tmp_path / "a.json").write_bytes(text)
    with pytest.raises(DataError, match=rf"^{tmp_path / 'a.json'}: {message}") as error:
        read_names(tmp_path / "a.json")
    assert str(error.value).isprintable()


def test_what_is_no_file(place: str, tmp_path: Path) -> None:
    with open(tmp_path / "large", "wb") as file:
        file.truncate(LARGEST + 1)
    for name, message in {"none": "No such file", ".": "not a regular file", "large": "file too large"}.items():
        for read in (read_words, read_names):
            with pytest.raises(DataError, match=message):
                read(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")
    with pytest.raises(DataError, match="not a regular file"):
        read_words(tmp_path / "a.txt")


@pytest.mark.skipif(not CAN_LIMIT, reason="memory is limited on Linux")
def test_names_that_would_take_gigabytes(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"[" + b"{}," * 10_000_000 + b"0]")
    with guarded(Limits(memory=0.3)), pytest.raises(DataError, match=r"a\.json: reading it takes more than 0\.3 GB"):
        read_names(tmp_path / "a.json")
