"""Which files are labelled, and where the results go."""

from __future__ import annotations

from pathlib import Path

import pytest

from sampled_transformer.engine.job import Failure
from sampled_transformer.inference.places import EmptyFolder
from sampled_transformer.inference.segment_targets import job_outputs, plan_outputs


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


def test_hidden_files_and_folders_of_a_searched_folder_are_left_out(tmp_path: Path) -> None:
    """Such as those that macOS writes beside every file, which have its suffix."""
    scans = tmp_path / ".above" / "scans"  # what is above the folder does not count
    touch(scans / "a.ply", scans / "._a.ply", scans / ".trash" / "b.ply")
    plan = plan_outputs([str(scans)], tmp_path / "out")
    assert [source.name for source, _ in plan.todo] == ["a.ply"]
    assert plan.problems == []
    (named,) = touch(tmp_path / ".c.ply")
    assert [source.name for source, _ in plan_outputs([named], tmp_path / "out").todo] == [".c.ply"]


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


def test_patterns_and_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of a pattern keep their paths below its fixed part, and results are not labelled again."""
    monkeypatch.chdir(tmp_path)
    touch(*(tmp_path / name for name in ("in/a/x.ply", "in/b/x.ply", "in/b/notes.md", "in/out/a/x.ply", "y[1].ply")))
    (tmp_path / "scans.list").write_text("in/*/*.ply\n\ny[1].ply\n")
    expected = {"in/a/x.ply": "a/x.ply", "in/b/x.ply": "b/x.ply", "y[1].ply": "y[1].ply"}
    assert job_outputs(["@scans.list"], Path("in/out")) == expected
    plan = plan_outputs(["@scans.list"], Path("in/out"), force=True)
    assert plan.todo == [(Path(name), Path("in/out", target)) for name, target in expected.items()]
    assert job_outputs(["i*/a/*", str(tmp_path / "in" / "b" / "*")], Path("out")) == {
        "in/a/x.ply": "in/a/x.ply",
        str(tmp_path / "in/b/x.ply"): "x.ply",
    }
    assert "no file of a known format matches" in plan_outputs(["*.las"], Path("out")).problems[0]


def test_urls(tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    touch(tmp_path / "in" / "a.ply", tmp_path / "in" / "deep" / "b.npy", tmp_path / "in" / "notes.md")
    url = f"file://{tmp_path}/in"
    names = {f"{url}/a.ply": "a.ply", f"{url}/deep/b.npy": "deep/b.npz"}
    for place in (url, f"{url}/", f"{url}/**"):
        assert job_outputs([place], tmp_path / "out") == names
    assert job_outputs([f"{url}/deep/b.npy"], tmp_path / "out") == {f"{url}/deep/b.npy": "b.npz"}
    assert [target for _, target in plan_outputs([url], tmp_path / "out").todo] == [
        tmp_path / "out" / target for target in names.values()
    ]


def test_urls_that_are_listed_with_other_slashes(tmp_path: Path) -> None:
    system = pytest.importorskip("fsspec").filesystem("memory")
    for name in ("a.ply", "deep/a.ply", "../../b.ply"):
        system.pipe_file(f"/bucket-of-scans/{name}", b"")
    found = job_outputs(["memory://bucket-of-scans"], tmp_path / "out")
    system.rm("/bucket-of-scans", recursive=True)
    assert list(found.values()) == ["a.ply", "deep/a.ply"]


def test_no_result_outside_the_folder(tmp_path: Path) -> None:
    touch(tmp_path / "in" / "deep" / "a.ply")
    plan = plan_outputs([str(tmp_path / "in" / "*" / ".." / ".." / "in" / "deep" / "a.ply")], tmp_path / "out")
    assert plan.todo == []
    assert "expected a result in " in plan.problems[0]


def test_a_job_has_every_file_once_and_a_reason_for_those_without_a_result(tmp_path: Path) -> None:
    files = touch(tmp_path / "a.ply", tmp_path / "else" / "a.ply", tmp_path / "b.obj")
    missing = str(tmp_path / "none.ply")
    touch(tmp_path / "out" / "a.ply")  # of the run before
    found = job_outputs([*files, files[0], missing], tmp_path / "out")
    assert list(found) == [*files, missing]
    assert (found[files[0]], found[missing]) == ("a.ply", "none.ply")
    for name, part in ((files[1], "another name than"), (files[2], "source: expected a scan as")):
        one = found[name]
        assert isinstance(one, Failure)
        assert one.reason.startswith(f"{name}: ")
        assert part in one.reason
    (tmp_path / "empty").mkdir()
    with pytest.raises(EmptyFolder, match="expected scans in the folder, got none"):
        job_outputs([str(tmp_path / "empty")], tmp_path / "out")
