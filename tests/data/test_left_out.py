from __future__ import annotations

import pytest

from sampled_transformer.data.left_out import total_left_out


def test_reasons_are_counted_the_most_frequent_first() -> None:
    problems = [
        "a.off: empty file",
        "b.off: header claims 9 vertices and 9 faces, but only 0 lines follow",
        "c.stl: truncated: no endsolid",
        "d.ply: No such file or directory",
    ]
    assert total_left_out(problems, 8) == "4 of 12 files left out: 2 damaged, 1 empty, 1 missing"


@pytest.mark.parametrize(
    ("problem", "kind"),
    [
        ("empty file.off: damaged OFF file", "damaged"),  # only the reason counts, not the path
        ("a.step: unknown format '.step'; known formats: .off", "of unknown format"),
        ("a.off: Permission denied", "not permitted"),
        ("a.off: a link that leads out of the folder, not followed", "behind links"),
        ("a.off: not in a class folder", "outside the class folders"),
        ("a.off: same name as a.ply, which is used instead", "of the same name as others"),
        ("a.off: points: expected at least 2 different points, got 1", "without a shape"),
        ("a.off: the process that read it died (killed by SIGKILL); the file may be damaged", "fatal to their reader"),
    ],
)
def test_kinds(problem: str, kind: str) -> None:
    assert total_left_out([problem], 1) == f"1 of 2 files left out: 1 {kind}"


def test_what_is_no_file_does_not_count() -> None:
    problems = ["folder: class 'chair' has no readable file", "t.csv: no shape a.off below folder"]
    assert total_left_out(problems, 3) == ""
    assert total_left_out(["t.csv: line 3: expected 2 cells, got 1", "a.off: no row in t.csv"], 3) == (
        "1 of 4 files left out: 1 without a number"
    )
    assert total_left_out([], 3) == ""
