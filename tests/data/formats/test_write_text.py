"""Text with classes: every line stays as it was, with two more columns."""

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.formats.labelled import Labelled
from sampled_transformer.data.formats.text import text_fields
from sampled_transformer.data.formats.write_text import write_text

LABELLED = Labelled(np.array([1, 0], np.uint8), np.float32([0.5, 0.9]), {0: "ground", 1: "tree"})


def written(path: Path, content: str | bytes, labelled: Labelled = LABELLED) -> bytes:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    file = BytesIO()
    write_text(path, file, labelled)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("1 2 3\n4 5 6\n", "1 2 3 1 0.5\n4 5 6 0 0.9\n"),
        ("1 2 3\n4 5 6", "1 2 3 1 0.5\n4 5 6 0 0.9\n"),
        (" 1  2.50 3\r\n4 5 6\r\n", " 1  2.50 3 1 0.5\r\n4 5 6 0 0.9\r\n"),
        ("1\t2\t3\n4\t5\t6\n", "1\t2\t3\t1\t0.5\n4\t5\t6\t0\t0.9\n"),
        ("2\n1 2 3\n4 5 6\n", "2\n1 2 3 1 0.5\n4 5 6 0 0.9\n"),
        ("x,y,z\n1,2,3\n\n4,5,6,\n", "x,y,z,class,confidence\n1,2,3,1,0.5\n\n4,5,6,0,0.9\n"),
        ("x;y;z\n1,5;2;3\n4;5;6\n", "x;y;z;class;confidence\n1,5;2;3;1;0,5\n4;5;6;0;0,9\n"),
        (
            "# by me\n//X Y Z\n1 2 3\n4 5 6\n# end\n",
            "# by me\n//X Y Z class confidence\n1 2 3 1 0.5\n4 5 6 0 0.9\n# end\n",
        ),
        ("# made by me\n1 2 3\n4 5 6\n", "# made by me\n1 2 3 1 0.5\n4 5 6 0 0.9\n"),
        ("x y z Class\n1 2 3 7\n4 5 6 8\n", "x y z Class confidence\n1 2 3 1 0.5\n4 5 6 0 0.9\n"),
        ("x,confidence,y,class,z\n1,0,2,9,3\n4,0,5,9,6\n", "x,confidence,y,class,z\n1,0.5,2,1,3\n4,0.9,5,0,6\n"),
    ],
)
def test_lines(tmp_path: Path, content: str, expected: str) -> None:
    assert written(tmp_path / "a.txt", content).decode() == expected


def test_bytes_that_are_no_utf8_stay(tmp_path: Path) -> None:
    new = written(tmp_path / "a.txt", b"\xef\xbb\xbf# caf\xe9\n1 2 3\n4 5 6\n")
    assert new == b"\xef\xbb\xbf# caf\xe9\n1 2 3 1 0.5\n4 5 6 0 0.9\n"


def test_numbers_come_back(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    labelled = Labelled(random.integers(0, 2, 50), random.uniform(0, 1, 50).astype(np.float32), {0: "a", 1: "b"})
    points = random.normal(0, 1e6, (50, 3))
    content = "x y z\n" + "".join(f"{x!r} {y!r} {z!r}\n" for x, y, z in points.tolist())
    (tmp_path / "b.txt").write_bytes(written(tmp_path / "a.txt", content, labelled))
    fields = text_fields(tmp_path / "b.txt")
    np.testing.assert_array_equal(np.stack([fields[name] for name in "xyz"], 1), points)
    np.testing.assert_array_equal(fields["class"], labelled.labels)
    np.testing.assert_array_equal(fields["confidence"].astype(np.float32), labelled.confidence)


def test_colours_are_columns_too(tmp_path: Path) -> None:
    new = written(tmp_path / "a.csv", "x,y,z\n1,2,3\n4,5,6\n", LABELLED._replace(coloured=True))
    assert new.decode().splitlines()[:2] == ["x,y,z,class,confidence,red,green,blue", "1,2,3,1,0.5,213,94,0"]


def test_labels_must_be_as_many_as_points(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"labels: expected one per point \(3\), got 2"):
        written(tmp_path / "a.txt", "1 2 3\n4 5 6\n7 8 9\n")
