"""From words on the command line to the call of a command.

A command is a function. Its parameters, and the fields of its settings dataclass, are its options; their help texts are
the `Args:` of the docstrings. argparse splits the words; `support.trees` turns them into values. Values come from, in
rising order: the defaults, the recipe (or the run to resume), --config files, the command line.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NoReturn, get_args, get_origin

from ..support.limits import Limits
from ..support.printable import printable
from ..support.registry import did_you_mean
from ..support.trees import (
    Field,
    Tree,
    arguments,
    build,
    check_tree,
    fields_of,
    is_free,
    members,
    merge,
    put,
    read_file,
    read_word,
    to_tree,
    write_yaml,
)
from ..training.recipes import read_recipe
from ..training.run_folder import config_to_resume
from ..training.run_settings import RunSettings

SETTINGS = "settings"  # the parameter of a command that is its settings dataclass
READING = "reading"  # the options of all commands that read files of strangers
SYNONYMS = {
    "--lr": "--optimiser.rate",
    "--learning_rate": "--optimiser.rate",
    "--learning-rate": "--optimiser.rate",
    "--batch_size": "--data.batch",
    "--batch-size": "--data.batch",
    "--wd": "--optimiser.weight_decay",
    "--weight_decay": "--optimiser.weight_decay",
    "--weight-decay": "--optimiser.weight_decay",
    "--output": "--out",
    "--dataset": "--data",
}
SHORT = {"--up": "--data.up"}  # what a command takes for the long name, if it has no such option itself


@dataclass(frozen=True)
class Option:
    """One option of a command line; `path` is its place in the tree of settings, such as "data.points"."""

    path: str
    field: Field
    group: str = ""
    positional: str | None = None  # the shown name of an option that is given without a name
    short: bool = False  # whether `--data` is short for `--data.source`
    may_lack: bool = False  # whether one may leave out what is given without a name

    @property
    def is_switch(self) -> bool:
        return self.field.kind is bool

    @property
    def required(self) -> bool:
        return self.field.default is MISSING

    @property
    def name(self) -> str:
        return f"--{self.path.rpartition('.')[0] if self.short else self.path}"

    @property
    def choices(self) -> list[str]:
        """The words that it takes, if these are all."""
        kinds = [kind for kind in members(self.field.kind) if kind is not NoneType]
        return list(map(str, get_args(kinds[0]))) if get_origin(kinds[0]) is Literal else []

    @property
    def metavar(self) -> str:
        kinds = [kind for kind in members(self.field.kind) if kind is not NoneType]
        if self.choices:
            return "{" + ",".join(self.choices) + "}"
        if is_free(kinds[0]):
            return "{name: value}"
        if kinds == [bool]:
            return "{true,false}"
        return self.field.name.upper()

    @property
    def help(self) -> str:
        text, default = self.field.help, to_tree(self.field.default)
        if self.required and self.positional is None:
            text += " Required."
        elif not (self.required or default is False or default in (None, "", [], {})):
            # What the text says of its default holds where none is set; some settings set one.
            text = re.sub(r" \(default: [^()]*\)", "", text).removesuffix(".")
            text = f"{text} (default: {'true' if default is True else default})."
        return text.replace("%", "%%")


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises ValueError, so that the program can say what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        missing = message.partition("the following arguments are required: ")[2]
        if missing:
            message = f"{missing.lower()}: expected {missing}, got nothing"
        raise ValueError(f"{message.removeprefix('argument ')} (see {self.prog} --help)")


class Command:
    """A function as a command of the program.

    Args:
        name: Its words, such as "sampled-transformer data pack".
        function: What it does. A parameter called `settings` is a dataclass whose fields become options. Its attribute
            `positional`, if it has one, maps parameters that may be given without a name to the names that help shows.
            With the attribute `reads_files`, it has the options of `Limits`, such as --reading.memory.
    """

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name, self.function = name, function
        self.parameters = fields_of(function)
        found = self.parameters.get(SETTINGS)
        self.settings: type[RunSettings] | None = None if found is None else found.kind

    @property
    def summary(self) -> str:
        """The first line of the help."""
        return inspect.cleandoc(self.function.__doc__ or "").partition("\n")[0]

    @cached_property
    def fields(self) -> dict[str, Field]:
        """All names in the tree of this command: the fields of its settings, and its other parameters."""
        own = {name: one for name, one in self.parameters.items() if name != SETTINGS}
        if getattr(self.function, "reads_files", False):
            own[READING] = Field(READING, Limits, Limits(), "what reading one file may take")
        return own if self.settings is None else {**fields_of(self.settings), **own}

    def options(self) -> Iterator[Option]:
        """The options of the command line."""
        shown = getattr(self.function, "positional", {}) if self.settings is None else self.settings.positional
        hidden = () if self.settings is None else self.settings.fixed
        for name, one in self.fields.items():
            if is_dataclass(one.kind):
                short = getattr(one.kind, "short", None)
                for below in _below(one).values():
                    if f"{name}.{below.name}" not in hidden:
                        yield Option(f"{name}.{below.name}", below, one.help or name, short=below.name == short)
            elif name not in hidden:
                unnamed = self.settings is None and one.default is MISSING
                may_lack = self.settings is None and name in shown
                yield Option(name, one, positional=name if unnamed else shown.get(name), may_lack=may_lack)

    def parser(self, words: Sequence[str] = ()) -> Parser:
        """The parser of the command. Free options such as --options.dim are declared if the words name them."""
        options = list(self.options())
        shown = [(option, option.positional.upper()) for option in options if option.positional is not None]
        unnamed = [f"[{name}]" if option.may_lack else name for option, name in shown]
        needed = [f"{one.name} {one.metavar}" for one in options if one.required and one.positional is None]
        usage = " ".join([self.name, *unnamed, *needed, "[options]"])
        text = inspect.cleandoc(self.function.__doc__ or "").partition("\nArgs:\n")[0].strip()
        parser = Parser(self.name, usage, text, argument_default=argparse.SUPPRESS, add_help=False, allow_abbrev=False)
        groups: dict[str, argparse._ArgumentGroup] = {}
        for option in sorted(options, key=lambda option: not option.required):
            if option.group and option.group not in groups:
                groups[option.group] = parser.add_argument_group(option.group.rstrip("."))
            _declare(groups.get(option.group, parser), option)
        several = "YAML file with options; may be given several times."
        parser.add_argument("--config", action="append", metavar="FILE", help=several)
        parser.add_argument("--print_config", action="store_true", help="Print all options as YAML and stop.")
        parser.add_argument("-h", "--help", action="help", help="Show this help and stop.")
        free = tuple(f"{option.name}." for option in options if is_free(option.field.kind))
        for word in dict.fromkeys(word.partition("=")[0] for word in words if free and word.startswith(free)):
            parser.add_argument(word, dest=word.removeprefix("--"), help=argparse.SUPPRESS)
        return parser

    def read(self, words: Sequence[str]) -> tuple[Tree, bool]:
        """The tree of all that was given, checked, and whether only to print it."""
        words = self._spelled(words)
        parser = self.parser(words)
        found, unknown = parser.parse_known_args(list(words))
        if unknown:
            raise ValueError(self._refusal(unknown[0]))
        given = vars(found)
        files, prints = given.pop("config", []), given.pop("print_config", False)
        line: Tree = {}
        kinds = {option.path: option.field.kind for option in self.options()}
        for path, value in given.items():
            kind = kinds.get(path, Any)
            line = put(line, path, value if isinstance(value, bool | list) else read_word(value, kind, path))
        layers = [self._check(read_file(file), printable(file)) for file in files]
        layers.append(line)
        tree: Tree = {}
        for layer in [*self._beginning(layers), *layers]:
            tree = merge(tree, layer)
        return tree, prints

    def _spelled(self, words: Sequence[str]) -> list[str]:
        """The words with options as we write them: --per-point is --per_point."""
        names = ["--print_config", *(name for option in self.options() for name in _names(option))]
        ours = {name.replace("_", "-"): name for name in names}
        ours |= {short: long for short, long in SHORT.items() if long in names and short not in names}
        parts = [word.partition("=") for word in words]
        return self._joined(["".join([ours.get(name, name), *rest]) for name, *rest in parts])

    def _joined(self, words: list[str]) -> list[str]:
        """The words with `--up -y` as `--up=-y`: argparse takes any word that begins with - for an option."""
        choices = {option.name: option.choices for option in self.options()}
        joined: list[str] = []
        for word in words:
            if word.startswith("-") and joined and word in choices.get(joined[-1], ()):
                joined[-1] += f"={word}"
            else:
                joined.append(word)
        return joined

    def _beginning(self, layers: Sequence[Tree]) -> list[Tree]:
        """What files and the command line override: the run to resume, or the recipe."""
        if self.settings is None:
            return []
        last: Tree = {}
        for layer in layers:
            last |= layer
        if last.get("resume") and last.get("out"):
            config = config_to_resume(Path(last["out"]))
            return [self._check(read_file(config), printable(config))]
        name = last.get("recipe")
        return [] if name is None else [self._check(read_recipe(name, self.settings.command_name), f"recipe {name}")]

    def _check(self, tree: Tree, where: str) -> Tree:
        return check_tree(self.fields, tree, f"`{self._short}`", where)

    def __call__(self, words: Sequence[str]) -> Any:
        """Run the command, which reads files in a process of its own."""
        tree, prints = self.read(words)
        if prints:
            sys.stdout.write(write_yaml(_complete(self.fields, tree)))
            raise SystemExit(0)
        own = {name: one for name, one in self.parameters.items() if name != SETTINGS}
        values = arguments(own, {name: value for name, value in tree.items() if name in own})
        if self.settings is not None:
            values[SETTINGS] = build(
                self.settings, {name: value for name, value in tree.items() if name not in (*own, READING)}
            )
        from ..data.guard import guarded  # loads numpy, which help does not need

        with guarded(build(Limits, tree.get(READING, {}))):
            return self.function(**values)

    @property
    def _short(self) -> str:
        return self.name.partition(" ")[2]

    def _refusal(self, word: str) -> str:
        """The error for a word that is no option of the command."""
        name = word.partition("=")[0]
        if not name.startswith("-"):
            return f"{self._short}: expected no further argument, got {printable(word)!r} (see {self.name} --help)"
        names = ["--config", "--print_config", "--help", *(name for one in self.options() for name in _names(one))]
        parts = [one for one in names if one.startswith(f"{name}.") or one.endswith(f".{name[2:]}")]
        likely = [one for one in [SYNONYMS.get(name), *parts] if one in names]
        hint = f"; did you mean {likely[0]}?" if likely else did_you_mean(name, names, quote="")
        return f"{self._short}: expected one of its options, got {printable(name)}{hint} (see {self.name} --help)"


def _below(one: Field) -> dict[str, Field]:
    """The fields of a nested dataclass, with the defaults that it has there."""
    known = fields_of(one.kind)
    if one.default is MISSING:
        return known
    return {name: replace(below, default=getattr(one.default, name)) for name, below in known.items()}


def _complete(known: Mapping[str, Field], tree: Mapping[str, Any]) -> Tree:
    """A tree with the defaults of what it does not say."""
    complete: Tree = {}
    for name, one in known.items():
        if is_dataclass(one.kind):
            complete[name] = _complete(_below(one), tree.get(name, {}))
        elif name in tree or one.default is not MISSING:
            complete[name] = tree.get(name, one.default)
    return complete


def _names(option: Option) -> list[str]:
    """How one may write an option."""
    if option.positional is not None:
        return []
    if option.is_switch:
        return [option.name, f"--no-{option.path}"]
    return [option.name, f"--{option.path}"] if option.short else [option.name]


def _declare(parser: argparse._ActionsContainer, option: Option) -> None:
    """Add an option to a parser; argparse keeps the words, which `trees.read_word` turns into values."""
    if option.positional is not None:
        several = {"nargs": "+"} if get_origin(option.field.kind) is list else {}
        if option.may_lack:
            several = {"nargs": "?"}
        parser.add_argument(option.path, metavar=option.positional.upper(), help=option.help, **several)  # type: ignore[arg-type]
    elif option.is_switch:
        names = [option.name, f"--no-{option.path}"]
        if option.field.default:
            action = argparse.BooleanOptionalAction
            parser.add_argument(names[0], dest=option.path, action=action, default=argparse.SUPPRESS, help=option.help)
        else:  # --no-x is only good for undoing what a file says: not worth a line of the help
            parser.add_argument(names[0], dest=option.path, action="store_true", help=option.help)
            parser.add_argument(names[1], dest=option.path, action="store_false", help=argparse.SUPPRESS)
    else:
        parser.add_argument(option.name, dest=option.path, metavar=option.metavar, help=option.help)
        if option.short:
            parser.add_argument(f"--{option.path}", dest=option.path, help=argparse.SUPPRESS)
