"""The robustness page shows what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("plotly")

from sampled_transformer.report.robustness import diagram, robustness_page, write_page


def curve(levels: list[Any], unit: str = "share") -> dict[str, Any]:
    rows = [
        {"severity": level, "accuracy": 0.9 - 0.1 * number, "mean_class_accuracy": 0.5}
        for number, level in enumerate(levels)
    ]
    return {"title": "holes & noise", "unit": unit, "levels": rows, "left_out": []}


def result() -> dict[str, Any]:
    few = {**curve([64, 1024]), "left_out": [{"severity": 4096, "reason": "the shapes have <few> points"}]}
    return {
        "weights": "<mine>",
        "data": "bricks",
        "shapes": 3,
        "points": 8,
        "normals": True,
        "clean": {"accuracy": 0.91, "mean_class_accuracy": 0.9},
        "corruptions": {"noise": curve([0.1, 0.2]), "points": few},
        "command": "sampled-transformer evaluate x --robustness",
    }


def test_the_page_names_everything(tmp_path: Path) -> None:
    page = robustness_page(result())
    for text in (
        "Robustness of &lt;mine&gt; on bricks",
        "holes &amp; noise",
        "91.0 %",
        "4096 left out, because the shapes have &lt;few&gt; points.",
        "sampled-transformer evaluate x --robustness",
        "8 points with normals",
    ):
        assert text in page
    write_page(tmp_path / "page.html", result())
    assert (tmp_path / "page.html").read_text("utf-8").count("holes &amp; noise") == page.count("holes &amp; noise")


def test_a_diagram_has_all_levels_and_the_whole_axis() -> None:
    page = diagram(curve([0.1, 0.2, 0.5]), 0.91)
    assert list(page.data[0].x) == [0.1, 0.2, 0.5]
    assert list(page.data[0].y) == pytest.approx([0.9, 0.8, 0.7])
    assert list(page.data[1].y) == [0.5, 0.5, 0.5]
    assert page.layout.yaxis.range[0] == 0
    assert page.layout.yaxis.range[1] >= 1
    assert page.layout.shapes[0].y0 == 0.91


@pytest.mark.parametrize(
    ("levels", "unit", "kind"),
    [
        ([64, 128, 4096], "points", "log"),
        ([0.01, 2, 100], "factor", "log"),
        ([15, 180], "largest angle in degrees", None),
        ([0.01, 0.3], "share", None),
        (["estimated", "zero"], "normals", None),
        ([], "points", None),
    ],
)
def test_wide_ranges_are_logarithmic(levels: list[Any], unit: str, kind: str | None) -> None:
    assert diagram(curve(levels, unit), 0.9).layout.xaxis.type == kind
