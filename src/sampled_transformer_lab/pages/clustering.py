"""Tables of amortised clustering: log-likelihoods compared with the paper and with the true mixtures."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import mean

from ..study import Study
from .comparison import LEAST_FREEDOM
from .markdown import table
from .measured import Measured, spread
from .verdict import Difference, Verdict, judge

NAMES = {
    "pooling": "rFF + Pooling",
    "induced": "ISAB(16) + PMA",
    "rows": "ISAB(16) + PMA, sampled as in the paper",
    "columns": "ISAB(16) + PMA, every point read by 4 of 16",
    "columns-2": "ISAB(16) + PMA, every point read by 2 of 16",
    "sampled": "sampled self-attention + PMA",
}


def clustering_section(study: Study, rows: list[Measured], others: Iterable[Measured] = ()) -> list[str]:
    truth = rows[0].runs[0]["figures"]
    with_paper = any(row.row.paper for row in rows)
    with_bar = any(row.row.bar is not None for row in rows)
    paper = ["the paper"] if with_paper else []
    columns = ["network", "seeds", "LL0", *paper, "LL1", *paper, "gap to the truth", "s per run"]
    body = []
    for row in rows:
        cells = [NAMES.get(row.name, row.name), str(len(row.runs))]
        for key in ("LL0", "LL1"):
            cells.append(spread([run["figures"][key] for run in row.runs], 4))
            if with_paper:
                cells.append(_printed(row, key) if row.row.paper else "")
        cells += [f"{truth['oracle_LL0'] - likelihood(row):.4f}", f"{row.seconds():.0f}"]
        body.append([*cells, bar(row)] if with_bar else cells)
    return [
        *table([*columns, "bar for LL0"] if with_bar else columns, body),
        "",
        "LL0 is the log-likelihood per point of the network's mixture, LL1 the log-likelihood after one EM step. Both "
        f"are means over 1,000 fixed sets that no training saw. The true mixtures reach {truth['oracle_LL0']:.4f} and "
        f"{truth['oracle_LL1']:.4f} on these sets.",
        "",
        "Other sets of the same kind have another entropy, so compare papers by the gap to the truth: LL0 of the true "
        "mixtures minus LL0. The seed of the fixed sets was chosen before any network saw them, such that the true "
        "mixtures reach about what they reach over all sets.",
        *against_inducing_points(rows, others),
    ]


def against_inducing_points(rows: list[Measured], others: Iterable[Measured]) -> list[str]:
    """The paper's claim: two sampled points per row instead of all."""
    found = judged(rows, others)
    if found is None:
        return []
    here, paper, verdict = found
    if here.seeds is None:
        error = "No row has a second seed, so the difference cannot be told from noise."
    else:
        error = (
            "The ± is one standard error over seeds. The deviation of a run is pooled over both rows, and, where these "
            f"are too few, over those of the other clustering studies ({here.freedom:.0f} degrees of freedom). The "
            "paper prints a ± per figure and does not say of what; we take it as the error of that figure. All rows "
            "answer the same fixed sets; what other sets would add is not in the ±. [Verdicts](index.md#verdicts) has "
            "the rules."
        )
    columns = ["LL0 of two sampled points per row minus LL0 of all points", "the paper", "verdict"]
    return ["", *table(columns, [[_written(here), _written(paper), verdict.words("", 3)]]), "", error]


def _printed(row: Measured, key: str) -> str:
    return f"{row.row.paper[key]:.4f} ± {row.row.paper[f'{key} ±']:.4f}"


def _written(one: Difference) -> str:
    return f"{one.value:+.4f}" + ("" if one.seeds is None else f" ± {one.error:.4f}")


def judged(rows: list[Measured], others: Iterable[Measured]) -> tuple[Difference, Difference, Verdict] | None:
    """The sampled rows against all points, here and in the paper; None where one of the two has no result.

    LL0 has the deviation of both rows, pooled with that of the other studies where these are too few. The paper's
    figures have the deviations that it prints.
    """
    by_name = {row.name: row for row in rows if row.row.paper}
    if not {"rows", "induced"} <= set(by_name):
        return None
    ours, rival = by_name["rows"], by_name["induced"]
    deviation, freedom = _pooled([ours, rival])
    if freedom < LEAST_FREEDOM:
        deviation, freedom = _pooled([ours, rival, *(row for row in others if row.name in ("rows", "induced"))])
    each = 1 / len(ours.runs) + 1 / len(rival.runs)
    seeds = None if deviation is None else deviation * math.sqrt(each)
    here = Difference(likelihood(ours) - likelihood(rival), seeds, freedom=freedom)
    printed = [row.row.paper for row in (ours, rival)]
    spread = math.hypot(*(one["LL0 ±"] for one in printed))
    paper = Difference(printed[0]["LL0"] - printed[1]["LL0"], spread)
    return here, paper, judge(here, paper)


def _pooled(rows: Iterable[Measured]) -> tuple[float | None, int]:
    """Deviation of LL0 between seeds, and its degrees of freedom."""
    squares, freedom = 0.0, 0
    for row in rows:
        squares += sum((run["figures"]["LL0"] - likelihood(row)) ** 2 for run in row.runs)
        freedom += len(row.runs) - 1
    return (math.sqrt(squares / freedom) if freedom else None), freedom


def likelihood(row: Measured) -> float:
    return float(mean(run["figures"]["LL0"] for run in row.runs))


def bar(row: Measured) -> str:
    if row.row.bar is None:
        return ""
    return f"{row.row.bar:.2f}, {'met' if likelihood(row) >= row.row.bar else '**missed**'}"
