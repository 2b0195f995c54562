"""Recipes: settings by name, in the YAML files of the folder recipes/.

A recipe may name a `base`, a file of recipes/bases/, and states only what differs from it. A base may have a base too.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from ..support.registry import look_up
from ..support.trees import Tree, merge, read_yaml

FAMILIES = {  # all others: train
    "cluster": "cluster train",
    "fewshot": "fewshot",
    "pretrain": "pretrain",
    "segment": "segment train",
}


def list_recipes() -> list[str]:
    """The names that `--recipe` takes."""
    return sorted(_files(_folder()))


def read_recipe(name: str, command: str | None = None) -> Tree:
    """The settings of a recipe, its bases included, as a tree; it must be one of the command, if that is given."""
    tree = _with_base(look_up("recipe", name, _files(_folder())))
    own = command_of(name)
    if command not in (None, own):
        raise ValueError(f"recipe: expected a recipe of `{command}`, got {name!r}, which is for `{own}`")
    return {"recipe": name, **tree}


def command_of(name: str) -> str:
    """The command that a recipe is for, which its family tells."""
    return FAMILIES.get(name.partition("-")[0], "train")


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
