from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from helpers.interrupts import restore_interrupts

from sampled_transformer.cli import main
from sampled_transformer.data import load_data, read_pack
from sampled_transformer.data.sources.modelnet_layouts import CLASSES

OFF = "OFF\n4 4 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sampled_transformer", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def shapes(tmp_path) -> Path:
    for category in ("chair", "table"):
        for number in range(5):
            path = tmp_path / "shapes" / category / f"{number}.off"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(OFF)
    return tmp_path / "shapes"


def test_a_folder_becomes_a_pack(shapes, tmp_path, capsys):
    target = tmp_path / "pack"
    assert main(["data", "pack", str(shapes), str(target), "--points", "32", "--workers", "1", "--strict"]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{target}: train 8, test 2 shapes in 2 classes\n"
    assert captured.err == ""
    assert load_data(target, "train").points.shape == (8, 32, 3)


def test_pack_by_name(tmp_path, capsys):
    assert main(["data", "pack", "bricks", str(tmp_path / "b"), "--points", "16", "--normals", "none"]) == 0
    assert read_pack(tmp_path / "b", "test").points.shape == (408, 16, 3)


def test_bad_files_are_reported_and_strict_fails(shapes, tmp_path, capsys):
    (shapes / "chair" / "bad.off").write_text("OFF\n9 9 9\n")
    (shapes / "chair" / "mixed.xyz").write_text("0 0 0\n1 1 1\n0 1 0\n")
    arguments = ["data", "pack", str(shapes), str(tmp_path / "out"), "--points", "8", "--workers", "1"]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    assert captured.err.splitlines() == [
        f"left out: {shapes}/chair/bad.off: header claims 9 vertices and 9 faces, but only 0 lines follow",
        "note: 1 of 11 shapes have no normals, so the pack has none; use --normals estimate to fill them in",
        "1 of 12 files left out: 1 damaged",
    ]
    assert main([*arguments, "--strict", "--force"]) == 1
    assert capsys.readouterr().err.endswith("sampled-transformer: error: 1 left out, and --strict was given\n")
    assert len(read_pack(tmp_path / "out", "train")) == 9


def test_nothing_readable(tmp_path, capsys):
    for name in ("1.off", "2.off"):
        (tmp_path / "in" / "a").mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / "a" / name).write_text("")
    assert main(["data", "pack", str(tmp_path / "in"), str(tmp_path / "out"), "--workers", "1"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert sorted(lines[:2]) == [f"could not be read: {tmp_path}/in/a/{n}.off: empty file" for n in (1, 2)]
    assert lines[2:] == [
        "2 of 2 files left out: 2 empty",
        f"sampled-transformer: error: {tmp_path}/in: no file could be read",
    ]


def test_a_pack_is_only_replaced_by_force(shapes, tmp_path, capsys):
    for target in (tmp_path / "pack", tmp_path / "pack.npz"):
        words = ["data", "pack", str(shapes), str(target), "--workers", "1", "--points"]
        assert main([*words, "8"]) == 0
        capsys.readouterr()
        assert main([*words, "16"]) == 2
        message = f"target: expected no pack yet, got {target}, which holds one; --force replaces it"
        assert capsys.readouterr().err == f"sampled-transformer: error: {message}\n"
        assert load_data(target, "train").points.shape[1] == 8
        assert main([*words, "16", "--force"]) == 0
        assert load_data(target, "train").points.shape[1] == 16
    assert main(["data", "pack", "bricks", str(tmp_path / "pack"), "--points", "16"]) == 2
    assert "--force replaces it" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main(["data", "pack", str(shapes), str(tmp_path / "empty"), "--points", "8", "--workers", "1"]) == 0


def test_a_class_without_test_shapes_is_told(shapes, tmp_path, capsys):
    (shapes / "lamp").mkdir()
    (shapes / "lamp" / "only.off").write_text(OFF)
    words = ["data", "pack", str(shapes), str(tmp_path / "pack"), "--points", "8", "--workers", "1"]
    assert main(words) == 0
    assert capsys.readouterr().err.splitlines() == ["note: class 'lamp' has no test shape"]


@pytest.mark.parametrize("when", ["at once", "after some"])
def test_control_c_is_one_line_and_the_same_command_goes_on(shapes, tmp_path, when):
    for number in range(300):
        (shapes / "chair" / f"more{number}.off").write_text(OFF)
    arguments = ["data", "pack", str(shapes), str(tmp_path / "out"), "--points", "4000", "--workers", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "sampled_transformer", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a group of its own, to which Ctrl-C can be sent as a terminal does
        preexec_fn=restore_interrupts,
    )
    work = tmp_path / "out.partial"
    while process.poll() is None and not (list(work.glob("*.npz")) if when == "after some" else work.exists()):
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors == "sampled-transformer: error: stopped; the same command goes on from here\n"
    assert not (tmp_path / "out").exists()
    done = run(*arguments)
    assert done.returncode == 0
    assert ("were finished by an earlier run" in done.stderr) == (when == "after some")
    assert done.stdout.endswith("shapes in 2 classes\n")


def test_options_of_a_data_set_reach_its_reader(tmp_path, capsys):
    """A tree of meshes is packed in parallel unless options ask for what only its reader can do."""
    wedge = OFF.replace("0 0 1", "0 0 9")  # tall in z
    for category in CLASSES["modelnet10"]:
        for split in ("train", "test"):
            path = tmp_path / "ModelNet10" / category / split / f"{category}_0001.off"
            path.parent.mkdir(parents=True)
            path.write_text(wedge)
    tallest = {}
    for up in (None, "y"):
        target = tmp_path / f"pack-{up}"
        options = [] if up is None else ["--options.up", up]
        command = ["data", "pack", "modelnet10", target, "--root", tmp_path / "ModelNet10", "--points", 64, *options]
        assert main([str(word) for word in command]) == 0
        extents = np.ptp(read_pack(target, "train").points.astype(int), axis=1).mean(0)
        tallest[up] = int(extents.argmax())
    assert tallest == {None: 2, "y": 1}


def test_options_for_a_folder_of_ones_own_are_refused(shapes, tmp_path, capsys):
    assert main(["data", "pack", str(shapes), str(tmp_path / "pack"), "--options.up", "y"]) == 2
    assert "options: expected none for a folder or pack of your own, got up" in capsys.readouterr().err
    assert not (tmp_path / "pack").exists()


def test_numbers_from_a_table(shapes, tmp_path, capsys):
    table = tmp_path / "targets.csv"
    rows = [
        f"{path.relative_to(shapes).as_posix()},{1 + number / 2}"
        for number, path in enumerate(sorted(shapes.rglob("*.off")))
    ]
    table.write_text("\n".join(["file,mass", *rows[:-2], "table/3.off,heavy", "table/9.off,1"]) + "\n")
    words = ["data", "pack", str(shapes), str(tmp_path / "pack"), "--targets", str(table), "--points", "16"]
    assert main([*words, "--workers", "1"]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{tmp_path / 'pack'}: train 6, test 2 shapes with mass\n"
    assert captured.err.splitlines() == [
        f"left out: {table}: line 10: expected a finite number for table/3.off, got 'heavy'",
        f"left out: {shapes / 'table' / '4.off'}: no row in {table}",
        f"left out: {table}: no shape table/9.off below {shapes}",
        "2 of 10 files left out: 2 without a number",
    ]
    assert read_pack(tmp_path / "pack", "train").target_name == "mass"
    assert main([*words, "--workers", "1", "--strict", "--force"]) == 1
    capsys.readouterr()
    assert main(["data", "pack", str(tmp_path / "pack"), str(tmp_path / "small"), "--points", "8"]) == 0
    assert capsys.readouterr().out.endswith("shapes with mass\n")
    assert read_pack(tmp_path / "small", "test").has_numbers


def test_patterns_lists_and_urls_become_the_same_pack(shapes, tmp_path, capsys):
    (tmp_path / "list.txt").write_text(f"{shapes}\n")
    packs = []
    for number, source in enumerate((str(shapes), f"{shapes}/**/*", f"@{tmp_path / 'list.txt'}", f"file://{shapes}")):
        target = tmp_path / f"out{number}"
        assert main(["data", "pack", source, str(target), "--points", "32", "--workers", "1"]) == 0
        packs.append([(path.name, path.read_bytes()) for path in sorted(target.iterdir())])
    assert all(pack == packs[0] for pack in packs)


def test_a_root_is_a_local_folder(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["data", "pack", "folder", "out", "--root", "file:///shapes"]) == 2
    captured = capsys.readouterr().err
    assert "root: expected a local folder of shapes, got a URL, " in captured
    assert captured.endswith("; copy the files into one, class/file, first\n")
    assert captured.count("\n") == 1


def test_a_folder_may_look_like_a_pattern(shapes, tmp_path, capsys):
    assert main(["data", "pack", str(shapes.rename(tmp_path / "shapes[1]")), str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "train.npz").is_file()
