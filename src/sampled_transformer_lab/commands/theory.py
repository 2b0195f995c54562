"""The command `theory`: run the universal-approximation proof of the paper."""

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
        n: Points per set.
        d: Features per point.
        delta: Step of the grid, such as 1/2 or 1/3.
        construction: Version of the proof to draw: pairs (repaired), written (to the letter), closed (with g^1 too), or
            cycle (whole cycles in one direction).
        larger: Check larger grids too, with up to 100,000 inputs; this takes a minute.
        out: SVG file for a drawing of the ids in all layers; with --monte_carlo, JSON file for the figures.
        practice: Instead, train small networks on functions that need every pair, and print their errors.
        monte_carlo: Instead, measure how sampled attention approaches dense attention as it reads more points.
        steps: Steps per training of --practice.
        seed: Seed of the trainings of --practice.
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
