"""Where pages of measurements go, and the command that they show."""

from __future__ import annotations

from pathlib import Path

import pytest

from sampled_transformer.commands.pages import command_line, page_file


def test_the_folder_of_a_run_gets_a_page_without_being_asked(tmp_path: Path) -> None:
    assert page_file(None, str(tmp_path)) == tmp_path / "evaluation.html"
    assert page_file(None, "bricks") is None  # shipped weights have no folder of their own
    assert page_file(None) is None
    assert page_file(str(tmp_path / "own.html"), str(tmp_path)) == tmp_path / "own.html"


@pytest.mark.parametrize("name", ["", "missing/page.html"])
def test_a_page_needs_a_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^page: expected a file in a folder that exists, got "):
        page_file(str(tmp_path / name))


def test_the_command_shows_no_folders_and_no_defaults() -> None:
    asked = {"data": "/home/me/my shapes", "samples": 8, "votes": None, "json": False, "force": True, "points": (3, 9)}
    shown = command_line("evaluate", "/home/me/run", **asked)
    assert shown == "sampled-transformer evaluate run --data 'my shapes' --samples 8 --force --points '[3, 9]'"
