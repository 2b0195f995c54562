"""What all pages share. Every page is one self-contained file, which also opens offline."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import plotly.graph_objects as go

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
h1, h2 { font-weight: 600 } h2 { margin-top: 2.5rem }
table { border-collapse: collapse } th, td { padding: .3rem .9rem .3rem 0; text-align: left }
td.number, th.number { text-align: right } tbody tr { border-top: 1px solid #ddd }
code { background: #f3f3f3; padding: .1rem .3rem; border-radius: 3px; overflow-wrap: anywhere }
.parts { display: grid; grid-template-columns: repeat(auto-fill, minmax(10.5rem, 1fr)); gap: 1rem }
.parts figure { margin: 0; border: 1px solid #ddd; border-radius: 6px; padding: .5rem }
.parts figcaption { font-size: .85rem; line-height: 1.35; overflow-wrap: anywhere }
pre { white-space: pre-wrap }
.note { color: #666; font-size: .9rem }
"""
COLOURS = ("#2a6fb0", "#c8553d", "#4d9a5b", "#8a5fb0", "#b08d2a", "#5aa5b8", "#777777")


def document(title: str, body: Iterable[str]) -> str:
    """A whole HTML document. The title is escaped, the body is not."""
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>\n'


def graph_objects() -> Any:
    """Import plotly.graph_objects, which is an optional dependency."""
    try:
        import plotly.graph_objects as go
    except ModuleNotFoundError:
        raise ValueError('plotly is not installed: pip install "sampled-transformer[report]"') from None
    return go


def as_html(page: go.Figure, script: bool = False) -> str:
    """A figure as HTML. `script` embeds plotly's script, which the first figure of a page needs to work offline."""
    html: str = page.to_html(full_html=False, include_plotlyjs=script, config={"displaylogo": False})
    return html
