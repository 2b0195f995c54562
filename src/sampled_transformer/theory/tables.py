"""The tables of the command `theory`, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from .approximation import FUNCTIONS, approximate, distance
from .claims import counterexamples, settings_by_size
from .contextual import CONSTRUCTIONS, Trace, contextual_mapping, run
from .drawing import draw_text, spread_table
from .grid import Setting, all_inputs
from .steps import CLAIMS

# (n, d, 1 / delta). Small grids are checked completely, larger ones on random inputs.
MAPPINGS = [(n, d, steps) for n in (2, 3, 4) for d in (1, 2) for steps in (2, 3)]
LARGER = [(5, 2, 3), (4, 2, 4), (6, 2, 5), (8, 3, 4), (16, 1, 10)]
ERRORS = [(2, 1, (2, 4, 8, 16, 32)), (3, 1, (2, 4, 8, 16)), (2, 2, (2, 4, 8))]


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with aligned columns, so that it also reads well in a terminal."""
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in (head, *rows)]
    widths = [max(len(row[column]) for row in escaped) for column in range(len(head))]
    padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in escaped]
    first, *others = [f"| {' | '.join(row)} |" for row in padded]
    rule = f"|{'|'.join('-' * (width + 2) for width in widths)}|"
    return "\n".join([first, rule, *others])


def mapping_table(settings: Sequence[tuple[int, int, int]], limit: int, samples: int = 2000) -> str:
    """Definition 3.2 for the constructions "pairs" and "cycle", one row per setting."""
    rows = []
    for n, d, steps in settings:
        delta = Fraction(1, steps)
        pairs, cycle = (
            contextual_mapping(n, d, delta, construction=name, limit=limit, samples=samples)
            for name in ("pairs", "cycle")
        )
        inputs = f"{pairs.inputs}" if pairs.exhaustive else f"{pairs.inputs} random"
        verdicts = ["yes" if verdict.holds else verdict.within or verdict.between or "" for verdict in (pairs, cycle)]
        rows.append([str(n), str(d), str(delta), inputs, str(pairs.attentions), str(pairs.digits), *verdicts])
    head = ["n", "d", "delta", "inputs", "attention layers", "digits of an id", "pairs", "one cycle"]
    return markdown(head, rows)


def construction_table(largest: int = 512) -> str:
    """The constructions, and the smallest grid on which each one fails."""
    rows = []
    for name, construction in CONSTRUCTIONS.items():
        failure = "no"
        for setting in settings_by_size(largest):
            verdict = contextual_mapping(setting.n, setting.d, setting.delta, construction=name)
            if not verdict.holds:
                failure = f"{setting}: {verdict.within or verdict.between}"
                break
        rows.append([name, construction.title, failure])
    return markdown(["construction", "what it is", "fails"], rows)


def claim_list(largest: int = 512) -> str:
    """Every statement of appendix E, and whether it holds on all grids of up to `largest` inputs.

    The paper's statements are marked "holds" or "FAILS", our own questions "yes" or "no".
    """
    lines = []
    for claim, setting, failure in counterexamples(CLAIMS, largest):
        holds, fails = ("yes", "no") if claim.ours else ("holds", "FAILS")
        lines.append(f"- {holds if setting is None else fails}: {claim.statement} [{claim.name}; {claim.place}]")
        if setting is not None:
            lines += [f"  - smallest counter-example: {setting}: {failure}", f"  - repair: {claim.repair}"]
    return "\n".join(lines)


def error_table(settings: Sequence[tuple[int, int, tuple[int, ...]]], p: int = 2) -> str:
    """The distance d_p of Eq. 2 between functions and their networks, for decreasing delta."""
    columns = sorted({step for _, _, steps in settings for step in steps})
    rows = []
    for n, d, steps in settings:
        for name, function in FUNCTIONS.items():
            found = {}
            for step in steps:
                network = approximate(function, n, d, Fraction(1, step))
                found[step] = f"{distance(function, network, network.setting, p=p):.4f}"
            rows.append([name, str(n), str(d), *(found.get(step, "") for step in columns)])
    return markdown(["function", "n", "d", *(f"delta=1/{step}" for step in columns)], rows)


def layers_of(n: int, d: int, delta: str, construction: str) -> Trace:
    """Run a construction on every input of a grid and keep every layer, for drawing."""
    setting = Setting.of(n, d, delta)
    if setting.inputs > 5000:
        raise ValueError(f"delta: expected a grid of at most 5000 inputs to draw, got {setting.inputs} for {setting}")
    return run(all_inputs(setting), setting, construction, keep=True)


def report(trace: Trace, larger: bool = False) -> Iterator[str]:
    """Yield all tables, each as soon as it is computed."""
    yield f"## How ids spread ({trace.setting})\n\nOne input on a logarithmic scale. Marks are tokens; * is several:\n"
    yield draw_text(trace, len(trace.inputs) // 2)
    yield "\nAll inputs:\n"
    yield markdown(["layer", "largest id", "different ids", "tokens", "ids of two inputs"], spread_table(trace))
    yield "\n## Definition 3.2\n"
    yield mapping_table(MAPPINGS + (LARGER if larger else []), limit=100_000)
    yield "\n## Readings of the proof\n"
    yield construction_table()
    yield "\n## Step by step, on all grids of at most 512 inputs\n"
    yield '"holds" and "FAILS" mark statements of the paper, "yes" and "no" our own questions. G lists the grid'
    yield "values, one token after the other; the ids are u^T of the columns.\n"
    yield claim_list()
    yield "\n## The error d_2 of the networks\n"
    yield error_table(ERRORS)
