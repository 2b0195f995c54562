"""`tables page` through the program: a folder of pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sampled_transformer.cli import main


def test_the_folder_is_made_and_its_first_page_links_to_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results, folder = tmp_path / "results", tmp_path / "deep" / "pages"
    (results / "order").mkdir(parents=True)
    result = {"weights": "bricks", "shapes": 4, "points": 8, "shuffles": 1, "changed": {"one pass": 0.25}}
    (results / "order" / "bricks.json").write_text(json.dumps({**result, "command": "python -m order"}))
    assert main(["tables", "page", "--results", str(results), "--page", str(folder)]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["index.md", "point-order.md"]
    assert "(point-order.md)" in (folder / "index.md").read_text("utf-8")
    assert "| one pass | 25.0 |" in (folder / "point-order.md").read_text("utf-8")
    assert capsys.readouterr().out == f"{folder}: 2 pages written from {results}\n"


def test_help_says_that_it_writes_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["tables", "page", "--help"])
    help_text = " ".join(capsys.readouterr().out.split())
    assert "the folder to write" in help_text
    assert "docs/results" in help_text
