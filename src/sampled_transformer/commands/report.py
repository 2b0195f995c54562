"""The command `report`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..support.printable import brief, printable

LONGEST = 100  # characters of the names in the name of a page


def report(runs: list[str], out: str | None = None) -> None:
    """Write a page with the curves and the wrong answers of a finished run, or compare runs or evaluations.

    Args:
        runs: Folders of runs, or of evaluations, made by one command; the page shows the first run in detail.
        out: File to write (default: in the first folder report.html or, for several runs, report-with-NAMES.html with
            the names of the others).
    """
    from ..report.run_page import write_report

    folders = {name: Path(name) for name in runs}
    page = Path(runs[0], _name(runs)) if out is None else Path(out)
    with _understood(runs):
        write_report(page, folders, " and ".join(map(_called, folders.values())))
    print(f"{page}: written")


@contextmanager
def _understood(runs: list[str]) -> Iterator[None]:
    """Say in one line that a folder holds something else than a run of ours, whatever that does to the page.

    Here alone: the page that a training writes about itself shall show its mistakes.
    """
    try:
        yield
    except (ValueError, OSError, MemoryError):
        raise
    except Exception as error:
        got = f"{type(error).__name__}: {brief(str(error))}"
        raise ValueError(
            f"{', '.join(map(printable, runs))}: expected files that a run has written, got others ({got})"
        ) from None


def _name(runs: list[str]) -> str:
    """The name of the page: the report of the first run alone stays what it is."""
    others = "-".join(_called(Path(run).resolve()) for run in runs[1:])
    return f"report-with-{others[:LONGEST]}.html" if others else "report.html"


def _called(folder: Path) -> str:
    """What a folder is called; an evaluation in the folder of a run is called as the run."""
    return folder.resolve().parent.name if folder.name in ("evaluate", "robustness") else folder.name
