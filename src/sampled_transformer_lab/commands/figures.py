"""The command `figures`: Fig. 1 of the paper, and the curves of what was measured, as SVG and PNG."""

from __future__ import annotations

from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..figures.shapes import Drawing

# The files under results/ that a figure is drawn from.
SOURCES: dict[str, tuple[str, ...]] = {
    "fig1": (),
    "monte-carlo": ("theory/monte-carlo.json",),
    "cost": ("bench/bench.json", "bench/paper-memory.json"),
}


def figures(
    only: list[str] | None = None,
    points: int = 12,
    subset: int = 4,
    seed: int | None = None,
    results: str = "results",
    out: str = "docs/figures",
) -> None:
    """Draw Fig. 1 of the paper from a random cycle, and curves from the results: NAME.svg and NAME.png.

    Args:
        only: Draw only these, such as "[fig1]": fig1, monte-carlo (the error of sampled attention over the points it
            reads) and cost (time and memory over the number of points) (default: all whose results are there).
        points: n of Fig. 1, the points of the set.
        subset: n_s of Fig. 1, the points per subset.
        seed: Seed of the cycle of Fig. 1 (default: that of the documentation).
        results: Folder with the results that the curves show.
        out: Folder to write, made if it is missing.
    """
    from sampled_transformer.support.atomic import atomic_write
    from sampled_transformer.support.registry import look_up

    from ..figures.png import png
    from ..figures.svg import svg

    for name in only or ():
        look_up("only", name, SOURCES)
    folder, drawings = Path(out), dict[str, "Drawing"]()
    for name in only or SOURCES:
        missing = [file for file in SOURCES[name] if not Path(results, file).is_file()]
        if not missing:
            found = [loads(Path(results, file).read_text("utf-8")) for file in SOURCES[name]]
            drawings[name] = draw(name, found, points, subset, seed)
        elif only:
            raise ValueError(f"{name}: expected {Path(results, missing[0])}, got no such file")
        else:
            print(f"{name}: left out, because there is no {Path(results, missing[0])}")
    files = {f"{name}.svg": svg(drawing).encode("utf-8") for name, drawing in drawings.items()}
    files |= {f"{name}.png": png(drawing) for name, drawing in drawings.items()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        with atomic_write(folder / name) as file:
            file.write(content)
        print(f"{folder / name}: written")


def draw(name: str, found: list[dict[str, Any]], points: int, subset: int, seed: int | None) -> Drawing:
    from ..figures.curves import cost, monte_carlo
    from ..figures.fig1 import SEED, fig1

    if name == "fig1":
        return fig1(points, subset, SEED if seed is None else seed)
    return monte_carlo(*found) if name == "monte-carlo" else cost(*found)
