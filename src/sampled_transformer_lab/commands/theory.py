"""The command `theory`: the paper's universal-approximation proof, run."""

from __future__ import annotations

from pathlib import Path
from typing import Literal


def theory(
    n: int = 3,
    d: int = 1,
    delta: str = "1/2",
    construction: Literal["pairs", "written", "closed", "cycle"] = "pairs",
    larger: bool = False,
    out: str | None = None,
    practice: bool = False,
    monte_carlo: bool = False,
    steps: int = 1000,
    seed: int = 0,
) -> None:
    """Run the universal-approximation proof in exact arithmetic: check its steps, and draw how ids spread.

    Args:
        n: points of the sets that are drawn.
        d: features of a point.
        delta: step of the grid, 1/2, 1/3, ...
        construction: reading of the proof that is drawn.
        larger: check larger grids too, on up to 100,000 inputs; takes a minute.
        out: draw the ids of all layers into this SVG file; with monte_carlo, write the figures into this JSON file.
        practice: instead, train small networks on functions that need every pair, and print their errors.
        monte_carlo: instead, measure how sampled attention approaches dense attention as it reads more points.
        steps: steps of each of these trainings.
        seed: of these trainings.
    """
    if practice:
        from ..practice import practice_tables

        for part in practice_tables(steps, seed):
            print(part, flush=True)
        return
    if monte_carlo:
        from json import dumps

        from ..monte_carlo import study, tables

        found = study()
        if out is not None:
            Path(out).write_text(dumps(found, indent=1) + "\n", "utf-8")
        print("\n".join(tables(found)))
        return
    from sampled_transformer.theory.drawing import draw_svg
    from sampled_transformer.theory.tables import layers_of, report

    trace = layers_of(n, d, delta, construction)
    if out is not None:
        Path(out).write_text(draw_svg(trace), "utf-8")
    for part in report(trace, larger):
        print(part, flush=True)
    if out is not None:
        print(f"\n{out}: written")
