"""What the settings of every kind of run have in common: YAML, recipes, and the command that makes the same run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from ..support.printable import printable
from ..support.trees import Tree, flat, from_tree, merge, read_file, read_value, to_tree, write_yaml
from .recipes import read_recipe


class RunSettings:
    """The settings of a run; subclasses are dataclasses whose fields are the options of their command."""

    command_name: ClassVar[str]  # the command that makes such runs
    positional: ClassVar[Mapping[str, str]] = {}  # fields that the command takes without a name: {field: shown name}
    fixed: ClassVar[tuple[str, ...]] = ()  # fields that no option sets
    free: ClassVar[tuple[str, ...]]  # what may differ when a run continues
    short_names: ClassVar[Mapping[str, str]] = {}  # how the command writes a field: {"data.source": "data"}

    out: str
    recipe: str | None

    @classmethod
    def usual(cls) -> Self:
        """The settings of a command without options."""
        return cls(out="-")  # type: ignore[call-arg]

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any], where: str = "") -> Self:
        """Settings from plain values, such as YAML holds; `where` names their file in errors."""
        return from_tree(cls, tree, f"`{cls.command_name}`", where)

    @classmethod
    def from_file(cls, path: str | Path) -> Self:
        """Settings from a YAML file, such as the config.yaml of a run."""
        return cls.from_tree(read_file(path), printable(path))

    @classmethod
    def from_recipe(cls, name: str, **changes: Any) -> Self:
        """The settings of a recipe with some values changed.

        Example: `Settings.from_recipe("basic-dense", out="runs/dense", data={"source": "bricks", "points": 256})`.
        """
        return cls.from_tree(merge(read_recipe(name, cls.command_name), to_tree(changes)), f"recipe {name}")

    def tree(self) -> Tree:
        """These settings as plain values."""
        tree: Tree = to_tree(self)
        return tree

    def yaml(self) -> str:
        """These settings as the text of config.yaml."""
        return write_yaml(self)

    def first_words(self) -> list[str]:
        """The command and what it takes without a name."""
        given = (str(getattr(self, name) or "") for name in self.positional)
        return [f"sampled-transformer {self.command_name}", *map(shlex.quote, given)]

    def command(self) -> str:
        """The command that makes the same run, whatever recipe and files the settings came from."""
        unnamed = ("recipe", *self.positional, *self.fixed)
        usual = dict(flat(self.usual().tree()))
        words = self.first_words()
        for name, value in flat(self.tree()):
            if name not in unnamed and value != usual.get(name):
                words.append(_option(self.short_names.get(name, name), value))
        return " ".join(words)

    def differences(self, other: Self) -> list[str]:
        """The options in which two runs differ, except those that a run may change when it continues."""
        own, others = dict(flat(self.tree())), dict(flat(other.tree()))
        names = [name for name in {**own, **others} if name not in self.free]
        return [name for name in names if own.get(name) != others.get(name)]


def _option(name: str, value: Any) -> str:
    if isinstance(value, bool) and "." not in name:  # a switch; options within options take a value
        return f"--{name}" if value else f"--no-{name}"
    if isinstance(value, str) and not (name.startswith("options.") and read_value(value) != value):
        return f"--{name} {shlex.quote(value)}"
    return f"--{name} {shlex.quote(json.dumps(value))}"  # the text "1" too, which would be read as a number
