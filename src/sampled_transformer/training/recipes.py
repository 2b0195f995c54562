"""Recipes: settings by name, in the YAML files of the folder recipes/.

A recipe may name a `base`, a file of recipes/bases/, and states only what differs from it. A base may have a base too.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from ..support.registry import look_up
from ..support.trees import Tree, merge, read_yaml


def list_recipes() -> list[str]:
    """The names that `--recipe` takes."""
    return sorted(_files(_folder()))


def read_recipe(name: str) -> Tree:
    """The settings of a recipe, its bases included, as a tree."""
    tree = _with_base(look_up("recipe", name, _files(_folder())))
    return {"recipe": name, **tree}


def _folder() -> Traversable:
    return files("sampled_transformer") / "recipes"


def _files(folder: Traversable) -> dict[str, Traversable]:
    return {Path(item.name).stem: item for item in folder.iterdir() if item.name.endswith(".yaml")}


def _with_base(file: Traversable) -> Tree:
    tree = read_yaml(file.read_text("utf-8"), file.name)
    base = tree.pop("base", None)
    if base is None:
        return tree
    return merge(_with_base(look_up(f"{file.name}: base", base, _files(_folder() / "bases"))), tree)
