"""Where a measurement leaves its page and its figures, and the command that the page shows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from json import dumps
from pathlib import Path
from shlex import quote
from typing import Any

from ..support.printable import printable

PAGE, FIGURES = "report.html", "result.json"
RUNS = "runs"  # where measurements go that belong to no run


@dataclass(frozen=True)
class Target:
    """What a measurement writes at its end; None for what it does not write.

    Args:
        page: The HTML file.
        figures: The file of figures, which `report` compares.
        asked: Whether the user named the place. Only then is it an error if nobody may write there.
    """

    page: Path | None = None
    figures: Path | None = None
    asked: bool = False

    def __bool__(self) -> bool:
        return self.page is not None or self.figures is not None

    def write(self, result: dict[str, Any], write_page: Callable[[Path], None]) -> None:
        """Write the figures, and the page with `write_page`, and say so."""
        try:
            self._write(result, write_page)
        except OSError as error:
            if self.asked:
                raise
            where = printable(str(self.page or self.figures))
            print(f"{where}: not written ({error.strerror}); --out FOLDER chooses another place", file=sys.stderr)

    def _write(self, result: dict[str, Any], write_page: Callable[[Path], None]) -> None:
        from ..support.atomic import atomic_write

        if self.figures is not None:
            self.figures.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(self.figures) as file:
                file.write(f"{dumps(result, indent=2)}\n".encode())
        if self.page is not None:
            self.page.parent.mkdir(parents=True, exist_ok=True)
            write_page(self.page)
            print(f"{self.page}: written", file=sys.stderr)


def target(
    what: str,
    about: str,
    page: str | None = None,
    out: str | None = None,
    report: bool = True,
    figures: str = FIGURES,
) -> Target:
    """Where a measurement leaves its page and its figures, checked before any work.

    Args:
        what: What is done, such as "evaluate": the name of the folder.
        about: The weights or the file that it is about. A run keeps the folder beside its own report; everything else
            has one in `runs`.
        page: HTML file that the user asked for: then there is nothing else.
        out: Folder that the user asked for.
        report: False writes nothing, unless the user named a place.
        figures: Name of the file of figures.
    """
    from ..report.page import graph_objects

    if page is not None:
        graph_objects()  # report a missing extra before the work
        if Path(page).is_dir() or not Path(page).absolute().parent.is_dir():
            raise ValueError(f"page: expected a file in a folder that exists, got {printable(page)}")
        if out is not None:
            raise ValueError(f"page: expected none with --out, whose folder has one, got {printable(page)}")
        return Target(Path(page), asked=True)
    if out is not None:
        graph_objects()
        folder = Path(out)
        if folder.exists() and not folder.is_dir():
            raise ValueError(f"out: expected a folder, got the file {printable(out)}")
        folder.mkdir(parents=True, exist_ok=True)
        return Target(folder / PAGE, folder / figures, asked=True)
    if not report:
        return Target()
    folder = usual_folder(what, about)
    return Target(folder / PAGE if find_spec("plotly") is not None else None, folder / figures)


def usual_folder(what: str, about: str) -> Path:
    """The folder of a measurement if the user names none."""
    from ..weights import FILE  # loads torch, which not every command needs

    place = Path(about)
    if place.is_dir():
        return place / what
    if place.name == FILE and place.is_file():
        return place.parent / what
    return Path(RUNS, f"{what}-{place.stem if place.suffix else place.name}")


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
