"""Names and options: the lookup of a name, and the error for an unknown name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

from .printable import brief

Thing = TypeVar("Thing")
MOST_LISTED = 16  # names that an error lists one by one; of longer lists it shows the families
LONGEST = 100  # letters of a name that somebody may have mistyped


class UnknownOptionError(ValueError):
    """An option that its owner does not have.

    Args:
        owner: What has options, such as "the mechanism 'sampled'".
        name: The option that was given.
        known: The options that exist.
        where: The options that `name` was found in, such as "options".
    """

    def __init__(self, owner: str, name: str, known: Iterable[str], where: str = "options") -> None:
        self.owner, self.name, self.known = owner, name, sorted(known)
        super().__init__(f"{where}: {self.expectation}, got {brief(repr(name))}{self.hint}")

    @property
    def expectation(self) -> str:
        return f"expected an option of {self.owner} ({listing(self.known)})"

    @property
    def hint(self) -> str:
        return did_you_mean(self.name, self.known)


def look_up(kind: str, name: str, registry: Mapping[str, Thing]) -> Thing:
    """registry[name]; an unknown name is a ValueError that suggests the closest one."""
    if name not in registry:
        raise ValueError(unknown_name(kind, name, registry))
    return registry[name]


def check_options(owner: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse the first of the given options that `owner` does not have.

    Example: `check_options("the mechanism 'sampled'", options, ["samples", "cycles"])`.
    """
    names = list(known)
    for name in given:
        if name not in names:
            raise UnknownOptionError(owner, name, names)


def unknown_name(kind: str, name: str, names: Iterable[str]) -> str:
    """The error for an unknown name, with the closest known name and a short list of all names."""
    known = sorted(names)
    got = f"got {brief(repr(name))}{did_you_mean(name, known)}"
    if len(known) <= MOST_LISTED:
        return f"{kind}: expected one of {', '.join(known)}, {got}"
    return f"{kind}: expected one of {len(known)} names, {got} ({listing(known)})"


def did_you_mean(name: str, names: Iterable[str], quote: str = "'") -> str:
    """The end of an error, "; did you mean 'x'?", or nothing where no name is close."""
    close = difflib.get_close_matches(name, list(names), 1) if len(name) <= LONGEST else []
    return f"; did you mean {quote}{close[0]}{quote}?" if close else ""


def listing(names: Iterable[str]) -> str:
    """The names themselves if they are few, and their families if they are many: "basic-*, cluster-*"."""
    known = list(names)
    if len(known) <= MOST_LISTED:
        return ", ".join(known)
    families: dict[str, list[str]] = {}
    for name in known:
        families.setdefault(name.partition("-")[0], []).append(name)
    if len(families) > MOST_LISTED:
        return f"{', '.join(known[:MOST_LISTED])}, and {len(known) - MOST_LISTED} more"
    return ", ".join(map(_family, families.values()))


def _family(names: list[str]) -> str:
    """What names have in common: "basic-*"; a single name as it is."""
    if len(names) == 1:
        return names[0]
    common = []
    for parts in zip(*(name.split("-") for name in names), strict=False):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    name = "-".join(common)
    return f"{name}, {name}-*" if name in names else f"{name}-*"
