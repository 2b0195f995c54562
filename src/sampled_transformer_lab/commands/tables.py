"""The commands `tables list | make | check | page`: measure the tables of the paper."""

from __future__ import annotations

import signal
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from sampled_transformer.support.signals import Stopped

RUNS = "runs"
RESULTS, PAGE = "results", "docs/results"


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
    seeds: list[int] | None = None,
    results: str = "results",
    runs: str | None = None,
    workers: int = 1,
    fresh: bool = False,
) -> None:
    """Make the runs of a table that have no result yet, and show how far they are.

    Several of these commands share the work, if they are given the same folders: none makes a run that another makes.

    Args:
        table: Name of the table, see `tables list`.
        root: Folder that holds the data set, if the package does not ship it.
        rows: Make only these rows, such as "[basic-dense,basic-sampled]" (default: all).
        seeds: Make only these seeds, such as "[0]" (default: all).
        results: Folder for one JSON file per run.
        runs: Folder for the runs themselves and their logs; interrupted ones continue (default: runs, or with --fresh
            the first of runs/fresh-1, runs/fresh-2, ... that is new).
        workers: Runs to make at the same time; they share the cores.
        fresh: Make all runs anew, also those with a result; each result is replaced when its run is complete.
    """
    from ..reproduce import new_folder

    folder = Path(runs) if runs is not None else new_folder(Path(RUNS), "fresh") if fresh else Path(RUNS)
    again = f"the same command with --runs {folder}" if fresh and runs is None else "the same command"
    request = {"root": root, "rows": rows, "seeds": seeds, "workers": workers, "fresh": fresh}
    make(table, again, results=Path(results), runs=folder, **request)


def make(table: str, again: str, **request: Any) -> None:
    """Make runs as `reproduce` does, and show them; `again` says how to go on after an interruption."""
    from ..progress import Board
    from ..reproduce import reproduce

    board = Board(sys.stdout)
    try:
        with closing(reproduce(table, **request, watch=board.show)) as lines:
            for line in lines:
                board.say(line)
    except KeyboardInterrupt as stop:
        number = stop.number if isinstance(stop, Stopped) else signal.SIGINT
        raise Stopped(f"stopped; the runs under way were saved, and {again} continues", number) from None


def tables_check(
    table: str,
    root: str | None = None,
    rows: list[str] | None = None,
    seed: int = 0,
    results: str = "results",
    runs: str | None = None,
    workers: int = 1,
) -> int:
    """Make one seed of a table anew, and say whether it agrees with the results that are kept.

    A row agrees if all its figures are equal, as they are on the same machine with the same versions. It also agrees if
    its headline differs by no more than 3 standard deviations of the difference between two seeds, pooled over the
    rows: on another machine, rounding makes a run differ as much as another seed does. The mean shift of all trained
    rows must be within 3 standard errors. Rows that evaluate weights of the package may differ by rounding alone. The
    exit code is 1 if a row differs, or all of them together. Results that are kept are not changed.

    Args:
        table: Name of the table, see `tables list`.
        root: Folder that holds the data set, if the package does not ship it.
        rows: Check only these rows, such as "[basic-none,basic-sampled]" (default: all), and those they start from.
        seed: Seed to make anew.
        results: Folder with one JSON file per run, to compare with.
        runs: Folder for the new runs and their results (default: the first of runs/check-1, runs/check-2, ... that is
            new).
        workers: Runs to make at the same time; they share the cores.
    """
    from sampled_transformer.support.registry import look_up

    from ..check import agree_together, compare, read_kept, seed_deviations, summary
    from ..reproduce import chosen_runs, new_folder
    from ..studies import STUDIES

    study, folder = (
        look_up("table", table, STUDIES),
        Path(runs) if runs is not None else new_folder(Path(RUNS), "check"),
    )
    wanted = chosen_runs(study, rows, [seed], complete=True)
    kept = read_kept(Path(results), table, wanted)
    request = {"root": root, "rows": rows, "seeds": [seed], "workers": workers, "fresh": True}
    make(table, f"the same command with --runs {folder}", results=folder / "results", runs=folder, **request)
    new, deviations = read_kept(folder / "results", table, wanted), seed_deviations(Path(results), table, study)
    compared = [compare(row, kept[row], new[row], deviations, study.rows[row]) for row, _ in wanted]
    for one in compared:
        print(one.line())
    print(summary(compared, deviations))
    return 0 if agree_together(compared) else 1


def tables_page(results: str = RESULTS, page: str | None = None) -> None:
    """Write the tables as pages: a first page with a summary, and one page per study.

    The table of claims in a README.md two folders above the pages is written too, if it is marked as such.

    Args:
        results: Folder with one JSON file per run.
        page: Folder to write, made if it is missing (default: docs/results; with other results than the default ones,
            pages that they do not have are then no longer removed, but refused).
    """
    from sampled_transformer.support.atomic import atomic_write
    from sampled_transformer.support.printable import printable

    from ..pages.results import results_pages, with_claims, write_pages

    if not any(Path(results).rglob("*.json")) or list(results_pages(Path(results))) == ["index.md"]:
        raise ValueError(
            f"results: expected a folder with results of `tables make`, got {printable(results)} without any"
        )
    folder = Path(PAGE if page is None else page)
    remove = page is not None or Path(results) == Path(RESULTS)
    written = write_pages(Path(results), folder, remove)
    readme = folder.absolute().parent.parent / "README.md"
    also = ""
    if readme.is_file():
        before = readme.read_text("utf-8")
        text = with_claims(before, Path(results))
        if text != before:
            with atomic_write(readme) as file:
                file.write(text.encode("utf-8"))
            also = f", and the claims in {printable(readme)}"
    print(f"{printable(folder)}: {len(written)} pages written from {printable(results)}{also}")
