"""Tables are made run by run, and go on where they stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sampled_transformer.cli import main
from sampled_transformer.tasks.studies import STUDIES, Study, reproduce, result_file, write_result

TINY = Study(
    "Tiny",
    "--data bricks --data.points 8 --epochs 1 --options.dim 8 --options.hidden 8",
    {"basic-none": 2, "basic-sampled": 1},
)


def test_first_seeds_come_first() -> None:
    assert TINY.runs() == [("basic-none", 0), ("basic-sampled", 0), ("basic-none", 1)]
    assert len(STUDIES["basic-bricks"].runs()) == 21
    assert len(STUDIES["basic-modelnet40"].runs()) == 14


def test_a_row_is_a_recipe_or_a_variant_of_one() -> None:
    study = Study("Two", "--epochs 1", {"basic-none": 1, "wide": 1}, {"wide": "basic-sampled --options.dim 8"})
    assert study.words("basic-none") == ["--recipe", "basic-none", "--epochs", "1"]
    assert study.words("wide") == ["--recipe", "basic-sampled", "--epochs", "1", "--options.dim", "8"]


def test_makes_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STUDIES, "tiny", TINY)
    results, runs = tmp_path / "results", tmp_path / "runs"
    there = result_file(results, "tiny", "basic-none", 0)
    there.parent.mkdir(parents=True)
    there.write_text("made before")
    lines = list(reproduce("tiny", results=results, runs=runs, workers=2))
    assert lines[0] == "tiny: 1 of 3 runs have their result"
    assert [line.partition(":")[0] for line in lines[1:]] == ["basic-sampled, seed 0", "basic-none, seed 1"]
    assert there.read_text() == "made before"
    result = json.loads(result_file(results, "tiny", "basic-none", 1).read_text())
    assert result["seed"] == 1
    assert result["attention"] == "none"
    assert result["figures"]["last epoch"]["epoch"] == 1
    assert not (runs / "tiny" / "basic-none-seed0").exists()
    # A finished run whose result was lost is not made again, only read.
    lost = result_file(results, "tiny", "basic-none", 1)
    lost.unlink()
    before = (runs / "tiny" / "basic-none-seed1" / "last.ckpt").stat().st_mtime_ns
    list(reproduce("tiny", results=results, runs=runs))
    assert json.loads(lost.read_text())["figures"] == result["figures"]
    assert (runs / "tiny" / "basic-none-seed1" / "last.ckpt").stat().st_mtime_ns == before


def test_a_run_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STUDIES, "tiny", Study("Tiny", "--data bricks --data.points 9999", {"basic-none": 1}))
    with pytest.raises(ValueError, match=r"basic-none-seed0: .*data.points: expected at most 512"):
        list(reproduce("tiny", results=tmp_path / "results", runs=tmp_path / "runs"))


def test_results_do_not_say_where_the_data_lies(tmp_path: Path) -> None:
    write_result(
        tmp_path / "a" / "b.json", {"command": "train --data.root '/home/me/my data' --seed 1"}, "/home/me/my data"
    )
    assert json.loads((tmp_path / "a" / "b.json").read_text())["command"] == "train --data.root ROOT --seed 1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "table: expected one of basic-bricks, basic-modelnet40, got 'nothing'"),
        (["basic-modelnet40"], "root: expected the folder that holds the data set of basic-modelnet40"),
        (["basic-bricks", "--workers", "0"], "workers: expected at least 1, got 0"),
    ],
)
def test_bad_requests(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tables", "make", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_list_and_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_result(result_file(tmp_path, "basic-bricks", "basic-none", 2), {"command": ""}, None)
    assert main(["tables", "list", "--results", str(tmp_path)]) == 0
    assert "20 epochs; 1 of 21 runs made" in capsys.readouterr().out
    page = tmp_path / "page.md"
    assert main(["tables", "page", "--results", str(tmp_path / "none"), "--page", str(page)]) == 0
    assert page.read_text("utf-8").startswith("# Results\n")
