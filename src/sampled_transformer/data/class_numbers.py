"""Names for classes that a file knows by number alone, and the way back, so that a class keeps its number.

LAS files and the labels of SemanticKITTI have numbers with a fixed meaning, which other programs rely on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .formats.las import LAS_CLASSES
from .sources.semantickitti import LEARNING_MAP

PREFIX = "class "
MOST = 2**16  # numbers beyond are no class numbers, but something else

_IN_LAS = {name: number for number, name in LAS_CLASSES.items()}
_NUMBERS: dict[str, Mapping[str, int]] = {  # by suffix
    ".las": _IN_LAS,
    ".laz": _IN_LAS,
    ".bin": {name: members[0] for name, members in LEARNING_MAP.items()},
}


def class_name(number: int) -> str:
    """The name of a class of which a file says only the number."""
    return f"{PREFIX}{number}"


def class_numbers(classes: Sequence[str], suffix: str = "") -> list[int]:
    """The number of every class in a file of this kind: the one that its name means, if all names do, else its place.

    A network that was trained on the numbers of surveys thus writes them again.
    """
    known = _NUMBERS.get(suffix.lower(), {})
    numbers = [known[name] if name in known else _number(name) for name in classes]
    if any(number is None for number in numbers) or len(set(numbers)) < len(numbers):
        return list(range(len(classes)))
    return [number for number in numbers if number is not None]


def _number(name: str) -> int | None:
    """7 of "class 7"; None of other names."""
    digits = name.removeprefix(PREFIX)
    fits = name.startswith(PREFIX) and digits.isdecimal() and len(digits) <= 5 and int(digits) < MOST
    return int(digits) if fits and str(int(digits)) == digits else None
