"""The commands `tables list | make | check | page` through the program."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from sampled_transformer.cli import main
from sampled_transformer_lab.pages.results import README
from sampled_transformer_lab.studies import STUDIES
from sampled_transformer_lab.study import Row, Study

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
        (["basic-bricks", "--rows", "[basic-nothing]"], "rows: expected one of basic-dense"),
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
    assert capsys.readouterr().out == (
        "calibration: 2 of 2 runs have their result; --fresh makes them anew, `tables check` compares one seed\n"
    )


def test_check_tells_equal_from_different(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = "--data bricks --data.points 8 --epochs 1 --options.dim 8 --options.hidden 8"
    monkeypatch.setitem(STUDIES, "tiny", Study("Tiny", {"basic-none": Row(f"train --recipe basic-none {small}")}))
    monkeypatch.chdir(tmp_path)
    assert main(["tables", "check", "tiny"]) == 2
    assert "basic-none-seed0.json: expected a result to compare with, got no such file" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert main(["tables", "make", "tiny"]) == 0
    kept = tmp_path / "results" / "tiny" / "basic-none-seed0.json"
    before = kept.read_text()
    assert main(["tables", "check", "tiny"]) == 0
    output = capsys.readouterr().out
    assert "tiny: 1 run to make anew in runs/check-1/tiny\n" in output
    assert "difference +0.00 " in output
    assert "agrees: all figures are equal\n1 of 1 rows agree. " in output
    assert kept.read_text() == before
    result = json.loads(before)
    result["figures"]["last epoch"]["test_accuracy"] = 1.0
    kept.write_text(json.dumps(result))
    assert main(["tables", "check", "tiny", "--runs", "runs/check-1"]) == 1  # reads the finished run again
    output = capsys.readouterr().out
    assert "basic-none: kept 100.00 %" in output
    assert "DIFFERS\n0 of 1 rows agree. " in output


@pytest.mark.parametrize("kept", [[], ["notes.json"]])
def test_without_results_there_are_no_pages(
    kept: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pages, results = tmp_path / "pages", tmp_path / "results"
    pages.mkdir()
    (pages / "basic-bricks.md").write_text("kept")
    results.mkdir()
    for name in kept:
        (results / name).write_text("{}")
    assert main(["tables", "page", "--results", str(results), "--page", str(pages)]) == 2
    message = f"results: expected a folder with results of `tables make`, got {results} without any"
    assert capsys.readouterr().err == f"sampled-transformer: error: {message}\n"
    assert [path.read_text() for path in pages.iterdir()] == ["kept"]


def test_the_pages_are_written_from_the_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results, folder = tmp_path / "results", tmp_path / "deep" / "pages"
    (results / "order").mkdir(parents=True)
    result = {"weights": "bricks", "shapes": 4, "points": 8, "shuffles": 1, "changed": {"one pass": 0.25}}
    result |= {
        "accuracy": {"one pass": 0.5},
        "by_points": {"changed": {"one pass": 0.0}, "accuracy": {"one pass": 0.5}},
    }
    (results / "order" / "bricks.json").write_text(json.dumps({**result, "command": "python -m order"}))
    assert main(["tables", "page", "--results", str(results), "--page", str(folder)]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["index.md", "point-order.md"]
    assert "(point-order.md)" in (folder / "index.md").read_text("utf-8")
    assert "| one pass | 25.0 | 50.0 | 0.0 | 50.0 |" in (folder / "point-order.md").read_text("utf-8")
    assert capsys.readouterr().out == f"{folder}: 2 pages written from {results}\n"


def test_other_results_do_not_remove_the_pages_of_the_usual_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(RESULTS / "agreement", tmp_path / "other" / "agreement")
    pages, readme = tmp_path / "docs" / "results", tmp_path / "README.md"
    pages.mkdir(parents=True)
    readme.write_text(f"{README[0]}old\n{README[1]}")
    (pages / "basic-bricks.md").write_text("kept")
    assert main(["tables", "page", "--results", "other"]) == 2
    lost = "docs/results has 1 page that other has no results for"
    assert f"page: expected --page with the folder to write, because {lost}" in capsys.readouterr().err
    assert [path.name for path in pages.iterdir()] == ["basic-bricks.md"]
    assert "old" in readme.read_text()
    assert main(["tables", "page", "--results", "other", "--page", "docs/results"]) == 0
    assert capsys.readouterr().out == f"docs/results: 2 pages written from other, and the claims in {readme}\n"
    assert sorted(path.name for path in pages.iterdir()) == ["agreement.md", "index.md"]
    assert "old" not in readme.read_text()


def test_help_says_that_it_writes_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["tables", "page", "--help"])
    help_text = " ".join(capsys.readouterr().out.split())
    assert "Folder to write" in help_text
    assert "docs/results" in help_text
