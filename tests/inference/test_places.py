"""Which files are meant: named ones as they are, and known formats in folders, sorted."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def unprivileged() -> Iterator[None]:
    """Without the rights of the superuser, who may read everything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_place_that_cannot_be_searched_costs_its_own_answer() -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for folder in (root, root / "closed", root / "open", root / "open" / "within", root / "listed"):
            folder.mkdir(exist_ok=True)
            (folder / "a.off").touch()
            folder.chmod(0o755)
        closed = (root / "closed", root / "open" / "within")
        for folder in closed:
            folder.chmod(0)
        (root / "listed").chmod(0o744)  # its names can be read, but not its files
        long = f"{root}/{'x' * 300}.off"
        places = [str(root / "closed"), long, "none*" + "x" * 300, str(root / "open"), str(root / "listed")]
        with unprivileged():
            found = list(files_below([*places, f"{root}/closed/a.off", f"@{root}/none.txt", f"{root}/a.off"]))
        for folder in closed:
            folder.chmod(0o755)
    assert [str(one).removeprefix(f"{root}/") for one in found] == [
        "closed: Permission denied",
        f"{'x' * 300}.off",
        f"none*{'x' * 300}: no file of a known format matches",
        "open/a.off",
        "open/within: Permission denied",
        "listed/a.off",
        "closed/a.off",
        "none.txt: No such file or directory; expected a list of files",
        "a.off",
    ]
    assert [isinstance(one, EmptyFolder) for one in found] == [
        True,
        False,
        True,
        False,
        True,
        False,
        False,
        True,
        False,
    ]


def test_work_does_not_begin_if_a_place_has_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"\*.off: no file of a known format matches"):
        list(names_below([str(tmp_path / "*.off")]))
    with pytest.raises(DataError, match=r"none.txt: No such file or directory; expected a list of files"):
        list(names_below([f"@{tmp_path}/none.txt"]))
    assert list(names_below(["a.off"])) == ["a.off"]
