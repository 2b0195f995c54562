"""The figures of docs/reliability.md are those in results/."""

from __future__ import annotations

from pathlib import Path

from sampled_transformer_lab.load.tables import main, with_tables

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "reliability.md"


def test_the_page_has_the_figures_of_the_last_runs(tmp_path: Path) -> None:
    page = PAGE.read_text("utf-8")
    assert with_tables(page, ROOT / "results") == page
    (tmp_path / "page.md").write_text(page.replace("| predict |", "| something else |"), "utf-8")
    main([str(tmp_path / "page.md"), "--results", str(ROOT / "results")])
    assert (tmp_path / "page.md").read_text("utf-8") == page
