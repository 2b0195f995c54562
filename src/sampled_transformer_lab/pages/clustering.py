"""Tables of amortised clustering: log-likelihoods beside those of the true mixtures and the paper's."""

from __future__ import annotations

from statistics import mean

from ..studies import Study
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
    lines = [
        "LL0 is the log-likelihood a point of the network's mixture, LL1 that after one step of EM, on 1,000 fixed "
        f"sets that no training saw. The true mixtures reach {truth['oracle_LL0']:.4f} and {truth['oracle_LL1']:.4f} "
        "on them. Other sets of the same kind have another entropy: the column of the gap to the truth is what can be "
        "compared between papers. The seed of the fixed sets was chosen before any network saw them, so that the true "
        "mixtures reach what they reach over all sets (-1.475) and on those of Lee et al. (-1.473).",
        "",
        "| network | seeds | LL0 | LL1 | LL0 short of the truth | s a run | the paper: LL0 | LL1 | bar for LL0 |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        values = {key: [run["figures"][key] for run in row.runs] for key in ("LL0", "LL1")}
        printed = [f"{row.row.paper[key]:.4f}" if row.row.paper else "" for key in ("LL0", "LL1")]
        cells = [
            NAMES.get(row.name, row.name),
            str(len(row.runs)),
            *(spread(values[key], 4) for key in ("LL0", "LL1")),
            f"{truth['oracle_LL0'] - mean(values['LL0']):.4f}",
            f"{row.seconds():.0f}",
            *printed,
            bar(row, mean(values["LL0"])),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def bar(row: Measured, value: float) -> str:
    if row.row.bar is None:
        return ""
    return f"{row.row.bar:.2f}, {'met' if value >= row.row.bar else '**missed**'}"
