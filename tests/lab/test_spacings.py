"""The window of stratified attention in spacings, and what the documentation says of it."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer import create_attention
from sampled_transformer.attention.stratified import StratifiedAttention
from sampled_transformer_lab.spacings import WINDOW, measure, window_in_spacings

ROOT = Path(__file__).parents[2]


def test_a_grid_has_the_spacing_of_its_cells() -> None:
    grid = np.stack(np.meshgrid(*[np.arange(4) * 0.1] * 3), -1).reshape(-1, 3)
    assert window_in_spacings(grid) == pytest.approx(WINDOW / 0.1)


def test_the_window_is_the_default() -> None:
    assert create_attention("stratified", dim=8, heads=2).window == WINDOW


def test_more_points_have_smaller_spacings() -> None:
    (row,) = measure("bricks", shapes=3)
    assert (row["data"], row["shapes"], row["points"]) == ("bricks", 3, 256)
    assert 0 < row["spacings"]["0"] <= row["spacings"]["50"] <= row["spacings"]["100"]


def test_the_documentation_says_what_was_measured() -> None:
    rows = json.loads((ROOT / "results" / "window" / "spacings.json").read_text("utf-8"))["rows"]
    (few,) = (row["spacings"] for row in rows if (row["data"], row["points"]) == ("modelnet40", 256))
    (many,) = (row["spacings"] for row in rows if (row["data"], row["points"]) == ("modelnet40", 1024))
    words = f"{few['50']:.0f} spacings with 256 points and {many['50']:.0f} with 1,024"
    decisions = (ROOT / "docs" / "decisions.md").read_text("utf-8")
    for text in (decisions, inspect.getdoc(StratifiedAttention) or ""):
        assert words in " ".join(text.split())
