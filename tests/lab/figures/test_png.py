"""PNG: the same shapes as pixels."""

from __future__ import annotations

import builtins
import io
from typing import Any

import pytest

from sampled_transformer_lab.figures.png import SCALE, dashes, png
from sampled_transformer_lab.figures.shapes import Circle, Drawing, Line, Text, rectangle


def pixels(drawing: Drawing) -> Any:
    images = pytest.importorskip("PIL.Image")
    return images.open(io.BytesIO(png(drawing))).convert("RGB")


def test_shapes_are_where_they_belong() -> None:
    drawing = Drawing(60, 40, "", [rectangle(0, 0, 20, 20, "#0072b2"), Circle((40, 20), 8, "#d55e00")])
    drawing.add([Line(((0, 35), (60, 35)), "#009e73", 4)])
    image = pixels(drawing)
    assert image.size == (60 * SCALE, 40 * SCALE)
    colours = [image.getpixel((SCALE * x, SCALE * y)) for x, y in ((10, 10), (40, 20), (30, 35), (30, 5))]
    assert colours == [(0, 0x72, 0xB2), (0xD5, 0x5E, 0), (0, 0x9E, 0x73), (255, 255, 255)]


def test_text_leaves_ink_beside_its_anchor() -> None:
    for anchor, inked in (("start", (True, False)), ("end", (False, True))):
        image = pixels(Drawing(80, 30, "", [Text((40, 20), "HHH", 15, "#000000", anchor)]))  # type: ignore[arg-type]
        halves = image.crop((82, 0, 160, 60)), image.crop((0, 0, 78, 60))
        assert tuple(half.getextrema()[0][0] < 100 for half in halves) == inked


def test_dashes_have_gaps() -> None:
    assert list(dashes(((0, 0), (20, 0)))) == [((0, 0), (5, 0)), ((9, 0), (14, 0)), ((18, 0), (20, 0))]


def test_without_pillow_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name == "PIL":
            raise ModuleNotFoundError("No module named 'PIL'", name="PIL")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ValueError, match=r'^pillow is not installed: pip install "sampled-transformer\[report\]"$'):
        png(Drawing(10, 10, ""))
