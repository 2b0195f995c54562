"""What a page shows of several benchmarks: the time of every mechanism over the number of points, run beside run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ..support.printable import printable
from .page import COLOURS, as_html, graph_objects, table

Results = Mapping[str, Mapping[str, Any]]
Entries = Mapping[str, Sequence[Mapping[str, Any]]]  # by benchmark
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
MEASURES = (  # list of entries, key, unit, factor, and what it is
    ("times", "seconds", "milliseconds", 1e3, ""),
    ("memory", "peak_bytes", "MB", 2**-20, "peak memory of a fresh process"),
)
PASSES = {"forward": "forward", "both": "forward and backward"}
SAME = "All of them were measured with the same setting, on machines of the same kind."
OTHER = "They were not all measured with the same setting, or not on the same kind of machine: compare with care."


def sections(results: Results) -> list[str]:
    """The parts of the page, without its title and how the benchmarks were made."""
    settings = [(one["plan"]["setting"], _machine(one["machine"])) for one in results.values()]
    same = all(one == settings[0] for one in settings)
    body = [f'<p class="note">{SAME if same else OTHER} A colour is a mechanism, a kind of line a benchmark.</p>']
    names = dict.fromkeys(
        entry["mechanism"] for one in results.values() for entry in [*one["times"], *one.get("memory", [])]
    )
    colours = {name: COLOURS[number % len(COLOURS)] for number, name in enumerate(names)}
    first = True
    for kind, key, unit, factor, what in MEASURES:
        for level, passes in dict.fromkeys(_place(entry) for one in results.values() for entry in one.get(kind, [])):
            found = {
                name: [entry for entry in one.get(kind, []) if _place(entry) == (level, passes) and entry.get(key)]
                for name, one in results.items()
            }
            if not any(found.values()):
                continue
            said = what or PASSES.get(passes, passes)
            body.append(f"<h2>{escape(printable(f'{level}, {said}'))}</h2>")
            body.append(as_html(chart(found, key, unit, factor, colours), script=first))
            body.append(_table(found, key, unit, factor))
            first = False
    return body


def chart(found: Entries, key: str, unit: str, factor: float, colours: Mapping[str, str]) -> Any:
    """One line per mechanism and benchmark."""
    page = graph_objects().Figure()
    for number, (name, entries) in enumerate(found.items()):
        for mechanism in dict.fromkeys(entry["mechanism"] for entry in entries):
            own = [entry for entry in entries if entry["mechanism"] == mechanism]
            page.add_scatter(
                x=[entry["points"] for entry in own],
                y=[factor * entry[key] for entry in own],
                name=printable(f"{mechanism}, {name}"),
                mode="lines+markers",
                line={"color": colours[mechanism], "dash": DASHES[number % len(DASHES)]},
            )
    points = _points(found)
    page.update_layout(height=460, template="plotly_white", showlegend=True, margin={"t": 20})
    page.update_xaxes(title="points", type="log", tickvals=points, ticktext=[f"{n:,}" for n in points])
    page.update_yaxes(title=unit, type="log", exponentformat="none", dtick="D2")
    return page


def _table(found: Entries, key: str, unit: str, factor: float) -> str:
    """One row per mechanism and benchmark; the rows of a mechanism are together."""
    points = _points(found)
    rows = []
    for mechanism in dict.fromkeys(entry["mechanism"] for entries in found.values() for entry in entries):
        for name, entries in found.items():
            own = {entry["points"]: factor * entry[key] for entry in entries if entry["mechanism"] == mechanism}
            if own:
                rows.append((mechanism, name, *(f"{own[n]:,.3g}" if n in own else "-" for n in points)))
    return table((unit, "benchmark", *(f"{n:,}" for n in points)), rows)


def _points(found: Entries) -> list[int]:
    return sorted({int(entry["points"]) for entries in found.values() for entry in entries})


def _place(entry: Mapping[str, Any]) -> tuple[str, str]:
    return str(entry["level"]), str(entry.get("passes", ""))


def _machine(machine: Mapping[str, Any]) -> dict[str, Any]:
    """What two machines of one kind share: not how busy they were."""
    return {name: value for name, value in machine.items() if name != "load"}
