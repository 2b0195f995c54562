"""Which files are meant: named ones as they are, and known formats in folders, sorted."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.remote import Url
from sampled_transformer.inference.places import EmptyFolder, files_below, names_below, place_of


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


def test_patterns_lists_and_urls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a/1.off", "a/b/2.off", "a/b/no.png", "a/b/.hidden.off", "[x].off", "@at.off"):
        Path(name).parent.mkdir(exist_ok=True, parents=True)
        Path(name).touch()
    Path("list.txt").write_text(f"a/1.off\n\n  [x].off \nfile://{tmp_path}/a\n@at.off\na/*/*.off\n")

    def found(*places: str) -> list[str]:
        return list(map(str, files_below(places)))

    assert found("a/**/*.off") == ["a/1.off", "a/b/2.off"]
    assert found("a/**") == ["a/1.off", "a/b/2.off"]
    assert found("[x].off") == ["[x].off"]  # a file of this name comes before a pattern
    assert found("@at.off") == ["@at.off"]
    remote = [f"file://{tmp_path}/a/1.off", f"file://{tmp_path}/a/b/2.off"]
    assert found("@list.txt") == ["a/1.off", "[x].off", *remote, "@at.off", "a/b/2.off"]
    assert found(f"file://{tmp_path}/a/**/*.off") == remote
    assert found(f"file://{tmp_path}/none.off") == [f"file://{tmp_path}/none.off"]
    assert [type(place_of(name)) for name in (remote[0], "a/1.off")] == [Url, type(Path())]
    (empty,) = files_below(["a/*.zzz"])
    assert str(empty) == "a/*.zzz: no file of a known format matches"
    (empty,) = files_below([f"file://{tmp_path}/*.zzz"])
    assert str(empty) == f"file://{tmp_path}/*.zzz: no file of a known format there"


def test_work_does_not_begin_if_a_place_has_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"\*.off: no file of a known format matches"):
        list(names_below([str(tmp_path / "*.off")]))
    with pytest.raises(DataError, match=r"none.txt: No such file or directory; expected a list of files"):
        list(names_below([f"@{tmp_path}/none.txt"]))
    assert list(names_below(["a.off"])) == ["a.off"]
