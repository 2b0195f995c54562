"""Packing a folder: the result, resuming, every kind of bad file, and what remains after an interrupted run."""

import contextlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.data import DataError, read_pack
from sampled_transformer.data.packing import NothingPacked, one_writer, pack_folder
from sampled_transformer.data.sources.folder import load
from sampled_transformer.data.targets import Targets

TETRAHEDRON = "OFF\n4 4 0\n0 0 0\n1 0 0\n0 1 0\n0 0 {}\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n"


def mesh(path: Path, height: float = 1) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TETRAHEDRON.format(height))
    return path


def tree(root: Path, classes: str = "ab", count: int = 5) -> Path:
    for category in classes:
        for number in range(count):
            mesh(root / category / f"{number}.off", 1 + number)
    return root


def read_both(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_result(tmp_path):
    report = pack_folder(tree(tmp_path / "in"), tmp_path / "out", points=64, workers=1)
    assert report.counts == {"train": 8, "test": 2}
    assert report.classes == ("a", "b")
    assert report.problems == report.notes == []
    assert sorted(os.listdir(tmp_path)) == ["in", "out"]
    train, test = (read_pack(tmp_path / "out", split) for split in ("train", "test"))
    assert train.points.shape == train.normals.shape == (8, 64, 3)
    assert test.classes == train.classes == ("a", "b")
    assert np.bincount(train.labels).tolist() == [4, 4]
    assert train.extras["from_mesh"].all()
    assert {*train.names, *test.names} == set("01234")


def test_any_number_of_workers_and_load_give_the_same(tmp_path):
    source = tree(tmp_path / "in", count=40)
    for workers in (1, 3):
        pack_folder(source, tmp_path / str(workers), points=32, workers=workers, seed=5)
    assert read_both(tmp_path / "1") == read_both(tmp_path / "3")
    loaded, packed = load(source, "test", points=32, seed=5), read_pack(tmp_path / "1", "test")
    for name in ("points", "normals", "labels", "names"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(packed, name))
    pack_folder(source, tmp_path / "other", points=32, workers=1, seed=6)
    assert read_both(tmp_path / "other") != read_both(tmp_path / "1")


@pytest.mark.parametrize("ending", ["off", "xyz"])
def test_a_mesh_or_cloud_has_the_same_points_whichever_axis_is_up(tmp_path, ending):
    random = np.random.default_rng(0)
    for category in "ab":
        for number in range(2):
            points = random.normal(size=(4 if ending == "off" else 500, 3)).round(3)
            for folder, own in (("z", points), ("y", points[:, [0, 2, 1]] * [1, 1, -1])):
                path = tmp_path / folder / category / f"{number}.{ending}"
                path.parent.mkdir(parents=True, exist_ok=True)
                lines = "\n".join(" ".join(map(str, row)) for row in own)
                faces = "\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3"
                path.write_text(f"OFF\n4 4 0\n{lines}{faces}" if ending == "off" else lines)
    packs = []
    for up in "zy":
        pack_folder(tmp_path / up, tmp_path / f"pack-{up}", points=64, workers=1, up=up)
        packs.append(read_pack(tmp_path / f"pack-{up}", "train"))
    np.testing.assert_array_equal(packs[0].points, packs[1].points)
    if ending == "off":
        np.testing.assert_array_equal(packs[0].normals, packs[1].normals)


def test_one_file_as_target(tmp_path):
    report = pack_folder(tree(tmp_path / "in"), tmp_path / "all.npz", points=16, workers=1)
    assert report.counts == {"all": 10}
    assert len(read_pack(tmp_path / "all.npz")) == 10
    for split in ("train", "test"):
        mesh(tmp_path / "split" / split / "a" / "1.off")
    with pytest.raises(DataError, match=r"target: expected a folder, because .* has a split"):
        pack_folder(tmp_path / "split", tmp_path / "all.npz", points=16, workers=1)


def test_normals_are_for_all_or_none(tmp_path):
    mesh(tmp_path / "in" / "a" / "1.off")
    np.savetxt(tmp_path / "in" / "a" / "2.xyz", np.random.default_rng(0).normal(size=(30, 3)))
    options = {"points": 16, "workers": 1, "test_fraction": 0}
    report = pack_folder(tmp_path / "in", tmp_path / "keep", **options)
    assert report.notes == [
        "1 of 2 shapes have no normals, so the pack has none; use --normals estimate to fill them in"
    ]
    assert read_pack(tmp_path / "keep", "train").normals is None
    report = pack_folder(tmp_path / "in", tmp_path / "estimate", normals="estimate", **options)
    assert report.notes == []
    assert read_pack(tmp_path / "estimate", "train").normals.any(-1).all()
    pack_folder(tmp_path / "in", tmp_path / "none", normals="none", **options)
    assert read_pack(tmp_path / "none", "train").normals is None


BAD = {
    "empty.off": b"",
    "truncated.off": TETRAHEDRON.format(1)[:60].encode(),
    "lie.ply": b"ply\nformat ascii 1.0\nelement vertex 999999999999\nproperty float x\nend_header\n1\n",
    "nan.off": TETRAHEDRON.format("nan").encode(),
    "infinite.off": TETRAHEDRON.format("inf").encode(),
    "flat.off": b"OFF\n3 1 0\n0 0 0\n1 1 1\n2 2 2\n3 0 1 2\n",
    "point.xyz": b"1 2 3\n",
    "ragged.csv": b"1,2,3\n4,5\n",
    "broken.npz": b"PK\3\4 no archive",
    "code.npy": b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(127) + b"\nN.",
}


def test_every_bad_file_is_one_line_and_the_others_are_packed(tmp_path):
    source = tree(tmp_path / "in")
    for name, data in BAD.items():
        (source / "a" / name).write_bytes(data)
    (source / "a" / "0.ply").write_bytes(b"")  # the name of 0.off
    (source / "a" / "out.off").symlink_to(mesh(tmp_path / "outside.off"))
    strange = os.fsdecode(os.path.join(os.fsencode(source), b"a/\xff\xfe.off"))
    Path(strange).write_bytes(b"OFF")
    (source / "c").mkdir()
    (source / "c" / "only.off").write_bytes(b"")
    (source / "d").mkdir()
    report = pack_folder(source, tmp_path / "out", points=16, workers=2)
    assert sum(report.counts.values()) == 10
    assert report.classes == ("a", "b")
    for name in [*BAD, "0.ply", "out.off", "\\xff\\xfe.off", "c/only.off"]:
        assert len([line for line in report.problems if name + ": " in line]) == 1, name
    assert f"{source}: class 'c' has no readable file" in report.problems
    assert f"{source / 'd'}: class without a readable file" in report.problems
    assert len(report.problems) == len(BAD) + 6
    assert all("\n" not in line for line in report.problems)
    assert sorted(os.listdir(tmp_path)) == ["in", "out", "outside.off"]


def test_nothing_readable_writes_nothing_and_tells_all(tmp_path):
    for name in ("1.off", "2.off"):
        path = tmp_path / "in" / "a" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    with pytest.raises(NothingPacked, match="no file could be read") as error:
        pack_folder(tmp_path / "in", tmp_path / "out", workers=1)
    assert len(error.value.problems) == 2
    assert os.listdir(tmp_path) == ["in"]


PROGRAM = """
import sys
from sampled_transformer.data.packing import pack_folder
if __name__ == "__main__":
    pack_folder(sys.argv[1], sys.argv[2], points=3_000, workers=2)
"""


def stop_when_some_are_done(source: Path, target: Path, how: signal.Signals) -> int:
    """Start packing in another process, send it a signal after its first chunk, and return its exit code."""
    script = source.parent / "program.py"
    script.write_text(PROGRAM)
    words = [sys.executable, str(script), str(source), str(target)]
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL, start_new_session=True)
    work = target.with_name(target.name + ".partial")
    while process.poll() is None and not list(work.glob("*.npz")):
        time.sleep(0.005)
    process.send_signal(how)
    code = process.wait(30)
    with contextlib.suppress(ProcessLookupError):  # surviving workers would write another chunk
        os.killpg(process.pid, signal.SIGKILL)
    return code


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_stopped_run_goes_on_where_it_was(tmp_path, how):
    source = tree(tmp_path / "in", count=120)
    assert stop_when_some_are_done(source, tmp_path / "out", how) != 0
    assert not (tmp_path / "out").exists()
    done = list((tmp_path / "out.partial").glob("*.npz"))
    assert done
    report = pack_folder(source, tmp_path / "out", points=3_000, workers=1)
    assert len(report.notes) == 1
    assert "shapes were finished by an earlier run" in report.notes[0]
    assert 0 < int(report.notes[0].split()[0]) < 240
    assert not (tmp_path / "out.partial").exists()
    pack_folder(source, tmp_path / "whole", points=3_000, workers=2)
    assert read_both(tmp_path / "out") == read_both(tmp_path / "whole")


