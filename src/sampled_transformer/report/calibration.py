"""What pages show of a calibration: a reliability diagram, and accuracy by spread over cycles."""

from __future__ import annotations

from typing import Any

from .page import COLOURS, as_html, graph_objects, table


def sections(found: dict[str, Any], script: bool = False) -> list[str]:
    """The parts of a page about a calibration. `script` embeds plotly's script into the first figure."""
    body = [
        "<h2>Calibration</h2>",
        "<p>A network is calibrated if about 80 % of the answers to which it gives a probability of 80 % are correct: "
        "its points lie on the diagonal. Above the diagonal the network is underconfident, below it overconfident.</p>",
        as_html(diagram(found["ways"] | _before(found)), script),
    ]
    body.append(figures(found))
    if "spread" in found:
        body += ["<h2>Spread over cycles</h2>", *_spread(found["spread"])]
    return body


def figures(found: dict[str, Any]) -> str:
    """One row per way to ask."""
    rows = [
        (
            name,
            f"{100 * way['accuracy']:.1f} %" if "accuracy" in way else "-",
            f"{100 * way['probability']:.1f} %",
            f"{100 * way['error']:.1f}",
            f"{100 * way['chance']:.1f}" if "chance" in way else "-",
            f"{way['log_loss']:.3f}",
        )
        for name, way in (found["ways"] | _before(found)).items()
    ]
    head = ("answers", "accuracy", "mean probability", "calibration error", "by chance", "log loss")
    note = "Errors in points of a hundred; by chance: what a calibrated network would have on so few shapes."
    return f'{table(head, rows)}<p class="note">{note}</p>'


def _spread(found: dict[str, Any]) -> list[str]:
    rows = [
        (
            f"{100 * row['spread']:.1f} points",
            f"{row['shapes']:,}",
            f"{100 * row['accuracy']:.1f} %",
            f"{100 * row['probability']:.1f} %",
        )
        for row in found["fifths"]
    ]
    body = [as_html(fifths(found["fifths"])), table(("spread", "shapes", "accuracy", "mean probability"), rows)]
    finds = found["finds_mistakes"]
    if finds["spread"] is not None:
        body.append(
            '<p class="note">Of a mistake and a correct answer, the mistake has the larger spread in '
            f"{100 * finds['spread']:.0f} % of all pairs, and the lower probability in "
            f"{100 * finds['probability']:.0f} %.</p>"
        )
    return body


def _before(found: dict[str, Any]) -> dict[str, Any]:
    """The ways to ask without the temperature of the network, if it has one."""
    return {f"{name}, before the temperature": way for name, way in found.get("before", {}).items()}


def diagram(ways: dict[str, Any], counted: str = "shapes") -> Any:
    """Reliability diagram: accuracy against the probability of the answer. Larger dots stand for more of `counted`."""
    page = graph_objects().Figure()
    page.add_scatter(x=[0, 1], y=[0, 1], mode="lines", line={"color": "#999", "dash": "dot"}, name="calibrated")
    for (name, way), colour in zip(ways.items(), COLOURS, strict=False):
        rows = way["bins"]
        most = max(row[counted] for row in rows)
        page.add_scatter(
            x=[row["probability"] for row in rows],
            y=[row["accuracy"] for row in rows],
            customdata=[row[counted] for row in rows],
            mode="lines+markers",
            name=name,
            line={"color": colour},
            marker={"size": [6 + 18 * (row[counted] / most) ** 0.5 for row in rows]},
            hovertemplate=f"probability %{{x:.0%}}, accuracy %{{y:.0%}}, %{{customdata}} {counted}<extra></extra>",
        )
    page.update_layout(template="plotly_white", height=540, width=640, margin={"t": 20, "r": 20})
    page.update_xaxes(title="probability of the answer", range=[0, 1.02], tickformat=".0%")
    page.update_yaxes(title="accuracy", range=[0, 1.02], tickformat=".0%")
    return page


def fifths(rows: list[dict[str, Any]]) -> Any:
    """Accuracy and probability against the spread over cycles, for five equal groups of shapes."""
    page = graph_objects().Figure()
    for key, name, colour in (("accuracy", "accuracy", COLOURS[0]), ("probability", "probability", COLOURS[1])):
        page.add_scatter(
            x=[row["spread"] for row in rows],
            y=[row[key] for row in rows],
            mode="lines+markers",
            name=name,
            line={"color": colour},
        )
    page.update_layout(template="plotly_white", height=340, width=640, margin={"t": 20, "r": 20})
    page.update_xaxes(title="standard deviation over cycles (mean over a fifth of the shapes)", tickformat=".1%")
    page.update_yaxes(range=[0, 1.02], tickformat=".0%")
    return page
