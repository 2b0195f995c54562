"""A drawing as PNG, for pages and programs that show no SVG."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from .shapes import PAPER, Circle, Drawing, Line, Point, Polygon, Shape, Text

SCALE = 2  # pixels per unit of the drawing
FINER = 3  # drawn this much larger, then reduced: edges become smooth
ANCHORS = {"start": "ls", "middle": "ms", "end": "rs"}
DASH, GAP = 5.0, 4.0


def png(drawing: Drawing) -> bytes:
    """The content of a PNG file, with two pixels per unit."""
    images, draws, fonts = pillow()
    scale = SCALE * FINER
    image = images.new("RGB", (scale * drawing.width, scale * drawing.height), PAPER)
    canvas = draws.Draw(image)
    for shape in drawing.shapes:
        paint(canvas, fonts, shape, scale)
    image = image.resize((SCALE * drawing.width, SCALE * drawing.height), images.Resampling.BOX)
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


def pillow() -> tuple[Any, Any, Any]:
    """Import Pillow, which is an optional dependency."""
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ModuleNotFoundError:
        raise ValueError('pillow is not installed: pip install "sampled-transformer[report]"') from None
    return Image, ImageDraw, ImageFont


def paint(canvas: Any, fonts: Any, shape: Shape, scale: float) -> None:
    match shape:
        case Polygon(corners, fill):
            canvas.polygon([_scaled(corner, scale) for corner in corners], fill=fill)
        case Line(places, colour, width, dashed):
            for part in dashes(places) if dashed else [places]:
                canvas.line([_scaled(place, scale) for place in part], colour, round(width * scale), joint="curve")
        case Circle((x, y), radius, fill, edge, width):
            reach = radius + width / 2
            box = [_scaled((x - reach, y - reach), scale), _scaled((x + reach, y + reach), scale)]
            canvas.ellipse(box, fill, edge, round(width * scale))
        case Text(place, words, size, colour, anchor, bold):
            stroke = round(0.022 * size * scale) if bold else 0  # Pillow's own font has one weight
            font = fonts.load_default(size * scale)
            canvas.text(_scaled(place, scale), words, colour, font, ANCHORS[anchor], stroke_width=stroke)


def dashes(places: tuple[Point, ...]) -> Iterator[tuple[Point, Point]]:
    """The dashes of a dashed line, each segment on its own."""
    for begin, end in pairwise(places):
        length = math.dist(begin, end)
        at = 0.0
        while at < length:
            stop = min(at + DASH, length)
            yield tuple(  # type: ignore[misc]
                (begin[0] + (end[0] - begin[0]) * part / length, begin[1] + (end[1] - begin[1]) * part / length)
                for part in (at, stop)
            )
            at = stop + GAP


def _scaled(place: Point, scale: float) -> Point:
    return place[0] * scale, place[1] * scale
