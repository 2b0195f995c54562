"""Settings as trees of plain values: one reader and one writer for YAML files, recipes and the command line.

A tree is what YAML holds: names, and below them values or further names. The fields of a dataclass say which names
there are and what type each value has.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, is_dataclass, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml

from .bounded_yaml import LONGEST, load_yaml
from .printable import brief, printable
from .registry import UnknownOptionError, did_you_mean

Settings = TypeVar("Settings")
Tree = dict[str, Any]
TYPE_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


@dataclass(frozen=True)
class Field:
    """One named value: its type, its default (MISSING if it is required), and its help text."""

    name: str
    kind: Any
    default: Any
    help: str


# Fields ---------------------------------------------------------------------------------------------------------------


def fields_of(owner: type | Callable[..., Any]) -> dict[str, Field]:
    """The fields of a dataclass, or the parameters of a function; help texts come from `Args:` in the docstring."""
    hints, texts = get_type_hints(owner), help_texts(owner)
    found = {}
    if isinstance(owner, type):
        for one in dataclasses.fields(owner):
            default = one.default if one.default_factory is MISSING else one.default_factory()
            found[one.name] = Field(one.name, hints[one.name], default, texts.get(one.name, ""))
        return found
    for name, parameter in inspect.signature(owner).parameters.items():
        default = MISSING if parameter.default is parameter.empty else parameter.default
        found[name] = Field(name, hints[name], default, texts.get(name, ""))
    return found


def help_texts(owner: type | Callable[..., Any]) -> dict[str, str]:
    """The help text of each name below `Args:`; a subclass inherits the texts that it does not replace."""
    texts: dict[str, str] = {}
    for one in reversed(owner.__mro__) if isinstance(owner, type) else (owner,):
        _, _, rest = inspect.cleandoc(one.__doc__ or "").partition("\nArgs:\n")
        for entry in re.split(r"\n(?= {4}\w)", f"\n{rest}")[1:]:
            name, _, text = entry.partition(":")
            texts[name.strip()] = " ".join(text.split("\n\n")[0].split())
    return texts


def is_free(kind: Any) -> bool:
    """Whether a value may hold any names, as the options of a network do."""
    return any((get_origin(one) or one) in (dict, Mapping) for one in members(kind))


def members(kind: Any) -> tuple[Any, ...]:
    """The types of a union, or the type itself."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


# From trees to dataclasses and back -----------------------------------------------------------------------------------


