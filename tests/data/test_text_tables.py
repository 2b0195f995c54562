"""Tables of numbers in text files: blanks of all kinds, and every kind of broken line with the name of its file."""

import numpy as np
import pytest

from sampled_transformer.data import DataError
from sampled_transformer.data.guard import guarded
from sampled_transformer.data.text_tables import read_table
from sampled_transformer.support.limits import Limits
from sampled_transformer.support.memory import CAN_LIMIT


@pytest.mark.parametrize("text", [b"1 2 3\n-4.5 5e1 6\n", b"1\t2  3\r\n-4.5 50 6", b" 1 2\x103 \n\n-4.5 50\xff6\n"])
def test_numbers_between_blanks(tmp_path, text):
    (tmp_path / "a.txt").write_bytes(text)
    table = read_table(tmp_path / "a.txt", "x y z")
    assert table.dtype == np.float32
    assert table.tolist() == [[1, 2, 3], [-4.5, 50, 6]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", r"a\.txt: expected lines x y z \(empty file\)"),
        (b" \n\n", r"a\.txt: expected lines x y z \(no numbers\)"),
        (b"1 2\n", r"a\.txt: expected lines x y z, got a table of shape \(1, 2\)"),
        (b"1 2 3 4\n", r"a\.txt: expected lines x y z, got a table of shape \(1, 4\)"),
        (b"1 2 3\n1 2\n", r"a\.txt: expected lines x y z \(.*row 2"),
        (b"1 2 3\n1 b 3\n", r"a\.txt: expected lines x y z \(could not convert string 'b'"),
        (b"1 2 3\n1 nan 3\n", r"a\.txt: expected finite numbers, got NaN or infinity in line 2"),
    ],
)
def test_broken_files_are_named(tmp_path, text, message):
    (tmp_path / "a.txt").write_bytes(text)
    with pytest.raises(DataError, match=message) as error:
        read_table(tmp_path / "a.txt", "x y z")
    assert "\n" not in str(error.value)


@pytest.mark.skipif(not CAN_LIMIT, reason="memory is limited on Linux")
def test_a_table_is_read_within_its_limits(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"1 2 3\n" * 1_000_000)
    with guarded(Limits(memory=0.02)), pytest.raises(DataError, match=r"a\.txt: reading it takes more than 0\.02 GB"):
        read_table(tmp_path / "a.txt", "x y z")
    with guarded(Limits(memory=1.0)):
        assert read_table(tmp_path / "a.txt", "x y z").shape == (1_000_000, 3)


def test_what_is_no_file(tmp_path):
    for path in (tmp_path, tmp_path / "b.txt"):
        with pytest.raises(DataError, match=r"expected lines x y z \("):
            read_table(path, "x y z")
