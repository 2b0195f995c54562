"""Tables are made run by run, and the same command continues where it stopped."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Event

import pytest

from sampled_transformer.cli import main
from sampled_transformer_lab.reproduce import Place, headline, reproduce, result_file, side_by_side, words, write_result
from sampled_transformer_lab.studies import STUDIES, Row, Study

SMALL = "--data bricks --data.points 8 --epochs 1 --options.dim 8 --options.hidden 8"
TINY = Study(
    "Tiny",
    {
        "basic-none": Row(f"train --recipe basic-none {SMALL}", 2),
        "basic-sampled": Row(f"train --recipe basic-sampled {SMALL}"),
    },
)


def test_the_command_of_a_run(tmp_path: Path) -> None:
    study = Study(
        "Two",
        {
            "one": Row("train --data.root {root}"),
            "two": Row("probe {runs}/one-seed0", prints=True),
            "three": Row("evaluate one-seed{seed}", prints=True, seeded=False),
        },
    )
    place = Place("two", runs=tmp_path / "my runs", root="my data")
    out = tmp_path / "my runs" / "two" / "one-seed1"
    expected = ["train", "--data.root", "my data", "--seed", "1", "--out", str(out)]
    assert words(study, place, "one", 1) == expected
    out.mkdir(parents=True)
    (out / "config.yaml").touch()
    assert words(study, place, "one", 1) == [*expected, "--resume"]
    first = str(tmp_path / "my runs" / "two" / "one-seed0")
    assert words(study, place, "two", 0) == ["probe", first, "--seed", "0", "--json"]
    assert words(study, place, "three", 0) == ["evaluate", "one-seed0", "--json"]


def test_a_row_that_needs_another_comes_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = "--options.dim 8 --options.heads 2 --options.hidden 8 --options.depth 1 --options.embedding 4"
    groups = "--options.groups 8 --options.group_size 4"
    study = Study(
        "Chain",
        {
            "pretrain": Row(f"pretrain --data bricks --data.points 32 --epochs 1 --probe_every 0 {network} {groups}"),
            "probe": Row("probe {runs}/pretrain-seed0 --data bricks", after="pretrain", prints=True),
        },
        kind="autoencoder",
    )
    monkeypatch.setitem(STUDIES, "chain", study)
    lines = list(reproduce("chain", results=tmp_path / "results", runs=tmp_path / "runs", workers=2))
    assert [line.partition(":")[0] for line in lines] == ["chain", "pretrain, seed 0", "probe, seed 0"]
    assert lines[1].startswith("pretrain, seed 0: loss 0.")
    result = json.loads(result_file(tmp_path / "results", "chain", "probe", 0).read_text())
    assert lines[2] == f"probe, seed 0: {100 * result['test_accuracy']:.2f} %"
    assert result["command"].startswith("sampled-transformer probe ")
    assert result["seconds"] > 0


def test_no_worker_waits_for_a_run_that_another_makes() -> None:
    rows = {"slow": Row(""), "quick": Row(""), "needs-slow": Row("", after="slow"), "free": Row("")}
    free = Event()

    def make(row: str, seed: int) -> str:
        if row == "free":
            free.set()
        elif row == "slow":  # done only if "free" is made meanwhile, though "needs-slow" stands before it
            assert free.wait(20)
        return row

    done = [job.result() for _, job in side_by_side(Study("", rows), [(row, 0) for row in rows], 2, make)]
    assert sorted(done) == sorted(rows)
    assert done.index("slow") < done.index("needs-slow")


def test_headlines() -> None:
    assert headline({"figures": {"LL0": -1.5, "LL1": -1.4}}) == "LL0 -1.5000"
    assert headline({"figures": {"accuracy": {"mean": 0.5, "deviation": 0.1}}}) == "50.00 %"
    assert headline({"figures": {"one pass": {"accuracy": 0.75}}}) == "75.00 %"
    assert headline({"figures": {"last epoch": {"test_accuracy": 0.25}}}) == "25.00 %"


def test_makes_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STUDIES, "tiny", TINY)
    results, runs = tmp_path / "results", tmp_path / "runs"
    there = result_file(results, "tiny", "basic-none", 0)
    there.parent.mkdir(parents=True)
    there.write_text("made before")
    assert list(reproduce("tiny", results=results, runs=runs, rows=["basic-sampled"]))[1:] != []
    assert {item.name for item in runs.glob("tiny/*")} == {"basic-sampled-seed0"}
    result_file(results, "tiny", "basic-sampled", 0).unlink()
    lines = list(reproduce("tiny", results=results, runs=runs, workers=2))
    assert lines[0] == "tiny: 1 of 3 runs have their result"
    assert {line.partition(":")[0] for line in lines[1:]} == {"basic-sampled, seed 0", "basic-none, seed 1"}
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


def test_a_run_that_fails_says_why_and_the_others_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {
        "too-many": Row("train --recipe basic-none --data bricks --data.points 9999"),
        "after-it": Row("evaluate {runs}/too-many-seed0", after="too-many", prints=True, seeded=False),
        "basic-none": TINY.rows["basic-none"],
    }
    monkeypatch.setitem(STUDIES, "tiny", Study("Tiny", rows))
    with pytest.raises(ValueError, match=r"2 of 4 runs failed, first .*too-many-seed0: .*expected at most 512"):
        list(reproduce("tiny", results=tmp_path / "results", runs=tmp_path / "runs"))
    made = {path.name for path in (tmp_path / "results" / "tiny").iterdir()}
    assert made == {"basic-none-seed0.json", "basic-none-seed1.json"}


def test_results_do_not_say_where_the_data_lies(tmp_path: Path) -> None:
    write_result(
        tmp_path / "a" / "b.json", {"command": "train --data.root '/home/me/my data' --seed 1"}, "/home/me/my data"
    )
    assert json.loads((tmp_path / "a" / "b.json").read_text())["command"] == "train --data.root ROOT --seed 1"
    write_result(tmp_path / "a" / "c.json", {"command": "evaluate data --data data --root data"}, "data")
    assert json.loads((tmp_path / "a" / "c.json").read_text())["command"] == "evaluate data --data data --root ROOT"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["basic-brick"], "; did you mean 'basic-bricks'?"),
        (["nothing"], "table: expected one of autoencoder-small, basic-bricks, "),
        (["basic-modelnet40"], "root: expected the folder that holds the data set of basic-modelnet40, got none"),
        (["basic-bricks", "--rows", '["dense"]'], "rows: expected one of basic-dense, basic-induced, "),
        (["basic-bricks", "--workers", "0"], "workers: expected at least 1, got 0"),
    ],
)
def test_bad_requests(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tables", "make", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_list_and_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_result(result_file(tmp_path, "basic-bricks", "basic-none", 2), {"command": ""}, None)
    assert main(["tables", "list", "--results", str(tmp_path)]) == 0
    assert "20 epochs; 1 of 24 runs made" in capsys.readouterr().out
    pages = tmp_path / "pages"
    assert main(["tables", "page", "--results", str(tmp_path / "none"), "--page", str(pages)]) == 0
    assert (pages / "index.md").read_text("utf-8").startswith("# Results\n")
    assert "pages: 1 pages written" in capsys.readouterr().out
