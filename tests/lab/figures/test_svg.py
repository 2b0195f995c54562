"""SVG: well formed, the same for the same drawing, and one element per shape."""

from __future__ import annotations

from xml.etree import ElementTree

from sampled_transformer_lab.figures.shapes import Circle, Drawing, Line, Polygon, Text
from sampled_transformer_lab.figures.svg import element, svg

SVG = "{http://www.w3.org/2000/svg}"


def test_a_file_holds_all_shapes_in_order() -> None:
    drawing = Drawing(30, 20, "a < b", [Circle((1, 2), 3, "red"), Text((1, 2), "x & y"), Line(((0, 0), (1, 1)), "red")])
    root = ElementTree.fromstring(svg(drawing))
    assert root.get("viewBox") == "0 0 30 20"
    assert [child.tag.removeprefix(SVG) for child in root] == ["title", "rect", "circle", "text", "polyline"]
    assert root[0].text == "a < b"
    assert root[3].text == "x & y"
    assert svg(drawing) == svg(drawing)


def test_elements() -> None:
    assert element(Polygon(((0, 0), (1.004, -0.001), (1 / 3, 2.5)), "#abc", "read")) == (
        "<polygon class='read' points='0,0 1,0 0.33,2.5' fill='#abc'/>"
    )
    assert "stroke-dasharray" in element(Line(((0, 0), (1, 1)), "red", dashed=True))
    assert "stroke-dasharray" not in element(Line(((0, 0), (1, 1)), "red"))
    assert element(Text((1, 2), "a", 9, "red", "end", True)) == (
        "<text x='1' y='2' font-size='9' fill='red' text-anchor='end' font-weight='bold'>a</text>"
    )
