"""The command `theory`: run the universal-approximation proof of the paper."""

from __future__ import annotations

from json import dumps, loads
from pathlib import Path
from typing import Any, Literal


def theory(
    n: int = 3,
    d: int = 1,
    delta: str = "1/2",
    construction: Literal["pairs", "written", "closed", "cycle"] = "pairs",
    larger: bool = False,
    out: str | None = None,
    softened: bool = False,
    practice: bool = False,
    monte_carlo: bool = False,
    steps: int = 1000,
    seed: int = 0,
) -> None:
    """Run the universal-approximation proof: check its steps in exact arithmetic, and draw how ids spread.

    Args:
        n: Points per set.
        d: Features per point.
        delta: Step of the grid, such as 1/2 or 1/3.
        construction: Version of the proof to draw: pairs (repaired), written (to the letter), closed (with g^1 too), or
            cycle (whole cycles in one direction).
        larger: Check larger grids too, with up to 100,000 inputs; this takes a minute.
        out: SVG file for a drawing of the ids in all layers; with one of the next three, JSON file for the figures.
        softened: Instead, run the proof's network with softmax heads and ReLUs, and print its errors against tau.
        practice: Instead, train small networks on functions that need every pair, and print their errors. If the file
            of --out has some of these trainings, the others continue it.
        monte_carlo: Instead, measure how sampled attention approaches dense attention as it reads more points.
        steps: Steps per training of --practice.
        seed: Seed of the trainings of --practice, and of the inputs of --softened.
    """
    if softened + practice + monte_carlo > 1:
        raise ValueError("softened, practice, monte_carlo: expected at most one, got several")
    if softened:
        from .. import softened as last_stage

        found = last_stage.study(seed=seed)
        save(found, out)
        print("\n".join(last_stage.tables(found)))
        return
    if practice:
        from .. import practice as trainings

        known = loads(Path(out).read_text("utf-8")) if out is not None and Path(out).is_file() else None
        for found in trainings.study(steps, seed, known):
            print("  ".join(trainings.row_of(found["trials"][-1])), flush=True)
            save(found, out)
        print(f"\n{trainings.table(found)}")
        return
    if monte_carlo:
        from .. import monte_carlo as sampling

        found = sampling.study()
        save(found, out)
        print("\n".join(sampling.tables(found)))
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


def save(found: dict[str, Any], out: str | None) -> None:
    """Write the figures of a measurement, if a file is wanted."""
    if out is not None:
        Path(out).write_text(dumps(found, indent=1) + "\n", "utf-8")
