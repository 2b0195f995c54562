"""Where measurements leave their pages and figures, and the command that the pages show."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sampled_transformer.commands.pages import Target, command_line, target

pytest.importorskip("plotly")


def test_a_run_keeps_its_evaluations_beside_its_own_report(tmp_path: Path) -> None:
    found = target("evaluate", str(tmp_path))
    assert (found.page, found.figures) == (tmp_path / "evaluate/report.html", tmp_path / "evaluate/result.json")
    (tmp_path / "model.safetensors").write_bytes(b"")
    assert target("evaluate", str(tmp_path / "model.safetensors")) == found
    assert not (tmp_path / "evaluate").exists()  # nothing is made before there is something to write


@pytest.mark.parametrize(
    ("about", "folder"),
    [("bricks", "runs/evaluate-bricks"), ("some/mine.safetensors", "runs/evaluate-mine"), ("a b", "runs/evaluate-a b")],
)
def test_what_belongs_to_no_run_is_below_runs(about: str, folder: str) -> None:
    assert target("evaluate", about).page == Path(folder) / "report.html"


def test_the_user_may_name_a_file_or_a_folder_or_nothing(tmp_path: Path) -> None:
    assert target("evaluate", "x", page=str(tmp_path / "own.html")) == Target(tmp_path / "own.html", asked=True)
    found = target("evaluate", "x", out=str(tmp_path / "new" / "place"), figures="robustness.json")
    assert (found.page, found.asked) == (tmp_path / "new" / "place" / "report.html", True)
    assert found.figures == tmp_path / "new" / "place" / "robustness.json"
    assert not target("evaluate", "x", report=False)


@pytest.mark.parametrize("name", ["", "missing/page.html"])
def test_a_page_needs_a_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^page: expected a file in a folder that exists, got "):
        target("evaluate", "x", page=str(tmp_path / name))


def test_a_folder_is_no_file_and_has_its_own_page(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(ValueError, match=r"^out: expected a folder, got the file "):
        target("evaluate", "x", out=str(tmp_path / "file"))
    with pytest.raises(ValueError, match=r"^page: expected none with --out, whose folder has one, got "):
        target("evaluate", "x", page=str(tmp_path / "page.html"), out=str(tmp_path))


def test_figures_and_page_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = target("evaluate", str(tmp_path))
    found.write({"mean": 0.5}, lambda file: file.write_text("page", "utf-8") and None)
    assert json.loads((tmp_path / "evaluate" / "result.json").read_text("utf-8")) == {"mean": 0.5}
    assert (tmp_path / "evaluate" / "report.html").read_text("utf-8") == "page"
    assert capsys.readouterr().err == f"{tmp_path / 'evaluate' / 'report.html'}: written\n"


def test_a_place_that_cannot_be_written_costs_a_message_unless_it_was_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "evaluate").write_text("in the way", "utf-8")
    target("evaluate", str(tmp_path)).write({}, lambda _: None)
    said = capsys.readouterr().err
    assert said.startswith(f"{tmp_path / 'evaluate' / 'report.html'}: not written (")
    assert said.endswith("); --out FOLDER chooses another place\n")
    with pytest.raises(OSError, match="evaluate"):
        Target(figures=tmp_path / "evaluate" / "result.json", asked=True).write({}, lambda _: None)


def test_the_command_shows_no_folders_and_no_defaults() -> None:
    asked = {"data": "/home/me/my shapes", "samples": 8, "votes": None, "json": False, "force": True, "points": (3, 9)}
    shown = command_line("evaluate", "/home/me/run", **asked)
    assert shown == "sampled-transformer evaluate run --data 'my shapes' --samples 8 --force --points '[3, 9]'"
