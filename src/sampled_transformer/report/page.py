"""What all pages share. Every page is one self-contained file, which also opens offline, in light and in dark."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

from ..support.palette import PALETTE, hexadecimal

if TYPE_CHECKING:
    import plotly.graph_objects as go

# plotly writes colours into its drawing, so the rules for text and paper in the dark override them.
STYLE = """
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --line: #ddd; --soft: #666; --code: #f3f3f3 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ddd; --paper: #16181c; --line: #3a3e45; --soft: #9a9fa8; --code: #24272d }
  .js-plotly-plot :is(.heatmaplayer, .cbfills) { filter: invert(1) hue-rotate(180deg) } /* from dark to light blue */
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem }
body { color: var(--ink); background: var(--paper) }
h1, h2, h3 { font-weight: 600; overflow-wrap: anywhere } h2 { margin-top: 2.5rem } h3 { margin: 1.5rem 0 .3rem }
table { border-collapse: collapse } th, td { padding: .3rem .9rem .3rem 0; text-align: left }
td.number, th.number { text-align: right } td.number { white-space: nowrap }
tbody tr { border-top: 1px solid var(--line) }
code { background: var(--code); padding: .1rem .3rem; border-radius: 3px; overflow-wrap: anywhere }
.wide { overflow-x: auto } .clouds { height: clamp(17rem, 60vw, 26rem) }
.parts { display: grid; grid-template-columns: repeat(auto-fill, minmax(10.5rem, 1fr)); gap: 1rem }
.parts.large { grid-template-columns: repeat(auto-fill, minmax(max(10.5rem, 23%), 1fr)) }
.parts figure { margin: 0; border: 1px solid var(--line); border-radius: 6px; padding: .5rem }
.parts figcaption { font-size: .85rem; line-height: 1.35; overflow-wrap: anywhere }
pre { white-space: pre-wrap; overflow-wrap: anywhere }
summary { cursor: pointer; margin: .5rem 0 }
.note { color: var(--soft); font-size: .9rem }
.js-plotly-plot :is(.xtick, .ytick, .g-gtitle, .g-xtitle, .g-ytitle, .legend, .annotation, .cbaxis, .cbtitle) text {
  fill: var(--ink) !important }
.js-plotly-plot .legend .bg { fill: none !important }
@media (max-width: 40rem) {
  h1 { font-size: 1.6rem } table { font-size: .85rem } th, td { padding: .25rem .6rem .25rem 0 }
  th { hyphens: auto } .parts { gap: .6rem }
}
"""
COLOURS = tuple(hexadecimal(number) for number in range(len(PALETTE)))
CLEAR, GRID = "rgba(0,0,0,0)", "rgba(127,127,127,0.25)"
LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}  # a phone has no room beside the picture


def document(title: str, body: Iterable[str]) -> str:
    """A whole HTML document. The title is escaped, the body is not."""
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    icon = '<link rel="icon" href="data:,">'  # otherwise a browser asks for one
    head = f'<meta charset="utf-8">{view}{icon}<title>{escape(title)}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>\n'


def graph_objects() -> Any:
    """Import plotly.graph_objects, which is an optional dependency."""
    try:
        import plotly.graph_objects as go
    except ModuleNotFoundError:
        raise ValueError('plotly is not installed: pip install "sampled-transformer[report]"') from None
    return go


def as_html(page: go.Figure, script: bool = False, least_width: int = 0) -> str:
    """A figure as HTML, as wide as the page, or at most as wide as it says. Its title becomes a heading of the page.

    Args:
        page: The figure. One without a height is as high as the style of clouds says.
        script: Embed plotly's script, which the first figure of a page needs to work offline.
        least_width: Pixels below which it is not drawn smaller, but scrolled.
    """
    title, most_width, free = page.layout.title.text, page.layout.width, page.layout.height is None
    page.update_layout(paper_bgcolor=CLEAR, plot_bgcolor=CLEAR, width=None, autosize=True, title=None)
    if page.layout.legend.orientation is None:
        page.update_layout(legend=LEGEND)
    page.update_xaxes(gridcolor=GRID, zerolinecolor=GRID, linecolor=GRID, automargin=True)
    page.update_yaxes(gridcolor=GRID, zerolinecolor=GRID, linecolor=GRID, automargin=True)
    config = {"displayModeBar": False, "responsive": True}  # on a phone the bar would hide the title
    html: str = page.to_html(full_html=False, include_plotlyjs=script, config=config)
    if least_width:
        html = f'<div class="wide"><div style="min-width:{least_width}px">{html}</div></div>'
    if most_width:
        html = f'<div style="max-width:{most_width:.0f}px">{html}</div>'
    if free:
        html = f'<div class="clouds">{html}</div>'
    return html if title is None else f"<h3>{escape(title)}</h3>{html}"


def percent_axis(page: go.Figure, **options: Any) -> None:
    """Let the vertical axis show shares from 0 to 100 %."""
    page.update_yaxes(range=[0, 1.02], tickformat=".0%", **options)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table whose first column is text and whose other columns are numbers; everything is escaped."""

    def cells(values: Iterable[str], tag: str) -> str:
        first, *others = (escape(value) for value in values)
        return f"<{tag}>{first}</{tag}>" + "".join(f'<{tag} class="number">{value}</{tag}>' for value in others)

    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{cells(head, "th")}</tr></thead><tbody>{body}</tbody></table></div>'
