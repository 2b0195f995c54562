"""Tables of numbers to predict: how columns are found, and one clear line for everything that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from sampled_transformer.data import DataError
from sampled_transformer.data.targets import Targets, read_targets


def read(folder: Path, text: str, column: str | None = None) -> Targets:
    (folder / "t.csv").write_text(text, encoding="utf-8")
    return read_targets(folder / "t.csv", column)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("file,volume\na.off,0.5\nb/c.ply,-2e3\n", None),
        ("\ufefffile;volume\r\n\r\na.off;0.5\r\n./b/c.ply; -2000\r\n", None),
        ("volume\tName\n0.5\ta.off\n-2000\tb\\c.ply\n", None),
        ('what,volume\n"a.off","0.5"\nb/c.ply,-2000\n', None),
        ("id,path,mass,volume\n1,a.off,9,0.5\n2,b/c.ply,,-2000\n", "volume"),
    ],
)
def test_columns_are_found(tmp_path: Path, text: str, column: str | None) -> None:
    targets = read(tmp_path, text, column)
    assert targets.name == "volume"
    assert targets.values == {"a.off": 0.5, "b/c.ply": -2000.0}
    assert targets.problems == ()


def test_rows_that_cannot_be_used_are_named_and_the_others_kept(tmp_path: Path) -> None:
    text = "file,y\na.off,1\nb.off,tall\nc.off,nan\nd.off,1e999\ne.off,\nf.off,1,5\ng.off\n"
    targets = read(tmp_path, text)
    assert targets.values == {"a.off": 1.0, "b.off": None, "c.off": None, "d.off": None, "e.off": None}
    where = tmp_path / "t.csv"
    assert targets.problems == (
        f"{where}: line 3: expected a finite number for b.off, got 'tall'",
        f"{where}: line 4: expected a finite number for c.off, got 'nan'",
        f"{where}: line 5: expected a finite number for d.off, got '1e999'",
        f"{where}: line 6: expected a finite number for e.off, got ''",
        f"{where}: line 7: expected 2 cells, got 3",
        f"{where}: line 8: expected 2 cells, got 1",
    )


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("", None, "empty file"),
        ("\n\n", None, "expected a line with the names of the columns, such as 'file,volume', got nothing"),
        ("a.off,1\nb.off,2\n", None, "line 1: expected the names of the columns, .* got 'a.off,1'"),
        ("file\na.off\n", None, "line 1: expected at least two columns with different names, got file"),
        ("file,y,y\na.off,1,2\n", None, "line 1: expected at least two columns with different names, got file, y, y"),
        (
            "file,y,z\na.off,1,2\n",
            None,
            r"column: expected the one with the numbers, one of y, z, the columns of .*t\.csv, got none",
        ),
        ("file,mass,z\na.off,1,2\n", "mas", r"column: expected one of mass, z, .*, got mas; did you mean 'mass'\?"),
        ("file,y\na.off,1\n./a.off,1\n", None, "line 3: expected one row per file, got a second one for a.off"),
        ("file,y\na.off,tall\n", None, r"no numbers in the column 'y' \(line 2: expected a finite number for a.off"),
        ("file,y\n", None, r"no numbers in the column 'y' \(the table has no rows\)"),
        ("file," + ",".join(map(str, range(-1, 2))), None, "line 1: expected the names of the columns"),
        ("file," + ",".join(f"c{n}" for n in range(10**5)) + "\n", None, r"one of c0, .*\.\.\., the columns of"),
        ('file,y\n"a.off,1\n', None, "expected a CSV table in UTF-8, got something else"),
    ],
)
def test_tables_that_cannot_be_used(tmp_path: Path, text: str, column: str | None, message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        read(tmp_path, text, column)
    assert "\n" not in str(error.value)


def test_files_that_are_no_tables(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no\.csv: No such file"):
        read_targets(tmp_path / "no.csv")
    (tmp_path / "binary.csv").write_bytes(b"\x93\x00\xff")
    with pytest.raises(DataError, match=r"binary\.csv: expected a CSV table in UTF-8"):
        read_targets(tmp_path / "binary.csv")