def test_changed_files_options_and_damaged_chunks_are_read_again(tmp_path):
    source = tree(tmp_path / "in", count=100)
    stop_when_some_are_done(source, tmp_path / "out", signal.SIGKILL)
    work = tmp_path / "out.partial"
    shutil.copytree(work, tmp_path / "copy.partial")
    for path in work.glob("*.npz"):
        path.write_bytes(path.read_bytes()[:-30])
    (work / ".left.npz.tmp").write_bytes(b"half")
    report = pack_folder(source, tmp_path / "out", points=3_000, workers=1)
    assert report.notes == []
    for path in source.rglob("*.off"):
        mesh(path, 9)
    report = pack_folder(source, tmp_path / "copy", points=3_000, workers=1)
    assert report.notes == []
    assert read_both(tmp_path / "copy") != read_both(tmp_path / "out")


def test_new_pack_takes_the_place_of_an_old_one(tmp_path):
    source = tree(tmp_path / "in")
    pack_folder(source, tmp_path / "out", points=16, workers=1)
    pack_folder(source, tmp_path / "out", points=8, workers=1, test_fraction=0)
    assert sorted(os.listdir(tmp_path / "out")) == ["train.npz"]  # the old test.npz may have had other classes
    assert read_pack(tmp_path / "out", "train").points.shape == (10, 8, 3)


