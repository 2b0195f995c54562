"""Tables are made run by run, and the same command continues where it stopped."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event

import pytest

from sampled_transformer.cli import main
from sampled_transformer.randomness import VARIABLE
from sampled_transformer_lab.progress import State
from sampled_transformer_lab.reproduce import (
    KEYED_BY,
    Place,
    chosen_runs,
    claim_folder,
    environment_of,
    headline,
    new_folder,
    read_result,
    reproduce,
    result_file,
    side_by_side,
    state,
    words,
    write_result,
)
from sampled_transformer_lab.studies import STUDIES
from sampled_transformer_lab.study import Row, Study

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


def test_a_run_is_keyed_as_its_results_were() -> None:
    """Results from before cycles followed the points were made by places, and are made again like that."""
    assert KEYED_BY == VARIABLE
    assert environment_of(STUDIES["basic-bricks"], "1")[KEYED_BY] == "places"
    assert environment_of(TINY, "1")[KEYED_BY] == "points"


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
    # A clone has the results but not the run folders. The probe needs the weights, so both are made.
    kept = result_file(tmp_path / "results", "chain", "pretrain", 0)
    kept.write_text("the result of other weights")
    result_file(tmp_path / "results", "chain", "probe", 0).unlink()
    clone = {"results": tmp_path / "results", "runs": tmp_path / "clone", "rows": ["probe"]}
    first, again, *lines = reproduce("chain", **clone)
    assert first == "chain: 0 of 1 runs have their result"
    folder = tmp_path / "clone" / "chain" / "pretrain-seed0"
    lost = f"pretrain, seed 0: {folder} lacks the weights that others start from"
    assert again == f"{lost}; it is made again first, and its result is replaced"
    assert [line.partition(":")[0] for line in lines] == ["pretrain, seed 0", "probe, seed 0"]
    assert json.loads(kept.read_text())["figures"] == json.loads((folder / "result.json").read_text())["figures"]
    # With the weights there, only the probe is made.
    result_file(tmp_path / "results", "chain", "probe", 0).unlink()
    assert [line.partition(":")[0] for line in reproduce("chain", **clone)] == ["chain", "probe, seed 0"]


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
    assert {item.name for item in runs.glob("tiny/*")} == {"basic-sampled-seed0", "basic-sampled-seed0.log"}
    assert "epoch 1/1: loss " in (runs / "tiny" / "basic-sampled-seed0.log").read_text()
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
    lines = []
    reason = r"2 of 4 runs failed, first too-many, seed 0: .*expected at most 512.* \(log .*too-many-seed0\.log\)"
    with pytest.raises(ValueError, match=reason):
        lines.extend(reproduce("tiny", results=tmp_path / "results", runs=tmp_path / "runs"))
    assert f"too-many, seed 0: failed, see {tmp_path / 'runs' / 'tiny' / 'too-many-seed0.log'}" in lines
    made = {path.name for path in (tmp_path / "results" / "tiny").iterdir()}
    assert made == {"basic-none-seed0.json", "basic-none-seed1.json"}


def test_fresh_makes_what_is_there_and_replaces_it_when_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(STUDIES, "tiny", TINY)
    results, runs = tmp_path / "results", tmp_path / "fresh"
    kept = result_file(results, "tiny", "basic-none", 0)
    kept.parent.mkdir(parents=True)
    kept.write_text("made before")
    seen: list[State] = []
    options = {"results": results, "runs": runs, "rows": ["basic-none"], "seeds": [0], "fresh": True}
    for line in reproduce("tiny", **options, watch=lambda states: seen.extend(states.values())):
        if line.startswith("tiny: "):
            assert line == f"tiny: 1 run to make anew in {runs / 'tiny'}"
            assert kept.read_text() == "made before"
    assert json.loads(kept.read_text())["figures"]["last epoch"]["epoch"] == 1
    assert seen[0] == State("running", str(runs / "tiny" / "basic-none-seed0.log"))


def test_fresh_refuses_a_folder_with_earlier_runs(tmp_path: Path) -> None:
    (tmp_path / "basic-bricks" / "basic-none-seed0").mkdir(parents=True)
    with pytest.raises(ValueError, match=r"^runs: expected a new folder, .* which holds earlier runs of basic-bricks$"):
        list(reproduce("basic-bricks", results=tmp_path, runs=tmp_path, fresh=True))
    assert [path.name for path in tmp_path.rglob("*")] == ["basic-bricks", "basic-none-seed0"]


def test_a_folder_of_interrupted_fresh_runs_is_taken_again(tmp_path: Path) -> None:
    place = Place("tiny", runs=new_folder(tmp_path, "fresh"))
    assert place.runs.name == "fresh-1"
    claim_folder(place)
    place.run("basic-none", 0).mkdir()
    claim_folder(place)
    assert new_folder(tmp_path, "fresh").name == "fresh-2"


def test_rows_and_seeds_are_chosen_and_bring_what_they_start_from() -> None:
    study = Study("", {"a": Row("", 2), "b": Row("", after="a"), "c": Row("", after="b"), "d": Row("")})
    assert chosen_runs(study) == [("a", 0), ("b", 0), ("c", 0), ("d", 0), ("a", 1)]
    assert chosen_runs(study, ["c"]) == [("c", 0)]
    assert chosen_runs(study, ["c"], [0], complete=True) == [("a", 0), ("b", 0), ("c", 0)]
    assert chosen_runs(study, seeds=[1]) == [("a", 1)]
    for nothing in ({"rows": []}, {"seeds": []}):
        with pytest.raises(ValueError, match=r"^(rows|seeds): expected at least one, got none$"):
            chosen_runs(study, **nothing)
    with pytest.raises(ValueError, match=r"^seeds: expected 0 to 1, got 2$"):
        chosen_runs(study, seeds=[2])


def test_a_malformed_result_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a-seed0.json"
    for text, message in (
        ("{", r"a-seed0\.json: Expecting property name .*; expected a JSON file$"),
        ('{"seconds": 1}', r"a-seed0\.json: got a result without 'train_loss'; expected one of `tables make`$"),
        ("[1]", r"a-seed0\.json: got a result of another form; expected one of `tables make`$"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            read_result(path)


def test_a_root_is_asked_for_by_the_rows_that_need_it(tmp_path: Path) -> None:
    options = {"results": Path(__file__).parents[2] / "results", "runs": tmp_path}
    lines = list(reproduce("calibration", rows=["bricks"], **options))
    assert lines[0].startswith("calibration: 1 of 1 runs have their result")
    with pytest.raises(ValueError, match=r"^root: expected the folder that holds the data set of calibration"):
        list(reproduce("calibration", **options))


def test_the_state_of_a_run(tmp_path: Path) -> None:
    study = Study("", {"a": Row(""), "b": Row("", prints=True)})
    place = Place("two", runs=tmp_path)
    assert state(study, place, "b", 0, {}) == State("running", str(place.log("b", 0)))
    folder = place.run("a", 0)
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("epochs: 5\n")
    assert state(study, place, "a", 0, {("a", 0): 0.0}) == State("epoch 1 of 5", str(place.log("a", 0)))


# The program with one more table, whose training takes minutes. It ignores Ctrl-C, as in the background of a shell.
LONG = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has it ignored
from sampled_transformer.cli import main
from sampled_transformer_lab.studies import STUDIES
from sampled_transformer_lab.study import Row, Study
rows = {{name: Row("train --recipe basic-none {SMALL.replace("--epochs 1", "--epochs 9999")}") for name in ("a", "b")}}
STUDIES["long"] = Study("", rows)
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_end_all_runs_after_they_have_saved(tmp_path: Path, number: signal.Signals) -> None:
    words = [
        "tables",
        "make",
        "long",
        "--workers",
        "2",
        "--runs",
        str(tmp_path),
        "--results",
        str(tmp_path / "results"),
    ]
    process = subprocess.Popen(
        [sys.executable, "-c", LONG, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    folders = [tmp_path / "long" / f"{name}-seed0" for name in ("a", "b")]
    while process.poll() is None and not all((folder / "metrics.csv").exists() for folder in folders):
        time.sleep(0.02)
    process.send_signal(number)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 128 + number
    assert errors == (
        "sampled-transformer: error: stopped; the runs under way were saved, and the same command continues\n"
    )
    assert f"a, seed 0: log {tmp_path / 'long' / 'a-seed0.log'}" in output
    for folder in folders:
        # The run's own last words: it has ended, and it has saved.
        assert "error: stopped in epoch " in folder.with_name(f"{folder.name}.log").read_text().splitlines()[-1]
        assert not json.loads((folder / "result.json").read_text())["finished"]
        assert (folder / "last.ckpt").is_file()
    assert not (tmp_path / "results").exists()


def test_results_do_not_say_where_the_data_lies(tmp_path: Path) -> None:
    write_result(
        tmp_path / "a" / "b.json", {"command": "train --data.root '/home/me/my data' --seed 1"}, "/home/me/my data"
    )
    assert json.loads((tmp_path / "a" / "b.json").read_text())["command"] == "train --data.root ROOT --seed 1"
    write_result(tmp_path / "a" / "c.json", {"command": "evaluate data --data data --root data"}, "data")
    assert json.loads((tmp_path / "a" / "c.json").read_text())["command"] == "evaluate data --data data --root ROOT"


def test_results_do_not_say_where_the_runs_lie(tmp_path: Path) -> None:
    runs = tmp_path / "my runs"
    command = shlex.join(["train", "--init", str(runs / "a" / "first-seed0"), "--out", str(runs / "a" / "b-seed1")])
    write_result(tmp_path / "b.json", {"command": command}, None, runs)
    said = json.loads((tmp_path / "b.json").read_text())["command"]
    assert said == "train --init runs/a/first-seed0 --out runs/a/b-seed1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["basic-brick"], "; did you mean 'basic-bricks'?"),
        (["nothing"], "table: expected one of 19 names, got "),
        (["basic-modelnet40"], "root: expected the folder that holds the data set of basic-modelnet40, got none"),
        (["basic-bricks", "--rows", '["dense"]'], "rows: expected one of basic-dense, basic-induced, "),
        (["basic-bricks", "--workers", "0"], "workers: expected at least 1, got 0"),
    ],
)
def test_bad_requests(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tables", "make", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_two_processes_share_the_work(tmp_path: Path) -> None:
    """Each run is made once, and both end when all are made."""
    program = LONG.replace("9999", "2").replace('("a", "b")', '("a", "b", "c")')
    words = ["tables", "make", "long", "--runs", str(tmp_path / "runs"), "--results", str(tmp_path / "results")]
    command = [sys.executable, "-c", program, *words]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=240) for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert [errors for _, errors in outputs] == ["", ""]
    lines = [line for output, _ in outputs for line in output.splitlines()]
    for row in ("a", "b", "c"):
        assert sum(line.startswith(f"{row}, seed 0: ") and line.endswith(" %") for line in lines) == 1
        log = (tmp_path / "runs" / "long" / f"{row}-seed0.log").read_text()
        assert log.count("epoch 1/2: ") == 1
    assert {path.name for path in (tmp_path / "results" / "long").iterdir()} == {f"{row}-seed0.json" for row in "abc"}
    assert not list((tmp_path / "runs" / "long").glob(".*.lock"))
