"""The page on the order of the points says what the file says."""

from __future__ import annotations

from sampled_transformer_lab.pages.point_order import point_order_section


def test_shares_are_per_cent() -> None:
    changed = {"one pass": 0.087, "the answer averages 8 passes": 0.0306}
    result = {"weights": "bricks", "shapes": 408, "points": 256, "shuffles": 4, "command": "go"}
    ways = dict.fromkeys(changed, 0.8), dict.fromkeys(changed, 0.0), dict.fromkeys(changed, 0.9)
    kept = {"changed": changed, "accuracy": ways[0], "by_points": {"changed": ways[1], "accuracy": ways[2]}}
    text = point_order_section(result | kept)
    assert "| one pass | 8.7 | 80.0 | 0.0 | 90.0 |" in text
    assert "| the answer averages 8 passes | 3.1 | 80.0 | 0.0 | 90.0 |" in text
    assert any("408 test shapes with 256 points; means over 4 shuffles" in line for line in text)
    assert text[-2] == "go"
