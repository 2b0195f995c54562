"""Things by name, with a helpful word when the name is not known."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from typing import TypeVar

Thing = TypeVar("Thing")


def look_up(kind: str, name: str, registry: Mapping[str, Thing]) -> Thing:
    """registry[name], or a ValueError that lists the names and guesses which was meant."""
    if name not in registry:
        close = difflib.get_close_matches(name, registry, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"{kind}: expected one of {', '.join(sorted(registry))}, got {name!r}{hint}")
    return registry[name]


def check_options(kind: str, given: Collection[str], known: Collection[str]) -> None:
    """Refuse the first option that is not known, and guess which one was meant."""
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"{name}: expected an option of {kind} ({', '.join(sorted(known))}), got {name!r}{hint}")
