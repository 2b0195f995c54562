"""The commands `tables list | make | page` through the program."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sampled_transformer.cli import main
from sampled_transformer_lab.studies import STUDIES

RESULTS = Path(__file__).parents[3] / "results"


def test_every_table_is_listed_with_its_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tables", "list", "--results", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == list(STUDIES)
    assert lines[0].endswith(f"0 of {len(STUDIES['basic-bricks'].runs())} runs made")
    folder = tmp_path / "basic-bricks"
    folder.mkdir()
    (folder / "basic-none-seed0.json").write_text("{}")
    assert main(["tables", "list", "--results", str(tmp_path)]) == 0
    assert "; 1 of " in capsys.readouterr().out.splitlines()[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["basic-brick"], "table: expected one of "),
        (["basic-modelnet40"], "root: expected the folder that holds the data set"),
        (["basic-bricks", "--workers", "0"], "workers: expected at least 1, got 0"),
        (["basic-bricks", "--rows", "[basic-nothing]"], "rows: expected some of basic-none"),
    ],
)
def test_what_cannot_be_made(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tables", "make", *words, "--results", str(tmp_path / "r"), "--runs", str(tmp_path / "s")]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert not list(tmp_path.iterdir())


def test_a_table_that_is_made_needs_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(RESULTS / "calibration", tmp_path / "calibration")
    words = ["tables", "make", "calibration", "--root", str(tmp_path), "--results", str(tmp_path)]
    assert main([*words, "--runs", str(tmp_path / "runs")]) == 0
    assert capsys.readouterr().out == "calibration: 2 of 2 runs have their result\n"


def test_the_page_is_written_from_the_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "results.md"
    assert main(["tables", "page", "--results", str(RESULTS), "--page", str(page)]) == 0
    assert capsys.readouterr().out == f"{page}: written from {RESULTS}\n"
    assert STUDIES["basic-bricks"].title in page.read_text("utf-8")
