"""The commands `tables list | make | page`: measure the paper's tables."""

from __future__ import annotations

from pathlib import Path


def tables_list(results: str = "results") -> None:
    """List the tables, and how many of their runs have a result.

    Args:
        results: the folder with one JSON file a run.
    """
    from ..reproduce import result_file
    from ..studies import STUDIES

    for name, study in STUDIES.items():
        made = sum(result_file(Path(results), name, *run).is_file() for run in study.runs())
        print(f"{name}: {study.title}; {made} of {len(study.runs())} runs made")


def tables_make(
    table: str,
    root: str | None = None,
    rows: list[str] | None = None,
    results: str = "results",
    runs: str = "runs",
    workers: int = 1,
) -> None:
    """Make the runs of a table that have no result yet.

    Args:
        table: its name, see `tables list`.
        root: the folder that holds its data set, where that is not part of the package.
        rows: make these rows alone, such as ["basic-dense","basic-sampled"].
        results: the folder for one JSON file a run.
        runs: the folder of the runs themselves; those that were interrupted go on.
        workers: runs made side by side, which share the cores.
    """
    from ..reproduce import reproduce

    for line in reproduce(table, root, Path(results), Path(runs), workers, rows):
        print(line, flush=True)


def tables_page(results: str = "results", page: str = "docs/results") -> None:
    """Write the tables as pages: a first page with a summary, and one page per study.

    Args:
        results: the folder with one JSON file per run.
        page: the folder to write, made if it is missing.
    """
    from ..pages.results import write_pages

    written = write_pages(Path(results), Path(page))
    print(f"{page}: {len(written)} pages written from {results}")
