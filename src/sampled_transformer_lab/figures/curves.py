"""Figures of what was measured: the errors of sampled attention, and its cost. They read files under results/."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..bench.tables import TITLES
from .chart import Curve, Panel
from .shapes import SOFT, Drawing, Text, moved

EXACT = 1e-4  # errors below this one are those of rounding: the estimate has read every point
# The mechanisms of the paper, in an order that gives sampled and dense attention the first colours.
SHOWN = ("sampled", "dense", "dense-explicit", "knn", "stratified", "induced-16", "sparse", "none")
NAMES = {
    "dense": "dense, fused",
    "dense-explicit": "dense, written out",
    "induced-16": "induced",
    "none": "no attention",
}
LEFT, TOP, WIDTH, HEIGHT, NAMES_WIDTH = 64, 66, 330, 320, 165


def side_by_side(title: str, panels: Sequence[Panel], notes: Sequence[str]) -> Drawing:
    """Panels in a row, with notes below them."""
    pitch = LEFT + WIDTH + NAMES_WIDTH
    drawing = Drawing(pitch * len(panels), TOP + HEIGHT + 62 + 20 * len(notes), title)
    for number, panel in enumerate(panels):
        drawing.add(moved(shape, LEFT + number * pitch, TOP) for shape in panel.shapes())
    drawing.add(Text((LEFT, TOP + HEIGHT + 70 + 20 * line), note, 13, SOFT) for line, note in enumerate(notes))
    return drawing


def monte_carlo(result: dict[str, Any]) -> Drawing:
    """The error against dense attention over the number of points read, from results/theory/monte-carlo.json."""
    panels = []
    values = [y for case in result["cases"].values() for ys in case["errors"].values() for y in ys if y > EXACT]
    for name, case in result["cases"].items():
        curves = [
            Curve(label, number, [(x, y) for x, y in zip(case["rounds"], errors, strict=True) if y > EXACT])
            for number, (label, errors) in enumerate(case["errors"].items())
        ]
        ends = case["rounds"][0], case["rounds"][-1]
        curves.append(Curve("limit of the average", 0, [(x, case["limit"]) for x in ends], dashed=True))
        across = f"points that each point reads, of {result['points'] - 1} others"
        title = f"{name.capitalize()} weights"
        panels.append(
            Panel(title, across, "relative error", curves, WIDTH, HEIGHT, min(values) / 1.3, max(values) * 1.3)
        )
    notes = [
        f"Weights `{result['weights']}`, {result['shapes']} shapes of {result['points']} points, means over "
        f"{result['seeds']} draws. Errors are against dense attention;",
        '"to its limit" is against the limit of the average. Where every point is read, only rounding is left.',
    ]
    return side_by_side("How sampled attention approaches dense attention", panels, notes)


def cost(times: dict[str, Any] | None, memory: dict[str, Any] | None) -> Drawing:
    """Time of a block and memory of the network over the number of points, from results/bench."""
    panels, notes = [], []
    if times is not None:
        panels.append(time_panel(times))
        notes.append(f"Time: {circumstances(times)}. n^p is the growth fitted to sizes from 1,024 points on.")
    if memory is not None:
        panels.append(memory_panel(memory))
        notes.append(f"Memory: {circumstances(memory)}, forward and backward, beyond what the process held before.")
    return side_by_side("Time and memory of attention over the number of points", panels, notes)


def circumstances(result: dict[str, Any]) -> str:
    setting, machine = result["plan"]["setting"], result["machine"]
    return (
        f"batches of {setting['batch']}, {setting['heads']} heads of {setting['head_dim']}, {machine['device']}, "
        f"{machine['threads']} of {machine['cores']} cores"
    )


def time_panel(result: dict[str, Any]) -> Panel:
    """The largest part that was measured, forward and backward if both were."""
    level = "block" if any(entry["level"] == "block" for entry in result["times"]) else result["times"][0]["level"]
    passes = "both" if any(entry["passes"] == "both" for entry in result["times"]) else "forward"
    entries = [entry for entry in result["times"] if (entry["level"], entry["passes"]) == (level, passes)]
    growth = {
        entry["mechanism"]: f" n^{entry['exponent']:.2f}"
        for entry in result["exponents"]
        if (entry["level"], entry["passes"]) == (level, passes)
    }
    curves = []
    for number, name in enumerate(SHOWN):
        values = pairs(entries, name, "seconds", 1e3)
        fitted = growth.get(name, "") if len(values) > 2 else ""
        if values:
            curves.append(Curve(NAMES.get(name, name) + fitted, number, values))
    return Panel(f"Time of one {level}, {TITLES[passes]}", "points", "milliseconds", curves, WIDTH, HEIGHT)


def memory_panel(result: dict[str, Any]) -> Panel:
    curves = [
        Curve(NAMES.get(name, name), number, values)
        for number, name in enumerate(SHOWN)
        if (values := pairs(result["memory"], name, "peak_bytes", 1e-9))
    ]
    return Panel("Peak memory of a training step", "points", "GB", curves, WIDTH, HEIGHT)


def pairs(entries: Sequence[dict[str, Any]], name: str, key: str, factor: float) -> list[tuple[float, float]]:
    """(points, value) of a mechanism, where it was measured."""
    return [
        (entry["points"], factor * entry[key]) for entry in entries if entry["mechanism"] == name and entry.get(key)
    ]