def kill_the_worker_once_it_has_read(count: int) -> None:
    """Kill a child process that has read `count` bytes, which only the large file can cause."""
    while True:
        for child in multiprocessing.active_children():
            try:
                fields = Path(f"/proc/{child.pid}/io").read_text().split()
            except (OSError, ValueError):
                continue
            if fields and int(fields[1]) > count:
                child.kill()
                return
        time.sleep(0.005)


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="reads the bytes a process has read from /proc")
def test_worker_that_dies_costs_one_file(tmp_path):
    source = tree(tmp_path / "in")
    slow = source / "b" / "slow.xyz"
    slow.write_bytes(b"0.125 0.25 0.5\n0.75 0.875 0.0625\n" * 1_000_000)  # the largest file is the first to be read
    # Once the bytes are in, a second or more of parsing is left, on any machine much longer than the killer sleeps.
    half = slow.stat().st_size // 2
    killer = threading.Thread(target=kill_the_worker_once_it_has_read, args=(half,), daemon=True)
    killer.start()
    report = pack_folder(source, tmp_path / "out", points=16, workers=1, test_fraction=0)
    killer.join(30)
    assert report.counts == {"train": 10}
    assert len(report.problems) == 1
    assert report.problems[0].startswith(f"{slow}: the process that read it died (signal 9)")


