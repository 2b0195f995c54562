"""The commands `tables list | make | page`: measure the tables of the paper."""

from __future__ import annotations

from pathlib import Path


def tables_list(results: str = "results") -> None:
    """List the tables, and how many of their runs have a result.

    Args:
        results: Folder with one JSON file per run.
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
        table: Name of the table, see `tables list`.
        root: Folder that holds the data set, if the package does not ship it.
        rows: Make only these rows, such as "[basic-dense,basic-sampled]" (default: all).
        results: Folder for one JSON file per run.
        runs: Folder for the runs themselves; interrupted ones continue.
        workers: Runs to make at the same time; they share the cores.
    """
    from ..reproduce import reproduce

    for line in reproduce(table, root, Path(results), Path(runs), workers, rows):
        print(line, flush=True)


def tables_page(results: str = "results", page: str = "docs/results") -> None:
    """Write the tables as pages: a first page with a summary, and one page per study.

    The table of claims in a README.md two folders above the pages is written too, if it is marked as such.

    Args:
        results: Folder with one JSON file per run.
        page: Folder to write, made if it is missing.
    """
    from ..pages.results import with_claims, write_pages

    written = write_pages(Path(results), Path(page))
    readme = Path(page).absolute().parent.parent / "README.md"
    if readme.is_file():
        readme.write_text(with_claims(readme.read_text("utf-8"), Path(results)), "utf-8")
    print(f"{page}: {len(written)} pages written from {results}")
