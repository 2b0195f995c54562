"""What a terminal would obey instead of showing: escaped in everything that the program prints.

Names from files are escaped where they are put into a line (`printable`). This is the second wall: a line that somebody
forgot cannot set the title of a window, move the cursor, or hide text either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import IO, Any

# Control characters but for tab, new line and carriage return, which progress bars need; marks that turn text around,
# and line separators.
OBEYED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class Shown:
    """A text stream that shows control characters as escapes; all else is that of the stream below it."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text with its control characters escaped."""
        return self._stream.write(OBEYED.sub(lambda found: ascii(found[0])[1:-1], text))

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each of the lines so."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
