"""Recipes by name, and what the short forms `--data X`, `--recipe NAME` and `--resume` of a command line stand for."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import yaml  # type: ignore[import-untyped]

TRAINING = (["train"], ["pretrain"], ["fewshot"], ["cluster", "train"])  # the commands that take recipes


def list_recipes() -> list[str]:
    """The names that `--recipe` takes."""
    folder = files("sampled_transformer") / "recipes"
    return sorted(Path(item.name).stem for item in folder.iterdir() if item.name.endswith(".yaml"))


def recipe_text(name: str) -> str:
    """The YAML of a recipe."""
    if name not in list_recipes():
        close = difflib.get_close_matches(name, list_recipes(), 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"recipe: expected one of {', '.join(list_recipes())}, got {name!r}{hint}")
    return (files("sampled_transformer") / "recipes" / f"{name}.yaml").read_text("utf-8")


def expand(arguments: Sequence[str]) -> list[str]:
    """Write out the short forms of `train` and its kin: configurations come first, so that the line overrides them."""
    command = next((one for one in TRAINING if list(arguments[: len(one)]) == one), None)
    if command is None:
        return list(arguments)
    words = list(arguments[len(command) :])
    if command != ["cluster", "train"]:
        words = ["--data.source" + word[6:] if word.split("=")[0] == "--data" else word for word in words]
    first: list[str] = []
    recipe = _value(words, "--recipe") or _recipe_of(_value(words, "--config"))
    out = _value(words, "--out")
    if command != ["fewshot"] and "--resume" in words and out is not None and Path(out, "config.yaml").is_file():
        first = ["--config", str(Path(out, "config.yaml"))]
    elif recipe is not None:
        first = ["--config", recipe_text(recipe)]
    return [*command, *first, *words]


def _value(words: Sequence[str], option: str) -> str | None:
    """What is given to an option on the line, the last one if there are several."""
    value = None
    for word, following in zip(words, [*words[1:], None], strict=True):
        if word == option:
            value = following
        elif word.startswith(f"{option}="):
            value = word.partition("=")[2]
    return value


def _recipe_of(config: str | None) -> str | None:
    """The recipe that a YAML file names; files that cannot be read are refused later, by the parser."""
    try:
        tree = yaml.safe_load(Path(config).read_text("utf-8")) if config is not None else None
    except (OSError, ValueError, yaml.YAMLError):
        return None
    return tree.get("recipe") if isinstance(tree, dict) else None
