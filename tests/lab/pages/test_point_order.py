"""The page on the order of the points says what the file says."""

from __future__ import annotations

from sampled_transformer_lab.pages.point_order import point_order_section


def test_shares_are_per_cent() -> None:
    changed = {"one pass": 0.087, "the answer averages 8 passes": 0.0306}
    result = {"weights": "bricks", "shapes": 408, "points": 256, "shuffles": 4, "changed": changed, "command": "go"}
    text = point_order_section(result)
    assert "| one pass | 8.7 |" in text
    assert "| the answer averages 8 passes | 3.1 |" in text
    assert any("408 test shapes with 256 points; means over 4 shuffles" in line for line in text)
    assert text[-2] == "go"
