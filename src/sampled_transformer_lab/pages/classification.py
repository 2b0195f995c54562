"""Tables of accuracies: one row per mechanism, compared with one of them and with the paper."""

from __future__ import annotations

from collections.abc import Iterable

from ..study import Study
from .comparison import Comparison, Seeds, averages, comparisons, seed_deviation, trends
from .markdown import listed, table
from .measured import Measured, best_epoch, counted, spread
from .verdict import Difference, judge, seeds_needed


def classification_section(study: Study, rows: list[Measured], others: Iterable[Measured] = ()) -> list[str]:
    """The page of a study; `others` are rows of other studies that lend their deviation between seeds."""
    asked = [row for row in rows if row.row.prints]
    rows = [row for row in rows if not row.row.prints]
    lines = accuracy_table(study, rows) if rows else []
    if asked:
        lines += ["", "The same runs in one pass and averaged over cycles:", "", *asked_table(asked)]
    deviation = seed_deviation(rows, others)
    compared = comparisons(study, rows, deviation)
    if not compared:
        return lines
    lines += [
        "",
        f"## {'No' if study.subject == 'none' else study.subject.capitalize()} attention against the others",
        "",
        summary(study.subject, compared),
        "",
        *comparison_table([*compared, *averages(study, compared)], deviation),
        "",
        noise_note(deviation, compared),
    ]
    grown = trends(study, rows, deviation)
    if grown:
        lines += ["", "## More points", "", *comparison_table(grown, deviation, "points")]
    return lines


def accuracy_table(study: Study, rows: list[Measured]) -> list[str]:
    paper = bool(study.paper_column)
    columns = ["attention", "seeds", "accuracy %", "the paper %", "split", "mean over classes %", "best epoch %"]
    body = []
    for row in rows:
        diverged = f" ({row.diverged()} of {len(row.runs)} diverged)" if row.diverged() else ""
        cells = [
            row.name + diverged,
            str(len(row.runs)),
            spread(row.figures("test_accuracy")),
            f"{row.row.paper['accuracy']:.2f}" if row.row.paper else "",
            f"± {row.split_deviation():.2f}",
            spread(row.figures("test_mean_class_accuracy")),
            spread(row.figures("test_accuracy", best_epoch(row.runs[0]))),
            f"{row.seconds():.0f}",
        ]
        body.append(cells if paper else [*cells[:3], *cells[4:]])
    columns = [*(columns if paper else [*columns[:3], *columns[4:]]), "s per run"]
    note = '"Split" is the deviation that the finite test split adds; the best epoch was chosen on the test split.'
    return [*table(columns, body), "", note + (f" The paper's column is {study.paper_column}." if paper else "")]


def asked_table(rows: Iterable[Measured]) -> list[str]:
    """The same networks in one pass and averaged over cycles."""
    return table(
        ["attention", "seeds", "accuracy %", "mean over classes %"],
        [
            [
                f"{row.name.removesuffix('-averaged')}, {way}",
                str(len(row.runs)),
                *(spread(row.figures(key, way)) for key in ("accuracy", "mean_class_accuracy")),
            ]
            for row in rows
            for way in row.runs[0]["figures"]
        ],
    )


def comparison_table(compared: list[Comparison], deviation: Seeds, first: str = "against") -> list[str]:
    """With the paper's differences, where it prints any, and the seeds that these would take."""
    columns = [first, "here, points", "would resolve", "order here"]
    body = [[one.rival, written(one.here), resolved(one.here), one.order] for one in compared]
    if any(one.paper for one in compared):
        columns += ["the paper", "verdict", "seeds to find the paper's"]
        for one, cells in zip(compared, body, strict=True):
            cells += ["not shown" if one.paper is None else written(one.paper), one.words, _wanted(one, deviation)]
    else:
        columns[3] = "verdict"
        for one, cells in zip(compared, body, strict=True):
            resolves = one.order == "open" and one.here.seeds is not None
            cells[3] = "undecided" if resolves else one.words
    return table(columns, body)


def resolved(one: Difference) -> str:
    """The difference from zero that would be found with a chance of 80 %."""
    return "" if one.seeds is None else f"{one.resolves():.1f}"


def _wanted(one: Comparison, deviation: Seeds) -> str:
    """The seeds per row that would find the paper's difference."""
    if one.paper is None or deviation.value is None or one.pairs > 1:
        return ""
    wanted = seeds_needed(one.paper.value, deviation.value, one.here.split)
    return "no number" if wanted is None else f"{wanted:,}"


def written(one: Difference) -> str:
    return f"{one.value:+.2f} ± {one.error:.2f}"


def summary(subject: str, compared: list[Comparison]) -> str:
    """The comparisons as sentences: "Sampled beats no attention, loses to dense and cannot be told from sparse."."""
    parts = []
    for order, words in (("better", "beats"), ("worse", "loses to"), ("open", "cannot be told from")):
        names = ["no attention" if one.rival == "none" else one.rival for one in compared if one.order == order]
        if names:
            parts.append(f"{words} {listed(names)}")
    comma = "," if len(parts) > 2 or " and " in "".join(parts[:1]) else ""
    joined = f"{comma} and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
    who = "The network without attention" if subject == "none" else subject.capitalize()
    sentences = [f"{who} {joined}."] if parts else []
    diverged = [one.rival for one in compared if one.order == "diverged"]
    if diverged:
        sentences.append(f"Runs of {listed(diverged)} diverged, which says nothing.")
    return " ".join([*sentences, *against_the_paper(compared)])


def against_the_paper(compared: list[Comparison]) -> list[str]:
    """One sentence per outcome, such as "Against the paper: refuted for knn."."""
    outcomes: dict[str, list[str]] = {}
    for one in compared:
        if one.paper is not None and one.order != "diverged":
            outcomes.setdefault(one.verdict.outcome, []).append(one.rival)
    parts = [f"{outcome} for {listed(names)}" for outcome, names in outcomes.items()]
    return [f"Against the paper: {'; '.join(parts)}."] if parts else []


def unequal_deviations(compared: list[Comparison]) -> list[str]:
    """What would be decided otherwise if every row had the deviation of its own seeds, and not the pooled one."""
    changed = []
    for one in compared:
        if one.apart is None or one.diverged:
            continue
        order = judge(one.apart).order
        if order != one.order:
            changed.append(f"{one.rival} {written(one.apart)}, {order}")
    if not changed:
        return []
    return [f"With the deviation of each row's own seeds in place of the pooled one: {'; '.join(changed)}."]


def noise_note(deviation: Seeds, compared: list[Comparison]) -> str:
    """What the ± of a difference is made of, and what it resolves."""
    if deviation.value is None:
        return "No row here or elsewhere has a second seed, so no difference can be told from noise."
    source = deviation.source or "the rows that have a second one"
    split = max(one.here.split for one in compared)
    parts = [
        f"The ± is one standard error. It joins the deviation between seeds, pooled over {source} "
        f"({deviation.value:.2f} points per run, {counted([deviation.freedom], 'degree')} of freedom), and the finite "
        f'test split, which adds up to {split:.2f} points that no number of seeds removes. "Would resolve" is the true '
        "difference from zero that this finds with a chance of 80 %, in points."
    ]
    parts += unequal_deviations(compared)
    if any(one.paper for one in compared):
        parts.append(
            "The paper prints one figure per row; its ± is ours for one seed each. The last column is the number of "
            "seeds per row that would find the paper's difference on this test split with a chance of 80 %; \"no "
            'number" where the finite test split alone hides it.'
        )
    return " ".join([*parts, "[Verdicts](index.md#verdicts) has the rules."])
