"""docs/paper.md names things that exist, and every equation and table of the paper."""

from __future__ import annotations

import importlib
import inspect
import re
from functools import reduce
from pathlib import Path
from types import ModuleType

import pytest

from sampled_transformer.training.recipes import list_recipes
from sampled_transformer_lab.studies import STUDIES

SOURCES = Path(__file__).parents[2] / "src" / "sampled_transformer"
TEXT = (Path(__file__).parents[2] / "docs" / "paper.md").read_text(encoding="utf-8")
NAME = r"`(sampled_transformer(?:_lab)?(?:\.\w+)+)`"
NAMES = sorted(set(re.findall(NAME, TEXT)))


def resolve(name: str) -> object:
    """The longest module of the name, then its attributes. A field of a dataclass is found by its annotation."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        return reduce(_attribute, parts[length:], found)
    raise ModuleNotFoundError(name)


def _attribute(owner: object, name: str) -> object:
    if isinstance(owner, type) and name in inspect.get_annotations(owner):
        return owner
    return getattr(owner, name)


@pytest.mark.parametrize("name", NAMES)
def test_name_exists(name: str) -> None:
    assert resolve(name) is not None


def test_the_last_column_is_the_file_of_the_names() -> None:
    rows = [line.split("|") for line in TEXT.splitlines() if line.startswith("| ") and "`sampled_transformer" in line]
    assert rows
    for _, _, _, code, files, _ in rows:
        found = [inspect.getsourcefile(inspect.unwrap(resolve(name))) for name in re.findall(NAME, code)]
        stated = [str(SOURCES / file) for file in re.findall(r"`([\w/]+\.py)`", files)]
        assert sorted(stated) == sorted(set(map(str, found)))


def test_a_wrong_name_is_found_out() -> None:
    for wrong in ("sampled_transformer.cycles.Cycle.subset", "sampled_transformer.cycle.Cycle"):
        with pytest.raises((AttributeError, ModuleNotFoundError)):
            resolve(wrong)
    assert isinstance(resolve("sampled_transformer.attention.beyond"), ModuleType)


def test_every_equation_and_table_has_its_row() -> None:
    rows = [line.split("|")[1].strip() for line in TEXT.splitlines() if line.startswith("| ")]
    for number in ("1a", "1b", "1c", "2", "3", "4", "5a", "5b", "5c", "5d"):
        assert f"Eq. {number}" in rows
    tables = {int(number) for row in rows if row.startswith("Table") for number in re.findall(r"\d", row)}
    assert tables == set(range(1, 9))


def test_commands_name_tables_and_recipes_that_exist() -> None:
    studies = re.findall(r"`tables make ([\w-]+)`", TEXT)
    recipes = re.findall(r"--recipe ([\w-]+)", TEXT)
    assert studies
    assert set(studies) <= set(STUDIES)
    assert recipes
    assert set(recipes) <= set(list_recipes())
