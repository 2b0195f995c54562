"""The page of what weights withstand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sampled_transformer_lab.pages.robustness import robustness_section


def curve(title: str, unit: str, *levels: Any) -> dict[str, Any]:
    rows = [{"severity": level, "accuracy": 0.5 + number / 8} for number, level in enumerate(levels)]
    return {"title": title, "unit": unit, "levels": rows, "left_out": []}


def test_a_table_per_corruption(tmp_path: Path) -> None:
    corruptions = {"points": curve("number", "points", 64, 1024), "normals": curve("normals", "kind", "estimated")}
    result = {
        "data": "bricks",
        "shapes": 408,
        "points": 256,
        "normals": True,
        "clean": {"accuracy": 0.75},
        "corruptions": corruptions,
        "command": "sampled-transformer evaluate bricks --robustness",
    }
    for name, normals in (("a", True), ("b", False)):
        (tmp_path / f"{name}.json").write_text(json.dumps({**result, "normals": normals}), "utf-8")
    first, second = "\n".join(robustness_section(tmp_path)).split("## b")
    assert "408 test shapes of bricks, 256 points with normals: 75.0 % of the clean shapes are right." in first
    assert "| number: points | 64 | 1,024 |\n|---|---:|---:|\n| accuracy % | 50.0 | 62.5 |" in first
    assert "| normals: kind | estimated |" in first
    assert "sampled-transformer evaluate bricks --robustness" in first
    assert "256 points: 75.0 %" in second
