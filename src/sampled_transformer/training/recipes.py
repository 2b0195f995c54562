"""Recipes by name, and what the short forms `--data X`, `--recipe NAME` and `--resume` of a command line stand for."""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection, Sequence
from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from ..clustering.settings import ClusterSettings, MixtureOptions
from ..support.printable import printable

NESTED = "--options."
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
    if command == ["cluster", "train"]:
        if recipe is not None:
            check_keys(recipe_text(recipe), f"recipe {recipe}")
        for config in _configs(words):
            check_keys(config, printable(config))
    return [*command, *first, *gather_nested(words, [*first, *words])]


def check_keys(config: str, where: str) -> None:
    """Refuse a configuration of `cluster train` with a key it does not have: the parser says no more than `cluster`."""
    try:
        tree = _tree(config)
    except (OSError, ValueError, yaml.YAMLError):
        return  # refused later, by the parser
    if not isinstance(tree, dict):
        return
    _check_names(tree, {field.name for field in fields(ClusterSettings)} | {"resume"}, "", where)
    data = tree.get("data", {})
    if isinstance(data, dict):
        _check_names(data, {field.name for field in fields(MixtureOptions)}, "data.", where)
    elif not isinstance(data, str):  # text is the name of a file
        raise ValueError(f"{where}: expected names and values under data, got {printable(str(data))}")


def _check_names(tree: dict[Any, Any], known: Collection[str], above: str, where: str) -> None:
    unknown = [str(name) for name in tree if name not in known]
    if unknown:
        close = difflib.get_close_matches(unknown[0], known, 1)
        hint = f"; did you mean '{above}{close[0]}'?" if close else ""
        names = ", ".join(above + name for name in sorted(known))
        got = printable(above + unknown[0])
        raise ValueError(f"{where}: expected options of cluster train ({names}), got '{got}'{hint}")


def gather_nested(words: Sequence[str], configured: Sequence[str]) -> list[str]:
    """Write `--options.a.b 1 --options.a.c x` as one option, `--options.a {"b": 1, "c": "x"}`.

    The parser keeps only the last of options within an option, and reads its value as text. What recipe and
    configuration files say of `a` is kept.
    """
    found = [(place, *_split_nested(word)) for place, word in enumerate(words) if word.startswith(NESTED)]
    trees: dict[str, Any] = {keys[0]: None for _, keys, _ in found if len(keys) > 1}
    for name in trees:
        trees[name] = dict(_configured(configured, name))
    used = set()
    for place, keys, value in found:
        if keys[0] not in trees:
            continue
        used.add(place)
        if value is None and place + 1 < len(words):
            value = words[place + 1]
            used.add(place + 1)
        if value is None:
            return list(words)  # the parser tells what is missing
        if len(keys) == 1:
            tree = _read(value)
            if not isinstance(tree, dict):
                return list(words)
            trees[keys[0]] = tree
            continue
        branch = trees[keys[0]]
        for key in keys[1:-1]:
            branch[key] = dict(branch[key]) if isinstance(branch.get(key), dict) else {}
            branch = branch[key]
        branch[keys[-1]] = _read(value)
    kept = [word for place, word in enumerate(words) if place not in used]
    return [*kept, *(word for name, tree in trees.items() for word in (NESTED + name, json.dumps(tree, default=str)))]


def _split_nested(word: str) -> tuple[list[str], str | None]:
    name, equals, value = word.removeprefix(NESTED).partition("=")
    return name.split("."), value if equals else None


def _read(value: str) -> Any:
    """A value as the line has it: a number, true, a list, or text."""
    for read in (json.loads, yaml.safe_load):
        try:
            return read(value)
        except (ValueError, yaml.YAMLError):
            continue
    return value


def _configured(words: Sequence[str], name: str) -> dict[str, Any]:
    """The mapping `options.name` of the configurations on a line, the last one that has it."""
    found: dict[str, Any] = {}
    for config in _configs(words):
        try:
            tree = _tree(config)
        except (OSError, ValueError, yaml.YAMLError):
            continue  # refused later, by the parser
        options = tree.get("options") if isinstance(tree, dict) else None
        if isinstance(options, dict) and isinstance(options.get(name), dict):
            found = options[name]
    return found


def _configs(words: Sequence[str]) -> list[str]:
    """What is given to --config, files or YAML."""
    found = [following for word, following in zip(words, [*words[1:], ""], strict=True) if word == "--config"]
    return found + [word.partition("=")[2] for word in words if word.startswith("--config=")]


def _tree(config: str) -> Any:
    return yaml.safe_load(config if "\n" in config else Path(config).read_text("utf-8"))


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
