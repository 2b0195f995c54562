"""What a page shows of several evaluations: their figures, their classes and their calibration beside each other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from ..inference.evaluation import ONE_PASS
from ..support.printable import printable
from . import bench_comparison
from .calibration import diagram
from .kinds import FIGURES
from .page import COLOURS, as_html, graph_objects, table
from .robustness import beside

Results = Mapping[str, Mapping[str, Any]]
SYMBOLS = ("circle", "square", "diamond", "cross", "x", "triangle-up")  # for who does not tell the colours apart
SAME = "All of them were measured on the same data."
OTHER = "They were not all measured on the same data, so compare them with care."
HONEST = '<p class="note">Right as often as it says: dots on the diagonal. Below it, a network is overconfident.</p>'


def sections(kind: str, folders: Mapping[str, Path]) -> list[str]:
    """The parts of a page about evaluations by one command, without its title and how they were made."""
    results = read(folders)
    if kind == "bench":
        return bench_comparison.sections(results)
    if kind == "robustness":
        return _robustness(results)
    if kind == "cluster evaluate":
        return _clusters(results)
    if kind == "segment evaluate":
        return _labels(results)
    targets = {name: result.get("target") for name, result in results.items()}
    if len(set(targets.values())) > 1:
        got = " and ".join("classes" if one is None else printable(one) for one in dict.fromkeys(targets.values()))
        raise ValueError(f"runs: expected networks that answer the same, got {got}")
    return _classes(results) if None in targets.values() else _numbers(results)


def read(folders: Mapping[str, Path]) -> dict[str, dict[str, Any]]:
    """What the commands found, by name."""
    return {name: json.loads(_figures(folder).read_text("utf-8")) for name, folder in folders.items()}


def _figures(folder: Path) -> Path:
    return next(folder / name for name in FIGURES if (folder / name).is_file())


def _classes(results: Results) -> list[str]:
    ways = list(dict.fromkeys(way for result in results.values() for way in result["figures"]))
    rows = []
    for name, result in results.items():
        figures = [result["figures"].get(way) for way in ways]
        cells = ["-" if one is None else _percent(one["accuracy"]) for one in figures]
        mean, error = result["figures"][ONE_PASS]["mean_class_accuracy"], _calibration(result)["error"]
        rows.append((name, *_data(result, "shapes"), *cells, _percent(mean), f"{100 * error:.1f}"))
    head = (
        "network",
        "data",
        "shapes",
        *(f"accuracy, {way}" for way in ways),
        "mean over classes",
        "calibration error",
    )
    return [
        table(head, rows),
        _note(results, "Mean over classes and calibration error (in points of a hundred) are those of one pass."),
        "<h2>Calibration</h2>",
        HONEST,
        as_html(diagram({name: _calibration(result) for name, result in results.items()}), script=True),
        *by_class({name: _shares(result, "accuracy") for name, result in results.items()}, "accuracy in one pass"),
    ]


def _labels(results: Results) -> list[str]:
    rows = [
        (
            name,
            *_data(result, "sets"),
            *(_percent(result[key]) for key in ("mean_iou", "accuracy", "instance_mean_iou")),
        )
        for name, result in results.items()
    ]
    found = {name: result["calibration"] for name, result in results.items()}
    return [
        table(("network", "data", "sets", "mean IoU", "points right", "mean over sets"), rows),
        _note(results),
        "<h2>Calibration</h2>",
        HONEST,
        as_html(diagram(found, "points"), script=True),
        *by_class({name: _shares(result, "iou") for name, result in results.items()}, "IoU"),
    ]


def _numbers(results: Results) -> list[str]:
    rows = []
    for name, result in results.items():
        own = result["figures"][ONE_PASS]
        figures = (f"{own['mae']:.4g}", f"{own['rmse']:.4g}", f"{own['r2']:.4f}")
        rows.append((name, *_data(result, "shapes"), *figures))
    target = printable(str(next(iter(results.values()))["target"]))
    page = graph_objects().Figure()
    for number, (name, result) in enumerate(results.items()):
        page.add_scatter(
            x=[row["truth"] for row in result["answers"]],
            y=[row["answer"] - row["truth"] for row in result["answers"]],
            customdata=[printable(row["name"]) for row in result["answers"]],
            mode="markers",
            name=printable(name),
            marker={"color": COLOURS[number % len(COLOURS)], "opacity": 0.6},
            hovertemplate="%{customdata}: truth %{x:.6g}, error %{y:.4g}<extra></extra>",
        )
    page.update_layout(height=420, template="plotly_white", margin={"t": 20}, showlegend=True)
    page.update_xaxes(title=f"truth ({escape(target)})")
    page.update_yaxes(title="answer minus truth")
    return [
        table(("network", "data", "shapes", "MAE", "RMSE", "R²"), rows),
        _note(results, "Figures of one pass."),
        "<h2>Errors</h2>",
        as_html(page, script=True),
    ]


def _clusters(results: Results) -> list[str]:
    rows = []
    for name, result in results.items():
        own = result["figures"]
        values = [f"{own[key]:.4f}" for key in ("LL0", "oracle_LL0", "LL1", "oracle_LL1")]
        rows.append((name, f"{result['sets']:,}", *values, f"{own['oracle_LL0'] - own['LL0']:.4f}"))
    head = ("network", "sets", "LL0", "true mixtures", "LL1", "true mixtures", "LL0 below the truth")
    page = graph_objects().Figure()
    names = [printable(name) for name in results]
    for number, (key, label) in enumerate((("LL0", "LL0, as predicted"), ("LL1", "LL1, after one EM step"))):
        below = [one["figures"][f"oracle_{key}"] - one["figures"][key] for one in results.values()]
        page.add_bar(y=names, x=below, orientation="h", name=label, marker={"color": COLOURS[number]})
    page.update_layout(height=160 + 60 * len(names), template="plotly_white", margin={"t": 20})
    page.update_xaxes(title="log-likelihood per point below the true mixtures")
    page.update_yaxes(autorange="reversed")
    return [
        table(head, rows),
        _note(results, "Log-likelihoods per point; the true mixtures are the yardstick."),
        "<h2>Below the true mixtures</h2>",
        as_html(page, script=True),
    ]


def _robustness(results: Results) -> list[str]:
    rows = [
        (name, *_data(result, "shapes"), f"{result['points']:,}", _percent(result["clean"]["accuracy"]))
        for name, result in results.items()
    ]
    body = [table(("network", "data", "shapes", "points", "accuracy on clean shapes"), rows), _note(results)]
    names = dict.fromkeys(name for result in results.values() for name in result["corruptions"])
    for number, corruption in enumerate(names):
        curves = {
            name: result["corruptions"][corruption]
            for name, result in results.items()
            if corruption in result["corruptions"]
        }
        title = next(iter(curves.values()))["title"]
        body += [f"<h2>{escape(title)}</h2>", as_html(beside(curves), script=number == 0)]
    return body


def by_class(shares: Mapping[str, Mapping[str, float | None]], what: str, title: str = "Classes") -> list[str]:
    """One row per class and one dot per network, if all of them know the same classes."""
    classes = list(next(iter(shares.values())))
    if any(list(one) != classes for one in shares.values()):
        return ['<p class="note">The networks know different classes, so these are not compared one by one.</p>']
    page = graph_objects().Figure()
    for number, (name, own) in enumerate(shares.items()):
        page.add_scatter(
            x=[own[one] for one in classes],
            y=[printable(one) for one in classes],
            mode="markers",
            name=printable(name),
            marker={"color": COLOURS[number % len(COLOURS)], "size": 10, "symbol": SYMBOLS[number % len(SYMBOLS)]},
            hovertemplate="%{y}: %{x:.1%}<extra></extra>",
        )
    page.update_layout(height=160 + 24 * len(classes), template="plotly_white", margin={"t": 20})
    page.update_layout(showlegend=True)
    page.update_xaxes(title=what, range=[-0.02, 1.02], tickformat=".0%")
    page.update_yaxes(autorange="reversed", dtick=1)
    rows = [(one, *(_percent(own[one]) for own in shares.values())) for one in classes]
    return [f"<h2>{escape(title)}</h2>", as_html(page), table((f"class, {what}", *shares), rows)]


def _shares(result: Mapping[str, Any], key: str) -> dict[str, float | None]:
    return {str(one["class"]): one[key] for one in result["classes"]}


def _calibration(result: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = result["calibration"]["ways"][ONE_PASS]
    return found


def _data(result: Mapping[str, Any], counted: str) -> tuple[str, str]:
    return printable(Path(str(result["data"])).name), f"{result[counted]:,}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f} %"


def _note(results: Results, more: str = "") -> str:
    some = [{key: one.get(key) for key in ("data", "split", "shapes", "sets", "without")} for one in results.values()]
    said = f"{SAME if all(one == some[0] for one in some) else OTHER} {more}"
    return f'<p class="note">{escape(said.strip())}</p>'
