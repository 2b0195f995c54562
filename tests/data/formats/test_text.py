"""Clouds from text files: every separator, names above the numbers, and false headers."""

import numpy as np
import pytest

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.formats.text import names_in, parse_text, read_text, text_fields

TABLE = np.array([[0.5, 1, 2, 0, 0, 1], [3, 4, 5e-3, 0.6, 0.8, 0], [-6, 7, 8, 1, 0, 0]])


def text(table: np.ndarray, delimiter: str = " ") -> str:
    return "".join(delimiter.join(map(str, row)) + "\n" for row in table.tolist())


@pytest.mark.parametrize(
    ("content", "has_normals"),
    [
        (text(TABLE), True),
        (text(TABLE, ","), True),
        (text(TABLE, " , "), True),
        (text(TABLE, "\t  "), True),
        (text(TABLE, ";"), True),
        (text(TABLE, ";").replace(".", ","), True),
        (text(TABLE, ",").replace("\n", ",\r\n\r\n"), True),
        ("\ufeff" + text(TABLE[:, :3]), False),
        (text(TABLE[:, :4]), False),
        ("3\n" + text(TABLE[:, :3]), False),
        (text(np.hstack([TABLE[:, :3], TABLE[:, 3:] * 255])), False),
        (text(np.hstack([TABLE, TABLE])), True),
        ("x,y,z,nx,ny,nz\n" + text(TABLE, ","), True),
        ('"X";"Y";"Z";"Nx";"Ny";"Nz"\n' + text(TABLE, ";"), True),
        ("//X Y Z Normal_X Normal_Y Normal_Z\n" + text(TABLE), True),
        ("# a remark\nx y z nx ny nz\n# another\n" + text(TABLE), True),
        ("# first remark\n# second\n" + text(TABLE[:, :3]) + "# the end\n", False),
        ("normal_x normal_y normal_z x y z\n" + text(TABLE[:, [3, 4, 5, 0, 1, 2]]), True),
        ("id x y z\n" + text(np.hstack([[[7], [8], [9]], TABLE[:, :3]])), False),
        ("x y z red green blue\n" + text(np.hstack([TABLE[:, :3], TABLE[:, 3:] * 9])), False),
    ],
)
def test_text_forms(tmp_path, content, has_normals):
    path = tmp_path / "a.xyz"
    path.write_bytes(content.encode())
    cloud = read_text(path)
    np.testing.assert_allclose(cloud.points, TABLE[:, :3])
    if has_normals:
        np.testing.assert_allclose(cloud.normals, TABLE[:, 3:])
    else:
        assert cloud.normals is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\n\n", "expected at least one line of numbers"),
        ("# only remarks\n", "expected at least one line of numbers"),
        ("hello\nworld\n", "expected at most 1 line of text before the numbers, got 2"),
        ("1 2\n3 4\n", r"expected a table of shape \(n, 3\) or wider, got \(2, 2\)"),
        ("1 2 3\n4 5 6\n7 8\n", "line 3: expected 3 columns, got 2"),
        ("1,2,3\n\n4,5,6,7\n", "line 3: expected 3 columns, got 4"),
        ("1 2 3\n4 five 6\n", "line 2: expected numbers, got 'five'"),
        ("1 2 three\n4 5 6\n", "line 1: expected numbers, got 'three'"),
        ("1 2 3\n4,5,6\n", "line 2: expected numbers, got '4,5,6'"),
        ("9\n1 2 3\n4 5 6\n", "header claims 9 points, but 2 lines follow"),
        ("1 2 3\n\0\0\0\n", "binary data"),
    ],
)
def test_bad_text(tmp_path, content, message):
    (tmp_path / "a.txt").write_text(content)
    with pytest.raises(DataError, match=message):
        read_text(tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("1 2 3\n", ["x", "y", "z"]),
        ("1 2 3 9 9\n", ["x", "y", "z", "column_4", "column_5"]),
        ("1 2 3 0 0 1 5\n", ["x", "y", "z", "nx", "ny", "nz", "column_7"]),
        ("x,y,z,intensity\n1,2,3,4\n", ["x", "y", "z", "intensity"]),
        ("east north height class\n1 2 3 4\n", ["x", "y", "z", "class"]),  # a heading, so the first three are points
        ("# east north height class\n1 2 3 4\n", ["x", "y", "z", "column_4"]),  # a comment may be anything
        ("//X Y Z Class\n1 2 3 4\n", ["X", "Y", "Z", "Class"]),
        ("class x y z\n# by me\n4 1 2 3\n", ["class", "x", "y", "z"]),
        ('"X";"Y";"Z";"Echo No"\n1;2;3;4\n', ["X", "Y", "Z", "Echo No"]),
    ],
)
def test_names_of_columns(tmp_path, content, names):
    (tmp_path / "a.txt").write_text(content)
    assert list(text_fields(tmp_path / "a.txt")) == names


def test_columns_that_are_named_or_skipped(tmp_path):
    (tmp_path / "a.txt").write_text("a b c d e\n1 2 3 4 5\n6 7 8 9 10\n")
    fields = text_fields(tmp_path / "a.txt", ["label", "x", "_", "y", "z"])
    assert {name: values.tolist() for name, values in fields.items()} == {
        "label": [1, 6],
        "x": [2, 7],
        "y": [4, 9],
        "z": [5, 10],
    }
    with pytest.raises(DataError, match="columns: expected 5 names, one per column, got 3"):
        text_fields(tmp_path / "a.txt", ["x", "y", "z"])


def test_where_rows_and_names_are(tmp_path):
    (tmp_path / "a.txt").write_text("# remark\nx y z\n\n1 2 3\n# between\n4 5 6\n")
    text = parse_text(tmp_path / "a.txt")
    assert text.rows.tolist() == [4, 6]
    assert (text.heading, text.heading_at) == (["x", "y", "z"], 2)
    assert names_in(text) == (["x", "y", "z"], 2)
