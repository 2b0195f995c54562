"""The exception that every reader and data set raises."""

from __future__ import annotations

from ..support.printable import one_line


class DataError(ValueError):
    """A problem with data, described in one line: `path: problem` or `name: expected ..., got ...`."""

    def __init__(self, message: str) -> None:
        # We also pass on messages from other libraries, and some of them span several lines.
        # Names from files may hold what a terminal obeys.
        super().__init__(one_line(str(message)))
