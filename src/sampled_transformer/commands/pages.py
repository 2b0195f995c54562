"""Where a measurement writes its page, and the command that the page shows."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Any

from ..support.printable import printable

NAME = "evaluation.html"


def page_file(page: str | None, weights: str | None = None) -> Path | None:
    """The HTML file to write, checked before any work; None for no page.

    Args:
        page: What the user asked for.
        weights: The network that is measured. Without `page`, the folder of a run gets evaluation.html if plotly is
            installed; report.html there is about the training.
    """
    from ..report.page import graph_objects

    if page is None:
        its_own = weights is not None and Path(weights).is_dir() and find_spec("plotly") is not None
        return Path(str(weights), NAME) if its_own else None
    graph_objects()  # report a missing extra before the work
    if Path(page).is_dir() or not Path(page).absolute().parent.is_dir():
        raise ValueError(f"page: expected a file in a folder that exists, got {printable(page)}")
    return Path(page)


def command_line(command: str, *paths: str, **options: Any) -> str:
    """The command that measures the same, without options that are None, False or empty.

    The folders of a computer are nobody's business: of a path it shows the last part.
    """
    words = ["sampled-transformer", command, *(quote(Path(path).name) for path in paths)]
    for name, value in options.items():
        if value is True:
            words.append(f"--{name}")
        elif value not in (None, False, ""):
            shown = Path(value).name if isinstance(value, str) else str(list(value) if type(value) is tuple else value)
            words += [f"--{name}", quote(shown)]
    return " ".join(words)
