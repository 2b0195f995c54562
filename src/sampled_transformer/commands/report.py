"""The command `report`."""

from __future__ import annotations

from pathlib import Path


def report(runs: list[str], out: str | None = None) -> None:
    """Write a page with the curves and the wrong answers of finished runs.

    Args:
        runs: Folders of runs; the page shows the first one in detail.
        out: File to write (default: report.html in the first folder).
    """
    from ..report.run_page import write_report

    folders = {name: Path(name) for name in runs}
    page = Path(runs[0], "report.html") if out is None else Path(out)
    write_report(page, folders, " and ".join(folder.name for folder in folders.values()))
    print(f"{page}: written")
