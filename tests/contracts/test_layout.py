"""The house: tests mirror the sources, arrows point one way, and the library does not know the laboratory."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {"sampled_transformer": Path(), "sampled_transformer_lab": Path("lab")}  # and where their tests are
ACROSS = ("contracts", "helpers")  # tests that hold across files, and what tests share

# A room may import the rooms before it, and its own. Rooms in one row may import each other.
FLOORS = [
    ["support"],
    ["engine"],
    ["sets"],
    ["geometry"],
    ["cycles"],
    ["randomness"],
    ["layers"],
    ["attention"],
    ["blocks", "drop_in"],
    ["data"],
    ["models"],
    ["weights"],
    ["training", "inference", "clustering"],
    ["estimators"],
    ["pretrained", "report", "view"],
    ["commands"],
    ["cli", "__main__", "__init__"],
]
SEALED = {  # what a room may import, where the floors allow more
    "theory": ["support"],
    "data": ["support", "geometry", "sets"],
    "engine": ["support"],
}


def sources(package: str) -> list[Path]:
    """The files of a package that hold more than a docstring and names of others."""
    folder = ROOT / "src" / package
    return [path.relative_to(folder) for path in sorted(folder.rglob("*.py")) if path.name != "__init__.py"]


def imports(path: Path, package: str) -> Iterator[str]:
    """The modules of both packages that a file imports, with their dotted names."""
    here = [package, *path.relative_to(ROOT / "src" / package).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            above = here[: len(here) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def test_every_source_file_has_its_test_file_and_every_test_file_its_source() -> None:
    expected = {
        below / path.parent / f"test_{path.name}" for package, below in PACKAGES.items() for path in sources(package)
    }
    there = {path.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")}
    there = {path for path in there if path.parts[0] not in ACROSS}
    assert sorted(map(str, expected - there)) == [], "source files without tests"
    assert sorted(map(str, there - expected)) == [], "tests without a source file"


def test_the_library_never_imports_the_laboratory() -> None:
    for path in (ROOT / "src" / "sampled_transformer").rglob("*.py"):
        assert not [name for name in imports(path, "sampled_transformer") if name.startswith("sampled_transformer_lab")]


@pytest.mark.parametrize("path", sources("sampled_transformer"), ids=str)
def test_arrows_point_one_way(path: Path) -> None:
    own = path.parts[0].removesuffix(".py")
    floor = {name: number for number, names in enumerate(FLOORS) for name in names}
    used = {
        room(name)
        for name in imports(ROOT / "src" / "sampled_transformer" / path, "sampled_transformer")
        if name.startswith("sampled_transformer.")
    } - {own, "__version__"}
    if own in SEALED:
        assert used <= set(SEALED[own])
    else:
        assert {name for name in used if floor[name] > floor[own]} == set()


def test_no_file_holds_more_than_one_idea() -> None:
    """A file of more than 500 lines surely does."""
    long = [path for path in (ROOT / "src").rglob("*.py") if len(path.read_text("utf-8").splitlines()) > 500]
    assert long == []
