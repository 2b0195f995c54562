"""The command `segment predict`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.point_packs import save_segmenter
from helpers.scans import COUNT, write_example

from sampled_transformer.cli import main
from sampled_transformer.commands.segment_predict import _pairs
from sampled_transformer.data.scans import read_scan

LABEL = {".npz": "point_labels", ".las": None}


def test_files_come_back_with_classes(
    segmenter: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files lie in the current folder, none has all features, and nothing asks for labels."""
    monkeypatch.chdir(tmp_path)
    names = [write_example(tmp_path, kind).name for kind in ("ply-little", "las-3", "txt-comment", "npz")]
    assert main(["segment", "predict", *names, "--weights", str(segmenter), "--out", "out"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.count(f"{COUNT} points, ") == 4
    assert "per second; " in captured.out
    assert "(no normals: labels may be far worse without; `segment evaluate" in captured.out  # LAS has none
    for name in names:
        before, after = read_scan(name), read_scan(Path("out", name), label=LABEL.get(Path(name).suffix, "class"))
        np.testing.assert_array_equal(after.points, before.points)
        assert set(after.labels.tolist()) <= {0, 1}
        confidence = after.features["confidence"]
        assert ((confidence >= 0.5) & (confidence <= 1)).all()


def test_a_trained_network_finds_the_upper_half(segmenter: Path, tmp_path: Path) -> None:
    points = np.random.default_rng(5).uniform(-1, 1, (500, 3))
    for name, own in (
        ("metres", points),
        ("map", points + np.array([5e5, 5.4e6, 300])),
        ("millimetres", points * 1000),
    ):
        np.savetxt(tmp_path / f"{name}.txt", own, fmt="%.6f")
    out = tmp_path / "out"
    assert main(["segment", "predict", str(tmp_path), "--weights", str(segmenter), "--out", str(out)]) == 0
    columns = ["x", "y", "z", "class", "confidence"]
    found = [read_scan(path, columns, label="class").labels for path in sorted(out.iterdir())]
    assert len(found) == 3
    assert (found[0] == (points[:, 2] > 0)).mean() > 0.75
    for other in found[1:]:
        assert (other == found[0]).mean() > 0.99


def test_answers_as_json(segmenter: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_example(tmp_path, "ply-little")
    words = ["segment", "predict", str(source), "--weights", str(segmenter), "--out", str(tmp_path / "out")]
    assert main([*words, "--json", "--coloured"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)
    assert (answer["file"], answer["out"], answer["points"]) == (str(source), str(tmp_path / "out" / "scan.ply"), COUNT)
    assert sum(answer["classes"].values()) == COUNT
    colours = read_scan(tmp_path / "out" / "scan.ply", label="class").features["colour"]
    assert len(np.unique(colours, axis=0)) <= 2


def test_what_is_there_is_left_alone_and_what_is_broken_costs_only_itself(
    segmenter: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, bad, out = write_example(tmp_path, "ply-little"), tmp_path / "bad.ply", tmp_path / "out"
    bad.write_bytes(b"ply\n")
    (tmp_path / "empty.xyz").write_text("")
    words = ["segment", "predict", str(bad), str(tmp_path / "empty.xyz"), str(good), str(tmp_path / "none.ply")]
    words += ["--weights", str(segmenter), "--out", str(out)]
    assert main(words) == 1
    captured = capsys.readouterr()
    assert f"could not be read: {tmp_path / 'none.ply'}: no such file\n" in captured.err
    assert f"could not be labelled: {bad}: " in captured.err
    assert f"could not be labelled: {tmp_path / 'empty.xyz'}: " in captured.err
    assert captured.err.count("\n") == 3
    assert "3 of 4 files left out" in captured.out
    assert [path.name for path in out.iterdir()] == ["scan.ply"]
    before = (out / "scan.ply").read_bytes()
    assert main(["segment", "predict", str(good), "--weights", str(segmenter), "--out", str(out)]) == 0
    assert "left alone: " in capsys.readouterr().err
    (out / "scan.ply").write_bytes(b"")
    again = ["segment", "predict", str(good), "--weights", str(segmenter), "--out", str(out), "--force"]
    assert main(again) == 0
    assert (out / "scan.ply").read_bytes() == before


def test_patterns_lists_and_urls(segmenter: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("fsspec")
    for name in ("a", "b"):
        (tmp_path / "in" / name).mkdir(parents=True)
        write_example(tmp_path / "in" / name, "ply-little")
    (tmp_path / "scans.list").write_text(f"file://{tmp_path}/in/a/scan.ply\nfile://{tmp_path}/none.ply\n")
    words = ["segment", "predict", "--weights", str(segmenter), "--out"]
    assert main([*words, str(tmp_path / "out"), str(tmp_path / "in" / "*" / "*.ply")]) == 0
    assert main([*words, str(tmp_path / "remote"), f"@{tmp_path / 'scans.list'}", "--json"]) == 1
    captured = capsys.readouterr()
    assert captured.err == f"could not be labelled: file://{tmp_path}/none.ply: No such file or directory\n"
    first, second, remote = (tmp_path / name / "scan.ply" for name in ("out/a", "out/b", "remote"))
    assert first.read_bytes() == second.read_bytes() == remote.read_bytes()


def test_features_by_name_and_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = str(save_segmenter(tmp_path / "w.safetensors", features={"height": 1}, positions=""))
    np.savetxt(tmp_path / "a.txt", np.random.default_rng(0).uniform(0, 1, (30, 5)))
    words = ["segment", "predict", str(tmp_path / "a.txt"), "--weights", weights, "--out", str(tmp_path / "out")]
    assert main(words) == 1
    assert "a.txt: features: expected height (1 numbers per point), got " in capsys.readouterr().err
    assert main([*words, "--columns", "x,y,z,_,echo", "--features", "height=echo"]) == 0
    assert main([*words, "--force", "--columns", "x,y,z,height,_"]) == 0
    capsys.readouterr()
    ply = str(write_example(tmp_path, "ply-little"))  # has names of its own, which costs only itself
    assert main([words[0], words[1], ply, *words[2:], "--force", "--columns", "x,y,z,height,_"]) == 1
    captured = capsys.readouterr()
    assert f"could not be labelled: {ply}: columns: expected none for .ply files" in captured.err
    assert "a.txt: 30 points" in captured.out
    assert main([*words, "--force", "--columns", "x,y,z,_,echo", "--features", "height=ecko"]) == 1
    assert "features: expected one of the fields of the file (echo), got 'ecko'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "files: expected FILES, got nothing"),
        (["a.ply", "--weights", "bricks"], "expected a network that labels points, a 'segmenter', got a 'basic'"),
        (["a.ply", "--weights", "nowhere"], "no such file, run folder or shipped weights"),
        (["a.ply", "--weights", "RUN", "--features", "hight=z"], "features: expected those of the network ("),
        (["a.ply", "--weights", "RUN", "--up", "auto"], "up: expected an axis, because only classifiers can be asked"),
        (["a.ply", "--weights", "RUN", "--samples", "0"], "samples: expected at least 1, got 0"),
        (["a.ply", "--weights", "RUN", "--memory", "0.1"], "memory: expected more than 0.7 gigabytes, got 0.1"),
        (["a.ply", "--weights", "RUN", "--workers", "2"], "workers: expected none without --engine, got 2"),
        (["a.ply", "--weights", "RUN", "--shard", "2"], "shard: expected none without --engine, got 2"),
        (["a.ply", "--weights", "RUN", "--address", "auto"], "address: expected none without --engine, got auto"),
        (["a.ply", "--weights", "RUN", "--engine", "ray", "--force"], "force: expected none with --engine"),
        (["a.ply", "--weights", "RUN", "--engine", "ray", "--json"], "json: expected none with --engine"),
        (["a.ply", "--weights", "RUN", "--engine", "ray", "--shard", "0"], "shard: expected at least 1, got 0"),
        (["*.las", "--weights", "RUN", "--engine", "ray"], "*.las: no file of a known format matches"),
        (["@none.list", "--weights", "RUN"], "none.list: No such file or directory; expected a list of files"),
        (["a.ply", "--weights", "RUN", "--out", "a.ply"], "out: expected a folder, got the file a.ply"),
    ],
)
def test_errors_are_one_line(
    segmenter: Path,
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    write_example(tmp_path, "ply-little").rename("a.ply")
    assert main(["segment", "predict", *(str(segmenter) if word == "RUN" else word for word in arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert message in captured.err
    assert [path.name for path in tmp_path.iterdir()] == ["a.ply"]


def test_pairs_of_features() -> None:
    assert _pairs(None) == {}
    assert _pairs("a=b, c=,d,") == {"a": "b", "c": "", "d": "d"}


HOSTILE_READERS = """
import os
from sampled_transformer.data import scans

plain = scans.parse_ply

def parse_ply(path):
    if path.name == "kill.ply":
        os.abort()
    if path.name == "hang.ply":
        sum(iter(int, 1))
    return plain(path)

scans.parse_ply = parse_ply
"""


@pytest.mark.skipif(os.name != "posix", reason="it reads signals")
def test_readers_that_abort_or_hang_cost_their_own_files(
    segmenter: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text(HOSTILE_READERS)
    monkeypatch.setenv("PYTHONPATH", ":".join([str(tmp_path / "own"), *filter(None, sys.path)]))
    (tmp_path / "in").mkdir()
    good = write_example(tmp_path / "in", "ply-little")
    for name in ("kill", "hang"):
        (tmp_path / "in" / f"{name}.ply").write_bytes(good.read_bytes())
    words = ["segment", "predict", str(tmp_path / "in"), "--weights", str(segmenter), "--out", str(tmp_path / "out")]
    assert main([*words, "--reading.seconds", "3"]) == 1
    captured = capsys.readouterr()
    lines = [line for line in captured.err.splitlines() if line.startswith("could not be labelled")]
    assert lines[0] == (
        f"could not be labelled: {tmp_path}/in/hang.ply: reading it takes more than 3 s; --reading.seconds allows more"
    )
    assert lines[1].startswith(
        f"could not be labelled: {tmp_path}/in/kill.ply: the process that read it died (signal 6)"
    )
    assert f"{COUNT} points, " in captured.out
    assert "2 of 3 files left out" in captured.out
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["scan.ply"]
