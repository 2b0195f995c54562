"""The one exception of the data package."""

from __future__ import annotations


class DataError(ValueError):
    """A data problem told in one line that names the file or the argument."""

    def __init__(self, message: str) -> None:
        # Messages of other libraries come through here, and some of them run over several lines.
        super().__init__(" ".join(str(message).split()))
