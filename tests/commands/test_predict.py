from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import trimesh
from helpers.trained import save_small

from sampled_transformer.cli import main
from sampled_transformer.data.axes import rotation
from sampled_transformer.inference.familiarity import Familiarity
from sampled_transformer.support.memory import CAN_LIMIT, limited_memory
from sampled_transformer.weights import add_notes, add_to_model, load_model


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(3):
        np.save(folder / f"{number}.npy", np.random.default_rng(number).normal(size=(40, 3)))
    return folder


def test_files_and_folders_are_classified(
    classifier: Path, files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["predict", str(files / "0.npy"), str(tmp_path / "none.off"), str(files), "--weights", str(classifier)]
    assert main([*words, "--top", "1", "--samples", "2", "--workers", "0"]) == 1
    captured = capsys.readouterr()
    assert captured.err.splitlines() == [
        f"could not be read: {tmp_path}/none.off: No such file or directory",
        "1 of 5 files left out: 1 missing",
    ]
    lines = captured.out.splitlines()
    assert len(lines) == 8
    assert re.fullmatch(r" +[\d.]+ % \+- +[\d.]+  (needle|ball)", lines[1])


def test_a_path_that_cannot_be_used_does_not_end_the_run(
    classifier: Path, files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long, missing = f"{tmp_path}/{'x' * 300}.xyz", f"@{tmp_path}/none.txt"
    words = ["predict", long, missing, str(files / "0.npy"), "--weights", str(classifier), "--top", "1"]
    assert main([*words, "--samples", "1"]) == 1
    captured = capsys.readouterr()
    assert captured.err.splitlines() == [
        f"could not be read: {long}: File name too long",
        f"could not be read: {tmp_path}/none.txt: No such file or directory; expected a list of files",
        "2 of 3 files left out: 2 missing",
    ]
    assert captured.out.startswith(f"{files / '0.npy'}")


def test_what_to_do_about_strangers_is_said_once(
    classifier: Path, files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    width = load_model(classifier)[0].get_submodule("head").in_features
    everything = Familiarity(torch.zeros(1, width).half(), torch.ones(width), torch.full((20,), -1e9), 1.0, 0.05)
    weights = tmp_path / "strict.safetensors"
    add_to_model(classifier, weights, everything.notes(), everything.tensors())
    words = ["predict", str(files), "--weights", str(weights), "--samples", "1", "--workers", "0"]
    scan, stranger = "may be a noisy or incomplete scan", "may belong to none of the known classes."
    side = f"may be lying on its side (--up), {scan}, or {stranger}"
    for more, reasons in (([], side), (["--up", "auto"], f"{scan} or {stranger}")):
        assert main([*words, *more]) == 0
        captured = capsys.readouterr()
        assert captured.out.count("looks like nothing this network knows") == 3
        assert captured.err == f"note: A file called unfamiliar {reasons}\n"


def test_by_default_two_networks_are_asked_and_the_answer_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trimesh.creation.cylinder(0.3, 2).export(tmp_path / "dense.off")
    np.save(tmp_path / "sparse.npy", np.random.default_rng(0).normal(size=(300, 3)))
    files = [str(tmp_path / "dense.off"), str(tmp_path / "sparse.npy")]
    assert main(["predict", *files, "--json", "--samples", "1", "--workers", "0"]) == 0
    both = json.loads(capsys.readouterr().out)
    alone = {}
    for name in ("modelnet40-points", "modelnet40-robust"):
        assert main(["predict", *files, "--json", "--samples", "1", "--workers", "0", "--weights", name]) == 0
        alone[name] = json.loads(capsys.readouterr().out)
    dense = {name: answers[0]["classes"] for name, answers in alone.items()}
    surer = max(dense, key=lambda name: dense[name][0]["probability"])
    assert [answer["weights"] for answer in both] == [surer, "modelnet40-robust"]
    assert [row["class"] for row in both[0]["classes"]] == [row["class"] for row in dense[surer]]
    assert both[0]["classes"][0]["probability"] < dense[surer][0]["probability"]  # the surer of two is too sure
    assert both[1]["notes"] == ["only 300 points, where the network usually reads 1024"]


def test_answers_as_json(classifier: Path, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", str(files / "0.npy"), "--weights", str(classifier), "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)
    assert {row["class"] for row in answer["classes"]} == {"needle", "ball"}
    assert sum(row["probability"] for row in answer["classes"]) == pytest.approx(1, abs=1e-4)


def test_answers_as_a_table(classifier: Path, files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["predict", str(tmp_path / "none.off"), str(files), "--weights", str(classifier), "--workers", "0"]
    assert main([*words, "--csv"]) == 1
    captured = capsys.readouterr()
    rows = list(csv.DictReader(captured.out.splitlines()))
    assert [row["file"] for row in rows] == [str(tmp_path / "none.off"), *(str(files / f"{n}.npy") for n in range(3))]
    assert rows[0]["error"] == f"{tmp_path}/none.off: No such file or directory"
    assert rows[0]["class"] == ""
    assert main([*words, "--json"]) == 1
    for row, answer in zip(rows, json.loads(capsys.readouterr().out), strict=True):
        if answer["error"] is None:
            first, second = answer["classes"]
            assert (row["class"], row["class_2"]) == (first["class"], second["class"])
            assert float(row["probability"]) == first["probability"]
            assert row["error"] == ""
    assert main([*words, "--csv", "--json"]) == 2
    assert "csv, json: expected one of them, got both" in capsys.readouterr().err


def test_missing_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict"]) == 2
    assert "files: expected FILES, got nothing" in capsys.readouterr().err
    assert main(["predict", "a.off", "--weights", "nowhere"]) == 2
    assert "no such file, run folder or shipped weights (brick-parts, bricks, " in capsys.readouterr().err


def test_a_number_is_shown_with_its_spread(regressor, tmp_path, capsys):
    np.savetxt(tmp_path / "a.xyz", np.random.default_rng(0).normal(size=(50, 3)))
    assert (
        main(
            [
                "predict",
                str(tmp_path / "a.xyz"),
                str(tmp_path / "no.xyz"),
                "--weights",
                str(regressor),
                "--workers",
                "0",
            ]
        )
        == 1
    )
    captured = capsys.readouterr()
    assert re.fullmatch(r".*a\.xyz\n  \d{3}(\.\d+)? \+- [\d.]+  height in mm\n", captured.out)
    assert captured.err.splitlines() == [
        f"could not be read: {tmp_path / 'no.xyz'}: No such file or directory",
        "1 of 2 files left out: 1 missing",
    ]
    words = ["predict", str(tmp_path / "a.xyz"), "--weights", str(regressor), "--csv"]
    assert main(words) == 0
    (row,) = csv.DictReader(capsys.readouterr().out.splitlines())
    assert 0 < float(row["height in mm"]) < 1000
    assert float(row["spread"]) >= 0


def test_up_is_asked_for_taken_from_the_format_or_found_out(classifier, tmp_path, capsys):
    needle = trimesh.creation.cylinder(radius=0.05, height=2)
    needle.export(tmp_path / "z.off")
    needle.vertices = needle.vertices @ rotation("z", "y").T
    needle.export(tmp_path / "y.glb")
    words = ["--weights", str(classifier), "--workers", "0", "--top", "1", "--json", "--samples", "1"]

    def ask(name: str, *more: str) -> dict[str, Any]:
        assert main(["predict", str(tmp_path / name), *words, *more]) == 0
        (answer,) = json.loads(capsys.readouterr().out)
        return answer

    standing, lying = ask("z.off"), ask("z.off", "--up", "-x")
    by_format = ask("y.glb")
    assert (standing["up"], lying["up"], by_format["up"]) == (None, "-x", "y")
    assert by_format["notes"][-1] == "y is up, as in every glTF file"
    assert ask("y.glb", "--up=y")["notes"] == standing["notes"]
    surest = ask("y.glb", "--up", "auto")
    assert surest["notes"][-1] == f"{surest['up']} taken for up, the likeliest of 6"
    assert surest["classes"][0]["probability"] >= max(one["classes"][0]["probability"] for one in (by_format,)) - 1e-6


def test_a_wrong_up(classifier, regressor, capsys):
    assert main(["predict", "a.off", "--up", "w"]) == 2
    assert "up: expected one of x, y, z, -x, -y, -z, auto" in capsys.readouterr().err.replace("'", "")
    assert main(["predict", "a.off", "--up", "auto", "--weights", str(regressor)]) == 2
    assert "up: expected an axis, because the network predicts a number" in capsys.readouterr().err


def test_estimated_normals_are_told_once(tmp_path, files, capsys):
    weights = str(save_small(tmp_path / "w.safetensors"))
    assert main(["predict", str(files), "--weights", weights, "--workers", "0", "--batch", "2"]) == 0
    captured = capsys.readouterr()
    assert captured.err == f"note: {weights} reads normals, and normals estimated from points are not those of meshes\n"
    assert "normals estimated" not in captured.out
    positions = str(save_small(tmp_path / "p.safetensors", "basic-positions"))
    assert main(["predict", str(files), "--weights", positions, "--workers", "0"]) == 0
    assert capsys.readouterr().err == ""


def test_a_list_of_json_and_an_empty_folder(tmp_path, files, capsys):
    weights = str(save_small(tmp_path / "p.safetensors", "basic-positions"))
    (tmp_path / "empty").mkdir()
    words = ["predict", str(files), str(tmp_path / "empty"), "--weights", weights, "--workers", "0", "--json"]
    assert main(words) == 1
    captured = capsys.readouterr()
    answers = json.loads(captured.out)
    assert captured.out == json.dumps(answers, indent=2) + "\n"
    assert [answer["error"] is None for answer in answers] == [True, True, True, False]
    assert captured.err == f"could not be read: {tmp_path}/empty: no file of a known format in this folder\n"


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_ctrl_c_ends_the_workers(tmp_path):
    weights = str(save_small(tmp_path / "p.safetensors", "basic-positions"))
    np.save(tmp_path / "cloud.npy", np.random.default_rng(0).normal(size=(40, 3)))
    words = ["predict", *[str(tmp_path / "cloud.npy")] * 5000, "--weights", weights, "--workers", "2", "--batch", "1"]
    program = [
        sys.executable,
        "-c",
        "import sys; from sampled_transformer.cli import main; sys.exit(main(sys.argv[1:]))",
    ]
    with subprocess.Popen(
        [*program, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert "cloud.npy" in process.stdout.readline()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all processes
        error = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert error.splitlines()[-1] == "sampled-transformer: error: stopped"
    for _ in range(100):  # the tracker of resources of multiprocessing ends a moment after the program
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("a process of the group is left")


@pytest.mark.skipif(not CAN_LIMIT, reason="memory is limited on Linux")
def test_a_network_that_needs_more_memory_than_there_is(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """torch raises a RuntimeError of many lines: each file still has its own line, whatever command asks."""
    weights = save_small(tmp_path / "wide.safetensors", "basic-positions", hidden=65536)
    add_notes(weights, {"data": {"preset": "bricks", "points": 10_000, "source": "shapes"}})
    words = [str(files / "0.npy"), str(files / "1.npy"), "--weights", str(weights)]
    with limited_memory(2**30):
        assert main(["predict", *words, "--samples", "1", "--workers", "0", "--batch", "2"]) == 1
        assert main(["features", *words, "--out", str(tmp_path / "out.npz")]) == 1
    lines = capsys.readouterr().err.splitlines()
    expected = [
        f"could not be read: {files}/{number}.npy: not enough memory: 2.62 GB were asked for at once"
        for number in (0, 1)
    ]
    assert [line for line in lines if line.startswith("could not be read")] == 2 * expected
    assert "2 of 2 files left out: 2 too large" in lines


HOSTILE_READERS = """
import os
from sampled_transformer.data import files

files.READERS[".kill"] = lambda path: os.abort()
files.READERS[".hang"] = lambda path: sum(iter(int, 1))
files.READERS[".hog"] = lambda path: bytearray(b"x" * 4_000_000_000)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited there")
@pytest.mark.parametrize("workers", ["0", "1"])
def test_readers_that_abort_hang_or_eat_memory_cost_their_own_files(
    classifier: Path,
    files: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    workers: str,
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text(HOSTILE_READERS)
    monkeypatch.setenv("PYTHONPATH", ":".join([str(tmp_path / "own"), *filter(None, sys.path)]))
    bad = [tmp_path / f"bad.{how}" for how in ("kill", "hang", "hog")]
    for path in bad:
        path.write_text("x")
    names = [str(files / "0.npy"), *map(str, bad), str(files / "1.npy")]
    words = ["--weights", str(classifier), "--samples", "1", "--csv", "--workers", workers]
    assert main(["predict", *names, *words, "--reading.memory", "1", "--reading.seconds", "3"]) == 1
    captured = capsys.readouterr()
    assert [row["file"] for row in csv.DictReader(captured.out.splitlines()) if not row["error"]] == names[::4]
    need = "need more than 1 GB of memory; --reading.memory allows more"
    assert captured.err.splitlines() == [
        f"could not be read: {bad[0]}: the process that read it died (signal 6); the file may be damaged, or {need}",
        f"could not be read: {bad[1]}: reading it takes more than 3 s; --reading.seconds allows more",
        f"could not be read: {bad[2]}: reading it takes more than 1 GB of memory; --reading.memory allows more",
        "3 of 5 files left out: 1 fatal to their reader, 1 too slow to read, 1 too large",
    ]
