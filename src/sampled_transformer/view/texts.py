"""What the live page says, as HTML. Names come from files of strangers, so everything is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from ..inference.trained_network import Candidate, Values
from ..support.palette import hexadecimal
from ..support.printable import printable
from .colours import VIRIDIS

BOX = "font-size:0.8rem; line-height:1.35; padding:0 0.75em 0.4em 0.75em; overflow-wrap:anywhere"


def paragraph(*lines: str, kind: str = "said") -> str:
    """Lines of text. `kind` is for those who look for it on the page, such as tests."""
    return f'<div data-said="{kind}" style="{BOX}">{"<br>".join(escape(printable(line)) for line in lines)}</div>'


def problem(message: str) -> str:
    """What went wrong, in one line."""
    colour = hexadecimal(1)
    return (
        f'<div data-said="problem" role="alert" style="{BOX}; border-left:4px solid {colour}; margin-left:0.75em">'
        f"{escape(printable(message))}</div>"
    )


def answer(candidates: Sequence[Candidate], truth: str | None, familiar: bool | None) -> str:
    """The likeliest classes as bars, with whiskers of one standard deviation over the cycles."""
    lines = []
    if familiar is False:
        lines.append("<b>Looks like nothing this network knows.</b> The nearest classes:")
    if truth is not None:
        lines.append(f"Truth: <b>{escape(printable(truth))}</b>")
    bars = "".join(_bar(one, number == 0) for number, one in enumerate(candidates))
    said = "".join(f"<div>{line}</div>" for line in lines)
    return f'<div data-said="answer" style="{BOX}">{said}{bars}</div>'


def _bar(one: Candidate, first: bool) -> str:
    share, spread = 100 * one.probability, 100 * one.spread
    low, high = max(0.0, share - spread), min(100.0, share + spread)
    name = escape(printable(one.name))
    fill = hexadecimal(0) if first else hexadecimal(5)
    whisker = (
        f'<div style="position:absolute; top:30%; height:40%; left:{low:.2f}%; width:{high - low:.2f}%; '
        'border:solid currentColor; border-width:0 1px 0 1px; opacity:0.7"></div>'
    )
    return (
        f'<div style="margin-top:0.25em"><div style="display:flex; justify-content:space-between">'
        f"<span>{f'<b>{name}</b>' if first else name}</span><span>{share:.1f} % ± {spread:.1f}</span></div>"
        f'<div style="position:relative; height:0.5rem; background:rgba(127,127,127,0.2)">'
        f'<div style="width:{share:.2f}%; height:100%; background:{fill}"></div>{whisker}</div></div>'
    )


def number(values: Values, truth: str | None) -> str:
    """A predicted number with its spread over the cycles."""
    lines = [f"{values.target}: {values.mean:.6g} ± {values.spread:.2g}"]
    return paragraph(*([f"Truth: {truth}"] if truth is not None else []), *lines, kind="answer")


def reading(point: int, pairs: Iterable[tuple[int, float]], layer: str, head: str, seed: int) -> str:
    """Whom one point reads, with weights."""
    rows = "".join(
        f"<tr><td>point {key}{' (itself)' if key == point else ''}</td>"
        f'<td style="text-align:right; padding-left:1em">{100 * weight:.1f} %</td></tr>'
        for key, weight in pairs
    )
    title = f"Point {point} reads, in {escape(layer)}, {escape(head)}, cycle {seed}:"
    return f'<div data-said="reading" data-point="{point}" style="{BOX}">{title}<table>{rows}</table></div>'


def scale(least: str, most: str, what: str) -> str:
    """The colours of numbers, with what the darkest and the brightest stand for."""
    shades = ", ".join("rgb({:.0f} {:.0f} {:.0f})".format(*colour) for colour in VIRIDIS)
    ends = f"<span>{escape(least)}</span><span>{escape(most)}</span>"
    return (
        f'<div data-said="scale" style="{BOX}">{escape(what)}'
        f'<div style="height:0.5rem; background:linear-gradient(to right, {shades})"></div>'
        f'<div style="display:flex; justify-content:space-between">{ends}</div></div>'
    )


def legend(names: Sequence[str], counts: Sequence[int], colours: Sequence[str]) -> str:
    """The colours of classes, and how many points each has."""
    rows = "".join(
        f'<div><span style="display:inline-block; width:0.8em; height:0.8em; background:{colour}; margin-right:0.5em">'
        f"</span>{escape(printable(name))} <span style='opacity:0.7'>{count:,}</span></div>"
        for name, count, colour in zip(names, counts, colours, strict=True)
    )
    return f'<div data-said="legend" style="{BOX}">{rows}</div>'
