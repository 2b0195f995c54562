"""Folders of shapes: layouts, splits, names, links, and what is reported."""

import os
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import trimesh

from sampled_transformer.data import DataError, load_data
from sampled_transformer.data.axes import turn
from sampled_transformer.data.sources.folder import load, scan_folder
from sampled_transformer.data.targets import Targets


def cloud(path: Path, seed: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savetxt(path, np.random.default_rng(seed).normal(size=(20, 3)))
    return path


def tree(root: Path, files: str) -> Path:
    for number, name in enumerate(files.split()):
        cloud(root / name, number)
    return root


def places(root: Path, **options: object) -> dict[str, tuple[str, str, str]]:
    return {e.relative: (e.category, e.name, e.split) for e in scan_folder(root, **options).entries}


def test_split_above_the_class(tmp_path):
    tree(tmp_path, "train/chair/1.xyz train/table/1.xyz test/chair/2.xyz val/chair/3.xyz")
    assert places(tmp_path) == {
        "train/chair/1.xyz": ("chair", "1", "train"),
        "train/table/1.xyz": ("table", "1", "train"),
        "test/chair/2.xyz": ("chair", "2", "test"),
        "val/chair/3.xyz": ("chair", "3", "val"),
    }


def test_split_below_the_class_and_folders_below_it(tmp_path):
    tree(tmp_path, "chair/train/1.xyz chair/test/a/b/2.xyz table/test/1.xyz")
    assert places(tmp_path) == {
        "chair/train/1.xyz": ("chair", "1", "train"),
        "chair/test/a/b/2.xyz": ("chair", "a/b/2", "test"),
        "table/test/1.xyz": ("table", "1", "test"),
    }


def test_train_can_be_a_class(tmp_path):
    tree(tmp_path, "car/1.xyz train/1.xyz")
    assert {category for category, _, _ in places(tmp_path).values()} == {"car", "train"}


def test_entries_are_sorted_by_class_and_name(tmp_path):
    tree(tmp_path, "b/2.xyz b/10.xyz a/9.xyz")
    assert [(e.category, e.name) for e in scan_folder(tmp_path).entries] == [("a", "9"), ("b", "10"), ("b", "2")]


def test_drawn_split_is_stratified_and_repeatable(tmp_path):
    tree(tmp_path, " ".join(f"{c}/{i}.xyz" for c, n in (("a", 50), ("b", 10), ("c", 2), ("d", 1)) for i in range(n)))
    first = places(tmp_path)
    counts = Counter((category, split) for category, _, split in first.values())
    assert counts == {
        ("a", "train"): 40,
        ("a", "test"): 10,
        ("b", "train"): 8,
        ("b", "test"): 2,
        ("c", "train"): 1,
        ("c", "test"): 1,
        ("d", "train"): 1,
    }
    assert places(tmp_path) == first
    assert places(tmp_path, seed=1) != first
    assert {split for _, _, split in places(tmp_path, test_fraction=0).values()} == {"train"}
    cloud(tmp_path / "b" / "new.xyz")  # another class keeps its split
    after = places(tmp_path)
    assert all(after[name] == place for name, place in first.items() if name.startswith("a/"))


def test_drawn_split_is_the_same_everywhere(tmp_path):
    """A recorded split: it must not depend on Python's hashes, the machine or the order of the directory."""
    tree(tmp_path, " ".join(f"a/{i}.xyz" for i in range(10)))
    assert sorted(name for _, name, split in places(tmp_path).values() if split == "test") == ["3", "5"]


def test_hidden_and_other_files_are_passed_over(tmp_path):
    tree(tmp_path, "a/1.xyz a/.hidden.xyz .git/x.xyz __MACOSX/a/._1.xyz a/.cache/2.xyz")
    (tmp_path / "a" / "notes.md").write_text("")
    (tmp_path / "README.md").write_text("")
    listing = scan_folder(tmp_path)
    assert [e.relative for e in listing.entries] == ["a/1.xyz"]
    assert listing.problems == []


def test_two_files_of_one_name(tmp_path):
    tree(tmp_path, "a/chair.xyz b/chair.xyz")
    (tmp_path / "a" / "chair.off").write_text("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")
    listing = scan_folder(tmp_path)
    assert [e.relative for e in listing.entries] == ["a/chair.off", "b/chair.xyz"]
    assert listing.problems == [f"{tmp_path}/a/chair.xyz: same name as chair.off, which is used instead"]


def test_file_without_a_class_or_a_split(tmp_path):
    tree(tmp_path, "lost.xyz a/train/1.xyz a/2.xyz")
    listing = scan_folder(tmp_path)
    assert [e.relative for e in listing.entries] == ["a/train/1.xyz"]
    assert listing.problems == [
        f"{tmp_path}/lost.xyz: not in a class folder",
        f"{tmp_path}/a/2.xyz: not in a train, test or val folder",
    ]


def test_class_without_files(tmp_path):
    tree(tmp_path, "a/1.xyz")
    (tmp_path / "b").mkdir()
    listing = scan_folder(tmp_path)
    assert listing.problems == [f"{tmp_path}/b: class without a readable file"]


def test_links(tmp_path):
    outside = cloud(tmp_path / "outside" / "x.xyz")
    root = tree(tmp_path / "root", "a/1.xyz b/c/2.xyz")
    (root / "a" / "out.xyz").symlink_to(outside)
    (root / "a" / "in.xyz").symlink_to(root / "b" / "c" / "2.xyz")
    (root / "folder").symlink_to(outside.parent)
    (root / "b" / "loop").symlink_to(root)
    listing = scan_folder(root)
    assert [e.relative for e in listing.entries] == ["a/1.xyz", "a/in.xyz", "b/c/2.xyz"]
    assert sorted(listing.problems) == [
        f"{root}/a/out.xyz: a link that leads out of the folder, not followed",
        f"{root}/b/loop: a link to a folder, not followed",
        f"{root}/folder: a link that leads out of the folder, not followed",
        f"{root}/folder: class without a readable file",
    ]


def test_link_to_nothing(tmp_path):
    tree(tmp_path, "a/1.xyz")
    (tmp_path / "a" / "broken.xyz").symlink_to(tmp_path / "nothing.xyz")
    with pytest.warns(UserWarning, match=r"broken\.xyz: No such file"):
        assert len(load(tmp_path, points=4, test_fraction=0)) == 1


def test_root_may_itself_be_a_link(tmp_path):
    tree(tmp_path / "root", "a/1.xyz")
    (tmp_path / "link").symlink_to(tmp_path / "root")
    assert len(scan_folder(tmp_path / "link").entries) == 1


def test_names_that_are_not_utf8(tmp_path):
    folder = os.path.join(os.fsencode(tmp_path), b"stuhl\xe9")
    os.mkdir(folder)
    for name in (b"gr\xfcn.xyz", "grün.xyz".encode(), b"new\nline.xyz"):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(b"0 0 0\n1 1 1\n")
    pack = load(tmp_path, points=4, test_fraction=0)
    assert pack.classes == ("stuhl\\xe9",)
    assert pack.names.tolist() == ["gr\\xfcn", "grün", "new\\nline"]


@pytest.mark.parametrize("content", ["", "sub/", "file.xyz"])
def test_no_shapes(tmp_path, content):
    if content.endswith("/"):
        (tmp_path / content).mkdir()
    elif content:
        cloud(tmp_path / content)
    with pytest.raises(DataError, match="no shapes"):
        scan_folder(tmp_path)


def test_no_folder(tmp_path):
    with pytest.raises(DataError, match="nowhere: no such folder"):
        scan_folder(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="test_fraction: expected"):
        scan_folder(tmp_path, test_fraction=1)


def test_load_leaves_out_what_cannot_be_read(tmp_path):
    tree(tmp_path, "train/a/1.xyz train/b/1.xyz test/b/2.xyz")
    (tmp_path / "train" / "a" / "bad.xyz").write_text("1 2\n")
    with pytest.warns(UserWarning, match=r"bad\.xyz: expected a table"):
        pack = load(tmp_path, "train", points=16)
    assert pack.names.tolist() == ["1", "1"]
    assert pack.labels.tolist() == [0, 1]
    assert pack.classes == ("a", "b")
    assert pack.points.shape == (2, 16, 3)
    assert pack.extras["from_mesh"].tolist() == [False, False]


def test_load_data_takes_the_path_or_the_name(tmp_path):
    tree(tmp_path, "train/a/1.xyz test/a/2.xyz")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_path = load_data(tmp_path, "test", points=8, normals="estimate")
        by_name = load_data("folder", "test", root=tmp_path, points=8, normals="estimate")
    np.testing.assert_array_equal(by_path.points, by_name.points)
    assert by_path.normals.shape == (1, 8, 3)
    with pytest.raises(DataError, match=r"no split 'val'; available splits: test, train"):
        load_data(tmp_path, "val")


def test_load_with_nothing_readable(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.xyz").write_text("")
    with pytest.warns(UserWarning, match="empty file"), pytest.raises(DataError, match="none of the 1 files"):
        load(tmp_path, test_fraction=0)


def scan_with(root, names, table="targets.csv", **options):
    targets = Targets(root.parent / table, "y", dict.fromkeys(names, 1.0))
    return scan_folder(root, targets=targets, **options)


def test_files_with_a_number_need_no_class_folder(tmp_path):
    root = tmp_path / "in"
    for name in ("a.off", "b/c.off", "b/d/e.ply"):
        cloud(root / name)
    listing = scan_with(root, ["a.off", "b/c.off", "b/d/e.ply"], test_fraction=0)
    found = [(entry.relative, entry.category, entry.name, entry.split) for entry in listing.entries]
    assert found == [("a.off", "", "a", "train"), ("b/c.off", "", "b/c", "train"), ("b/d/e.ply", "", "b/d/e", "train")]
    assert listing.problems == []


@pytest.mark.parametrize(("train", "test"), [("train/a.off", "test/a.off"), ("b/train/a.off", "b/test/a.off")])
def test_a_split_of_files_with_numbers(tmp_path, train, test):
    root = tmp_path / "in"
    cloud(root / train)
    cloud(root / test)
    listing = scan_with(root, [train, test])
    assert {entry.relative: entry.split for entry in listing.entries} == {train: "train", test: "test"}
    assert listing.split_is_given


def test_a_random_fifth_of_files_with_numbers_is_for_testing(tmp_path):
    root = tmp_path / "in"
    names = [f"{'xy'[i % 2]}/{i}.off" for i in range(10)]
    for name in names:
        cloud(root / name)
    splits = [[entry.split for entry in scan_with(root, names, seed=seed).entries] for seed in (1, 1, 2, 3, 4)]
    assert all(one.count("test") == 2 for one in splits)
    assert splits[0] == splits[1]
    assert any(splits[0] != other for other in splits[2:])


def test_rows_without_a_file_and_files_without_a_row(tmp_path):
    root = tmp_path / "in"
    for name in ("a.off", "b.off", "bad.off", "twice.off", "twice.ply"):
        cloud(root / name)
    cloud(root / "targets.csv")  # the table may lie beside the shapes, although a .csv file may be a cloud
    values = {"a.off": 1.0, "bad.off": None, "gone.off": 2.0, "twice.ply": 3.0}
    listing = scan_folder(root, targets=Targets(root / "targets.csv", "y", values, ("targets.csv: line 3: bad",)))
    assert [entry.relative for entry in listing.entries] == ["a.off", "twice.ply"]
    assert listing.problems == [
        "targets.csv: line 3: bad",
        f"{root / 'b.off'}: no row in {root / 'targets.csv'}",
        f"{root / 'twice.off'}: no row in {root / 'targets.csv'}",
        f"{root / 'targets.csv'}: no shape gone.off below {root}",
    ]


def test_a_table_of_other_files_is_one_error(tmp_path):
    cloud(tmp_path / "in" / "a.off")
    with pytest.raises(DataError, match=r"targets\.csv: expected paths of shapes below .*in, such as a\.off, got in/a"):
        scan_with(tmp_path / "in", ["in/a.off"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"expected paths of shapes below .*empty, where there are none, got a\.off"):
        scan_with(tmp_path / "empty", ["a.off"])


def test_gltf_files_are_turned_and_up_is_one_axis_for_all(tmp_path):
    box = trimesh.creation.box((1, 2, 3))
    for name in ("a/1.glb", "a/2.glb", "b/1.glb", "b/2.glb"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        box.export(tmp_path / name)
    by_format, given, as_it_is = (load(tmp_path, points=2000, up=up) for up in (None, "y", "z"))
    assert np.array_equal(by_format.points, given.points)
    upright = turn(as_it_is.points, "y")  # the points are drawn after the turn, so that they are others
    for end in (np.min, np.max):
        np.testing.assert_allclose(end(by_format.points, axis=1), end(upright, axis=1), atol=1500)  # of 32767
    assert np.abs(as_it_is.normals.astype(int)).sum(1)[0].argsort().tolist() == [2, 1, 0]  # the smallest side is 1 by 2
    assert np.abs(by_format.normals.astype(int)).sum(1)[0].argsort().tolist() == [1, 2, 0]
    assert by_format.up == given.up == "z"
    with pytest.raises(ValueError, match="up: expected one of"):
        load(tmp_path, up="auto")
