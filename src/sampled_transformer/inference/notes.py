"""Read the notes of a weights file: values of a wrong type are a WeightsError, whoever asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..support.printable import brief, printable
from ..weights import Description, WeightsError


class Section:
    """The names and values below one name in the notes, such as "data" or "figures"; empty if there are none.

    Args:
        description: What the file says about itself.
        name: Which of its notes.
        path: The file, for errors.
    """

    def __init__(self, description: Description, name: str, path: str | Path) -> None:
        found = description.notes.get(name)
        self.name, self.path = name, path
        if found is not None and not isinstance(found, Mapping):
            raise self._wrong("names and values", found, name)
        self.values: Mapping[str, Any] = found or {}

    def __bool__(self) -> bool:
        return bool(self.values)

    def text(self, key: str) -> str | None:
        """A text, or None if there is none."""
        found = self.values.get(key)
        if found is not None and not isinstance(found, str):
            raise self._wrong("text", found, f"{self.name}.{key}")
        return found

    def number(self, key: str) -> float | None:
        """A number, or None if there is none."""
        found = self.values.get(key)
        if found is not None and not is_number(found):
            raise self._wrong("a number", found, f"{self.name}.{key}")
        return None if found is None else float(found)

    def _wrong(self, expected: str, found: Any, where: str) -> WeightsError:
        return WeightsError(f"{printable(self.path)}: expected {expected} in its note {where}, got {brief(str(found))}")


def is_number(value: Any) -> bool:
    """Whether a value from JSON is a number, which true is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def data_source(description: Description, path: str | Path) -> tuple[str | None, str | None]:
    """The data set that a network was trained on, and the folder it was read from."""
    data = Section(description, "data", path)
    return data.text("source"), data.text("root")
