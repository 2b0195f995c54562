"""report.html of a benchmark: charts and tables of time and memory over the number of points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from sampled_transformer.report.facts import facts
from sampled_transformer.report.page import COLOURS, as_html, document, graph_objects, table
from sampled_transformer.support.atomic import atomic_write

from .tables import TITLES, megabytes, milliseconds

DASHES = ("solid", "dash", "dot")
LEFT_OUT = '<p class="note">"-" marks what was left out; bench.json says why.</p>'
MEMORY = {"peak_bytes": "peak memory of a fresh process", "kept_bytes": "kept for the backward pass"}


def write_page(path: Path, result: dict[str, Any]) -> None:
    """Write the page of one benchmark to a file."""
    with atomic_write(path) as file:
        file.write(page(result).encode("utf-8"))


def page(result: dict[str, Any]) -> str:
    """The page of one benchmark, as HTML."""
    setting, machine = result["plan"]["setting"], result["machine"]
    sizes = f"batch {setting['batch']}, {setting['heads']} heads of {setting['head_dim']}"
    threads = f"{machine['threads']} of {machine['cores']} cores"
    place = f"{machine['device']}, {threads}, torch {result['versions']['torch']}"
    body = [
        "<h1>Attention over the number of points</h1>",
        f"<p>{escape(sizes)}; {escape(place)}. Medians of interleaved repeats. Both axes are logarithmic, so a "
        "power of the number of points is a straight line. The number behind each name is its exponent.</p>",
    ]
    names = list(dict.fromkeys(entry["mechanism"] for entry in [*result["times"], *result["memory"]]))
    charts = []
    exponent = {(e["level"], e["passes"], e["mechanism"]): e["exponent"] for e in result["exponents"]}
    for level, passes in dict.fromkeys((entry["level"], entry["passes"]) for entry in result["times"]):
        entries = [entry for entry in result["times"] if (entry["level"], entry["passes"]) == (level, passes)]
        labels = {
            name: f"{name} ({exponent[level, passes, name]:.2f})" if (level, passes, name) in exponent else name
            for name in names
        }
        charts.append((f"{level}, {TITLES[passes]}", chart(entries, "seconds", "milliseconds", 1e3, names, labels)))
    for level in dict.fromkeys(entry["level"] for entry in result["memory"]):
        entries = [entry for entry in result["memory"] if entry["level"] == level]
        labels = {name: name for name in names}
        for key, title in MEMORY.items():
            charts.append((f"{level}: {title}", chart(entries, key, "MB", 1e-6, names, labels)))
    for number, (title, figure) in enumerate(charts):
        body += [f"<h2>{escape(title)}</h2>", as_html(figure, script=number == 0)]
    body += ["<h2>Tables</h2>", *_tables(result)]
    body += [LEFT_OUT, *facts({"bench": result}, {})]
    return document("Attention over the number of points", body)


def _tables(result: dict[str, Any]) -> list[str]:
    """Times with their ratio to sampled attention, then memory, one row per mechanism and one column per size."""
    body = []
    for level, passes in dict.fromkeys((entry["level"], entry["passes"]) for entry in result["times"]):
        entries = [entry for entry in result["times"] if (entry["level"], entry["passes"]) == (level, passes)]
        ours = {e["points"]: e["seconds"] for e in entries if e["mechanism"] == "sampled" and e.get("seconds")}

        def time(entry: dict[str, Any], ours: dict[int, float] = ours) -> str:
            base = ours.get(entry["points"])
            ratio = f" ({entry['seconds'] / base:.2f})" if base else ""
            return f"{milliseconds(entry['seconds'])}{ratio}"

        beside = ", and in brackets the ratio to sampled attention" if ours else ""
        body += [f"<h3>{escape(level)}, {TITLES[passes]}: milliseconds{beside}</h3>", _table(entries, "seconds", time)]
    for level in dict.fromkeys(entry["level"] for entry in result["memory"]):
        entries = [entry for entry in result["memory"] if entry["level"] == level]
        for key, title in MEMORY.items():
            body += [f"<h3>{escape(level)}: {title}, MB</h3>", _table(entries, key, partial(megabytes, key=key))]
    reasons = dict.fromkeys(
        f"{entry['mechanism']} {entry['left_out']}"
        for entry in [*result["times"], *result["memory"]]
        if entry.get("left_out", "").startswith("failed")
    )
    return [*body, *(f'<p class="note">{escape(reason)}</p>' for reason in reasons)]


def _table(entries: Sequence[dict[str, Any]], key: str, show: Callable[[dict[str, Any]], str]) -> str:
    cells = {(e["mechanism"], e["points"]): show(e) for e in entries if e.get(key) is not None}
    points = sorted({entry["points"] for entry in entries})
    names = dict.fromkeys(entry["mechanism"] for entry in entries)
    rows = [(name, *(cells.get((name, n), "-") for n in points)) for name in names]
    return table(("points", *(f"{n:,}" for n in points)), rows)


def chart(
    entries: Sequence[dict[str, Any]], key: str, unit: str, factor: float, names: list[str], labels: dict[str, str]
) -> Any:
    """One chart: one line per mechanism, in the same colour on every chart of the page."""
    figure = graph_objects().Figure()
    for number, name in enumerate(names):
        pairs = [(e["points"], factor * e[key]) for e in entries if e["mechanism"] == name and e.get(key)]
        if not pairs:
            continue
        figure.add_scatter(
            x=[points for points, _ in pairs],
            y=[value for _, value in pairs],
            name=labels[name],
            mode="lines+markers",
            line={
                "color": COLOURS[number % len(COLOURS)],
                "dash": DASHES[number // len(COLOURS) % len(DASHES)],
                "width": 4 if name == "sampled" else 2,
            },
        )
    points = sorted({entry["points"] for entry in entries})
    figure.update_xaxes(type="log", title="points", tickvals=points, ticktext=[f"{n:,}" for n in points])
    figure.update_yaxes(type="log", title=unit, exponentformat="none", dtick="D2")
    figure.update_layout(height=460, template="plotly_white", showlegend=True)
    figure.update_layout(margin={"l": 70, "r": 20, "t": 20, "b": 50})
    return figure
