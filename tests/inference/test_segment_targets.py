"""Which files are labelled, and where the results go."""

from __future__ import annotations

from pathlib import Path

import pytest

from sampled_transformer.inference.segment_targets import plan_outputs


def touch(*paths: Path) -> list[str]:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return [str(path) for path in paths]


def test_files_keep_their_names_and_folders_their_paths(tmp_path: Path) -> None:
    files = touch(tmp_path / "a.ply", tmp_path / "b.npy", tmp_path / "c.bin")
    touch(tmp_path / "folder" / "d.las", tmp_path / "folder" / "deep" / "e.TXT", tmp_path / "folder" / "notes.md")
    plan = plan_outputs([*files, str(tmp_path / "folder")], tmp_path / "out")
    written = [str(target.relative_to(tmp_path / "out")) for _, target in plan.todo]
    assert written == ["a.ply", "b.npz", "c.label", "d.las", "deep/e.TXT"]
    assert plan.there == plan.problems == []
    assert not (tmp_path / "out").exists()


def test_files_of_the_current_folder_are_labelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    touch(tmp_path / "a.ply")
    (tmp_path / "b.ply").mkdir()  # a folder that happens to have the name of a scan elsewhere
    touch(tmp_path / "else" / "b.ply")
    plan = plan_outputs(["a.ply", "else/b.ply"], Path("labelled"))
    assert plan.todo == [(Path("a.ply"), Path("labelled/a.ply")), (Path("else/b.ply"), Path("labelled/b.ply"))]
    assert plan.problems == []


def test_what_is_there_already_is_left_alone(tmp_path: Path) -> None:
    (one,) = touch(tmp_path / "a.ply")
    touch(tmp_path / "out" / "a.ply")
    assert plan_outputs([one], tmp_path / "out").there == [tmp_path / "a.ply"]
    plan = plan_outputs([one], tmp_path / "out", force=True)
    assert plan.todo == [(tmp_path / "a.ply", tmp_path / "out" / "a.ply")]
    assert plan.there == []


def test_results_inside_the_folder_that_is_searched_are_not_labelled_again(tmp_path: Path) -> None:
    touch(tmp_path / "a.ply", tmp_path / "out" / "b.ply")
    assert [source.name for source, _ in plan_outputs([str(tmp_path)], tmp_path / "out").todo] == ["a.ply"]


def test_problems_are_one_line_each(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    files = touch(tmp_path / "a.ply", tmp_path / "else" / "a.ply", tmp_path / "b.obj", tmp_path / "out" / "c.ply")
    plan = plan_outputs([*files, str(tmp_path / "none.ply"), str(tmp_path / "empty")], tmp_path / "out", force=True)
    assert [source.name for source, _ in plan.todo] == ["a.ply"]
    text = "\n".join(plan.problems)
    for part in ("another name than", "source: expected a scan as", "another folder", "no such file", "got none"):
        assert part in text
    assert len(plan.problems) == 5
    with pytest.raises(ValueError, match="out: expected a folder, got the file"):
        plan_outputs(files, tmp_path / "a.ply")
