"""Which files are meant: named ones as they are, and known formats in folders, sorted."""

from __future__ import annotations

import pickle
from pathlib import Path

from sampled_transformer.inference.places import EmptyFolder, files_below


def test_folders_are_searched_in_the_order_of_paths(tmp_path: Path) -> None:
    names = ["b/2.off", "b/1.ply", "b.off", "a.xyz", "c/d/e.npy", ".hidden.off", ".git/x.off", "b/no.png"]
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.touch()
    (tmp_path / "link").symlink_to(tmp_path / "b", target_is_directory=True)
    found = [path.relative_to(tmp_path).as_posix() for path in files_below([str(tmp_path)])]
    assert found == ["a.xyz", "b/1.ply", "b/2.off", "b.off", "c/d/e.npy"]
    assert found == [path.as_posix() for path in sorted(map(Path, found))]


def test_named_files_need_no_known_ending_and_empty_folders_are_told(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    named, empty = files_below([str(tmp_path / "none.what"), str(tmp_path / "empty")])
    assert named == tmp_path / "none.what"
    again = pickle.loads(pickle.dumps(empty))
    assert isinstance(again, EmptyFolder)
    assert str(again) == str(empty) == f"{tmp_path}/empty: no file of a known format in this folder"