def test_target_that_cannot_be_written(tmp_path):
    source = tree(tmp_path / "in")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="expected a folder"):
        pack_folder(source, tmp_path / "file", workers=1)
    with pytest.raises(DataError, match=r"target: expected a place that can be written, got .* \("):
        pack_folder(source, tmp_path / "file" / "below", workers=1)
    for options in ({"workers": 0}, {"points": 0}):
        with pytest.raises(ValueError, match=r"(workers: expected at least 1,|points: expected 1 )"):
            pack_folder(source, tmp_path / "out", **options)
    with pytest.raises(ValueError, match="normals: expected"):
        pack_folder(source, tmp_path / "out", normals="some", workers=1)
    # A pack inside the folder would count as a class the next time.
    with pytest.raises(DataError, match=r"target: expected a path outside the folder of shapes, got .*out"):
        pack_folder(source, source / "out", workers=1)
    assert sorted(os.listdir(tmp_path)) == ["file", "in"]


def test_numbers_become_labels(tmp_path):
    for number in range(10):
        mesh(tmp_path / "in" / f"{number}.off", 1 + number)
    values = {f"{number}.off": 10.5 * number for number in range(10)} | {"3.off": None}
    targets = Targets(tmp_path / "t.csv", "height", values, ("t.csv: line 5: bad",))
    report = pack_folder(tmp_path / "in", tmp_path / "out", points=16, workers=1, targets=targets)
    assert (report.counts, report.classes, report.target_name) == ({"train": 7, "test": 2}, (), "height")
    assert report.problems == ["t.csv: line 5: bad"]
    found = {}
    for split in ("train", "test"):
        pack = read_pack(tmp_path / "out", split)
        assert (pack.classes, pack.target_name) == ((), "height")
        found |= dict(zip(pack.names.tolist(), pack.labels.tolist(), strict=True))
    assert found == {str(number): 10.5 * number for number in range(10) if number != 3}


def test_an_unreadable_file_with_a_number_is_left_out_of_a_single_pack(tmp_path):
    mesh(tmp_path / "in" / "a.off")
    (tmp_path / "in" / "b.off").write_text("OFF\n")
    targets = Targets(tmp_path / "t.csv", "y", {"a.off": 1.0, "b.off": 2.0})
    report = pack_folder(tmp_path / "in", tmp_path / "out.npz", points=16, workers=1, targets=targets)
    assert report.counts == {"all": 1}
    assert len(report.problems) == 1
    assert "b.off" in report.problems[0]
    assert read_pack(tmp_path / "out.npz").labels.tolist() == [1.0]


def test_columns_that_are_not_used_are_noted_once_per_format(tmp_path, recwarn):
    for number in range(4):
        for name, width in (("a.txt", 4), ("b.xyz", 7), ("c.xyz", 3)):
            path = tmp_path / "shapes" / "thing" / f"{number}{name}"
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savetxt(path, np.random.default_rng(number).uniform(2, 9, (20, width)))
    report = pack_folder(tmp_path / "shapes", tmp_path / "pack", points=16, workers=1)
    end = "; a shape has points and unit normals"
    assert report.notes == [
        f"column 4 not used in 4 .txt files (first: thing/0a.txt){end}",
        f"columns 4 to 7 not used in 4 .xyz files (first: thing/0b.xyz){end}",
    ]
    assert not recwarn.list


def test_one_writer_per_pack(tmp_path):
    source = tree(tmp_path / "in")
    for target in (tmp_path / "out", tmp_path / "out.npz"):
        with one_writer(target):
            with pytest.raises(
                DataError, match=r"^target: expected a place that no other process writes to, got .*out.*, which"
            ):
                pack_folder(source, target, workers=1)
            assert not target.exists()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".train.npz.0123abcd.tmp").touch()
    (tmp_path / ".out.npz.0123abcd.tmp").touch()
    pack_folder(source, tmp_path / "out", workers=1)
    pack_folder(source, tmp_path / "out.npz", workers=1)
    assert not list(tmp_path.rglob(".*"))