def to_tree(value: Any) -> Any:
    """A dataclass, or any value in one, as plain values."""
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: to_tree(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {name: to_tree(below) for name, below in value.items()}
    if isinstance(value, list | tuple):
        return [to_tree(one) for one in value]
    return value


def from_tree(kind: type[Settings], tree: Any, owner: str = "these settings", where: str = "") -> Settings:
    """Build a dataclass from a tree; names that it does not have and values of other types are refused."""
    return build(kind, check_tree(fields_of(kind), tree, owner, where))


def build(kind: type[Settings], tree: Mapping[str, Any], above: str = "") -> Settings:
    """Build a dataclass from a checked tree; a required value that is missing is refused."""
    return kind(**arguments(fields_of(kind), tree, above, getattr(kind, "short", None)))


def arguments(known: Mapping[str, Field], tree: Mapping[str, Any], above: str = "", short: str | None = None) -> Tree:
    """The value of every field, from a checked tree or the default. `above` alone means the field `short`."""
    values = {}
    for name, one in known.items():
        if isinstance(one.kind, type) and is_dataclass(one.kind):
            given = tree.get(name, {})
            new = one.default is MISSING
            values[name] = build(one.kind, given, f"{above}{name}.") if new else replace(one.default, **given)
        elif name in tree:
            values[name] = tree[name]
        elif one.default is MISSING:
            raise ValueError(missing(one, above[:-1] if name == short else f"{above}{name}"))
        else:
            values[name] = one.default
    return values


def missing(one: Field, path: str) -> str:
    """The error for a required value that is missing."""
    text = one.help.partition(". ")[0].rstrip(".")
    return f"{path}: expected --{path} {one.name.upper()} ({text[:1].lower()}{text[1:]}), got nothing"


def check_tree(
    known: Mapping[str, Field], tree: Any, owner: str = "these settings", where: str = "", above: str = ""
) -> Tree:
    """A tree, perhaps only a part of one, with every name checked and every value of its type.

    Args:
        known: The fields that exist.
        tree: The names and values.
        owner: What has these fields, for errors.
        where: The file that the tree comes from, for errors.
        above: The path of the tree, such as "data.".
    """
    file = f"{where}: " if where else ""
    if not isinstance(tree, Mapping):
        raise ValueError(f"{file}{above[:-1] or 'settings'}: expected names and values, got {brief(repr(tree))}")
    checked: Tree = {}
    for name, value in tree.items():
        if name not in known:
            names = [f"{above}{one}" for one in known]
            raise UnknownOptionError(owner, f"{above}{name}", names, where or "options")
        kind = known[name].kind
        if isinstance(kind, type) and is_dataclass(kind):
            short = getattr(kind, "short", None)
            below = {short: value} if short and isinstance(value, str) else value
            checked[name] = check_tree(fields_of(kind), below, owner, where, f"{above}{name}.")
        else:
            checked[name] = convert(value, kind, f"{file}{above}{name}")
    return checked


def convert(value: Any, kind: Any, path: str) -> Any:
    """A plain value as the type of its field; ints become floats and lists tuples where those are wanted."""
    for one in members(kind):
        origin, inner = get_origin(one) or one, get_args(one)
        if one is Any or (one is NoneType and value is None):
            return value
        if origin is Literal and value in inner:
            return value
        if one is float and isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        if one in (int, str, bool) and type(value) is one:
            return value
        if origin in (list, Sequence) and isinstance(value, list | tuple):
            return [convert(item, inner[0], path) for item in value]
        if origin is tuple and isinstance(value, list | tuple) and len(value) == len(inner):
            return tuple(convert(item, item_kind, path) for item, item_kind in zip(value, inner, strict=True))
        if is_free(one) and isinstance(value, Mapping | None):
            return dict(value or {})
    hint = (
        did_you_mean(value, map(str, get_args(kind))) if get_origin(kind) is Literal and isinstance(value, str) else ""
    )
    raise ValueError(f"{path}: expected {describe(kind)}, got {brief(repr(value))}{hint}")


def describe(kind: Any) -> str:
    """A type in words, for errors."""
    words = []
    for one in members(kind):
        origin, inner = get_origin(one) or one, get_args(one)
        if origin is Literal:
            words.append(f"one of {', '.join(map(str, inner))}")
        elif origin is tuple:
            words.append(f"a list of {len(inner)} values")
        elif origin in (list, Sequence):
            words.append("a list such as [1,2]" if inner[0] is int else "a list such as [a,b]")
        elif is_free(one):
            words.append("names and values")
        elif one is not NoneType:
            words.append(TYPE_NAMES.get(one, str(one)))
    return " or ".join(words)


# Trees ----------------------------------------------------------------------------------------------------------------


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> Tree:
    """The tree `below` with the values of `above` in place of its own, name by name."""
    merged = dict(below)
    for name, value in above.items():
        kept = merged.get(name)
        merged[name] = merge(kept, value) if isinstance(kept, Mapping) and isinstance(value, Mapping) else value
    return merged


def flat(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Names as on the command line, and their values: ("data.points", 256)."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def check_nesting(tree: Any, deepest: int) -> None:
    """Refuse a tree of more levels than that: functions that walk it call themselves once per level."""
    level, depth = [tree], 0
    while level:
        if depth > deepest:
            raise ValueError(f"expected at most {deepest} levels of nesting, got more")
        below = [one.values() if isinstance(one, Mapping) else one for one in level if isinstance(one, Mapping | list)]
        level, depth = [value for values in below for value in values], depth + 1


def put(tree: Mapping[str, Any], path: str, value: Any) -> Tree:
    """The tree with a value at a path such as "data.points", in place of an earlier one."""
    name, _, rest = path.partition(".")
    if not rest:
        return {**tree, name: value}
    below = tree.get(name)
    return {**tree, name: put(below if isinstance(below, Mapping) else {}, rest, value)}


# Text -----------------------------------------------------------------------------------------------------------------


def read_word(text: str, kind: Any, path: str) -> Any:
    """Parse a value from the command line; free values are numbers, true, lists or text."""
    if kind is Any:
        return read_value(text)
    kinds = members(kind)
    if NoneType in kinds and text == "null":
        return None
    for one in sorted(kinds, key=lambda one: one is str):  # any word is text: we try that last
        try:
            return convert(text if one is str or get_origin(one) is Literal else read_value(text), one, path)
        except ValueError:
            continue
    if float in kinds and text.lower() in ("inf", "-inf", "nan"):
        return float(text)  # a number; the settings decide whether it is valid
    return convert(text, kind, path)  # which refuses it


def read_value(text: str) -> Any:
    """A number, true, a list, a mapping, or the text itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return load_yaml(text)
    except ValueError:
        return text


def read_yaml(text: str, where: str) -> Tree:
    """The tree that a YAML file holds; `where` names the file in errors."""
    try:
        tree = load_yaml(text)
    except ValueError as error:
        raise ValueError(f"{where}: not a YAML file ({brief(' '.join(str(error).split()), 300)})") from None
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise ValueError(f"{where}: expected names and values, got {brief(str(tree))}")
    return tree


def read_file(path: str | Path) -> Tree:
    """The tree of a YAML file."""
    try:
        size = Path(path).stat().st_size
        if size > 4 * LONGEST:  # a letter has up to four bytes
            raise ValueError(f"{printable(path)}: expected at most {LONGEST:,} letters, got {size:,} bytes")
        return read_yaml(Path(path).read_text("utf-8"), printable(path))
    except OSError as error:
        raise ValueError(f"{printable(path)}: {error.strerror}; expected a YAML file") from None
    except UnicodeDecodeError:
        raise ValueError(f"{printable(path)}: not a YAML file (it is not UTF-8 text)") from None


def write_yaml(tree: Any) -> str:
    """A tree, or a dataclass, as YAML."""
    text: str = yaml.safe_dump(to_tree(tree), sort_keys=False, allow_unicode=True)
    return text
