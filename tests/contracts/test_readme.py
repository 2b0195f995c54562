"""The README and the pages under docs: examples run as they stand, links lead somewhere, figures are measured."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import sampled_transformer

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = [
    pytest.param(page, number, code, id=f"{page.relative_to(ROOT)}-{number + 1}")
    for page in PAGES
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL))
]


def text_of(page: Path) -> str:
    """A page without its code blocks."""
    return re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as Markdown makes them."""
    headings = re.findall(r"^#+ (.+)$", text_of(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(("page", "number", "code"), EXAMPLES)
def test_example_runs(page: Path, number: int, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if "torch_geometric" in code:
        pytest.importorskip("torch_geometric", reason='it needs pip install "sampled-transformer[pyg]"')
    exec(compile(code, f"{page.name}, example {number + 1}", "exec"), {"__name__": "readme"})


def test_the_layer_takes_ten_lines() -> None:
    code = EXAMPLES[0].values[2]
    assert isinstance(code, str)
    assert EXAMPLES[0].values[0] == README
    assert len(ast.parse(code).body) <= 10


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        if link.startswith("http"):
            continue
        place, _, anchor = link.partition("#")
        target = page.parent / place if place else page
        assert target.is_file(), f"{page.relative_to(ROOT)}: {link}"
        known = f"::: {anchor.rpartition('.')[0]}\n" in target.read_text("utf-8") if "." in anchor else not anchor
        assert known or anchor in anchors(target), f"{page.relative_to(ROOT)}: {link}"


def test_every_public_name_is_on_the_first_page_of_the_api() -> None:
    listed = re.findall(r"\[`(\w+)`\]", (ROOT / "docs" / "api" / "index.md").read_text("utf-8"))
    assert set(sampled_transformer.__all__) <= set(listed)
    assert all(hasattr(sampled_transformer, name) for name in listed)


def test_the_readme_is_short_and_names_both_commands() -> None:
    text = README.read_text("utf-8")
    assert len(text.splitlines()) <= 130
    assert "make demo" in text
    assert "make test" in text


def test_figures_of_the_readme_are_on_the_result_pages() -> None:
    measured = "\n".join(page.read_text("utf-8") for page in (ROOT / "docs" / "results").glob("*.md"))
    known = set(re.findall(r"\d+\.\d+", measured))
    section = text_of(README).partition("## The layer in ten lines")[2].partition("## Read on")[0]
    figures = re.findall(r"(?<![\d.])\d+\.\d+(?= ?%| GB|[ ,)]|$)", section, re.MULTILINE)
    assert len(figures) > 20
    costs = {"1.1", "1.5"}  # rounded from the page on speed
    assert {figure for figure in figures if figure not in known} <= costs


@pytest.mark.parametrize(
    "name", ["experiments.md", "decisions.md", "guide/layer.md", "guide/cycle.md", "guide/speed.md"]
)
def test_figures_of_the_docs_are_on_the_result_pages(name: str) -> None:
    """A figure with two decimals or more is a measurement; settings have fewer, or stand in code."""
    measured = "\n".join(page.read_text("utf-8") for page in (ROOT / "docs" / "results").glob("*.md"))
    known = set(re.findall(r"\d+\.\d+", measured))
    prose = re.sub(r"`[^`]*`|torch \d+\.\d+|decay \d+\.\d+", "", text_of(ROOT / "docs" / name))
    assert {figure for figure in re.findall(r"(?<![\d.])\d+\.\d\d+", prose) if figure not in known} == set()
