"""A drawing as SVG. The same drawing gives the same text: there is no date and no random name in it."""

from __future__ import annotations

from html import escape

from .shapes import PAPER, Circle, Drawing, Line, Point, Polygon, Shape, Text

FONT = "Helvetica, Arial, sans-serif"


def svg(drawing: Drawing) -> str:
    """The text of an SVG file."""
    width, height = drawing.width, drawing.height
    return "\n".join(
        [
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}' "
            f"font-family='{FONT}'>",
            f"<title>{escape(drawing.title)}</title>",
            f"<rect width='{width}' height='{height}' fill='{PAPER}'/>",
            *(element(shape) for shape in drawing.shapes),
            "</svg>",
            "",
        ]
    )


def element(shape: Shape) -> str:
    match shape:
        case Polygon(corners, fill, kind):
            return f"<polygon{_kind(kind)} points='{_places(corners)}' fill='{fill}'/>"
        case Line(places, colour, width, dashed, kind):
            dashes = " stroke-dasharray='5 4'" if dashed else ""
            return (
                f"<polyline{_kind(kind)} points='{_places(places)}' fill='none' stroke='{colour}' "
                f"stroke-width='{width:g}' stroke-linejoin='round'{dashes}/>"
            )
        case Circle((x, y), radius, fill, edge, width):
            return (
                f"<circle cx='{_number(x)}' cy='{_number(y)}' r='{_number(radius)}' fill='{fill}' stroke='{edge}' "
                f"stroke-width='{width:g}'/>"
            )
        case Text((x, y), words, size, colour, anchor, bold):
            weight = " font-weight='bold'" if bold else ""
            return (
                f"<text x='{_number(x)}' y='{_number(y)}' font-size='{size:g}' fill='{colour}' "
                f"text-anchor='{anchor}'{weight}>{escape(words)}</text>"
            )


def _kind(kind: str) -> str:
    return f" class='{kind}'" if kind else ""


def _places(places: tuple[Point, ...]) -> str:
    return " ".join(f"{_number(x)},{_number(y)}" for x, y in places)


def _number(value: float) -> str:
    """Two decimals, without superfluous zeros."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
