"""Tables of amortised clustering: log-likelihoods compared with the paper and with the true mixtures."""

from __future__ import annotations

from statistics import mean

from ..studies import Study
from .markdown import table
from .measured import Measured, spread

NAMES = {
    "pooling": "rFF + Pooling",
    "induced": "ISAB(16) + PMA",
    "rows": "ISAB(16) + PMA, sampled as in the paper",
    "columns": "ISAB(16) + PMA, every point read by 4 of 16",
    "columns-2": "ISAB(16) + PMA, every point read by 2 of 16",
    "sampled": "sampled self-attention + PMA",
}


def clustering_section(study: Study, rows: list[Measured]) -> list[str]:
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
                cells.append(f"{row.row.paper[key]:.4f}" if row.row.paper else "")
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
        "mixtures reach what they reach over all sets (-1.475) and on the sets of Lee et al. (-1.473).",
    ]


def likelihood(row: Measured) -> float:
    return float(mean(run["figures"]["LL0"] for run in row.runs))


def bar(row: Measured) -> str:
    if row.row.bar is None:
        return ""
    return f"{row.row.bar:.2f}, {'met' if likelihood(row) >= row.row.bar else '**missed**'}"
