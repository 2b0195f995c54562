"""Files of patterns, lists and URLs as one folder."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
import trimesh

from sampled_transformer.data.errors import DataError
from sampled_transformer.inference.gathering import below_common, gathered, is_many


def shapes(folder: Path) -> Path:
    for name in ("box/a.off", "box/b.off", "ball/c.off"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        mesh = trimesh.creation.box() if name.startswith("box") else trimesh.creation.icosphere(1)
        mesh.export(folder / name)
    return folder


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_what_is_many(tmp_path: Path) -> None:
    assert is_many("@list.txt")
    assert is_many("s3://bucket/shapes")
    assert is_many("shapes/**/*.off")
    assert not is_many("bricks")
    assert not is_many(str(tmp_path))
    (tmp_path / "a*").mkdir()
    assert not is_many(str(tmp_path / "a*"))


def test_patterns_lists_and_urls_give_the_same_folder(tmp_path: Path) -> None:
    folder = shapes(tmp_path / "shapes")
    listed = tmp_path / "list.txt"
    listed.write_text(f"{folder}/box\n{folder}/ball/c.off\n")
    for source in (f"{folder}/**/*.off", f"@{listed}", f"file://{folder}"):
        with gathered(source) as found:
            assert names(found) == ["ball/c.off", "box/a.off", "box/b.off"]
            assert (found / "box/a.off").read_bytes() == (folder / "box/a.off").read_bytes()
        assert not found.exists()
    assert names(folder) == ["ball/c.off", "box/a.off", "box/b.off"]


def test_files_of_one_folder_keep_its_name(tmp_path: Path) -> None:
    with gathered(f"{shapes(tmp_path / 'shapes')}/box/*.off") as found:
        assert names(found) == ["box/a.off", "box/b.off"]


def test_the_split_is_kept_and_depths_may_differ() -> None:
    paths = [PurePosixPath(name) for name in ("d/train/box/a.off", "d/test/box/b.off")]
    assert below_common(paths) == [("train", "box", "a.off"), ("test", "box", "b.off")]
    assert below_common([PurePosixPath("a.off")]) == [("a.off",)]


def test_nothing_found_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file of a known format matches"), gathered(f"{tmp_path}/*.off"):
        pass
