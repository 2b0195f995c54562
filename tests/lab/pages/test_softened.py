"""The page on the softened proof, and the figures that docs/theory.md quotes from the same file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sampled_transformer_lab.pages.softened import softened_section
from sampled_transformer_lab.softened import error_table, measured_gap, study

ROOT = Path(__file__).parents[3]


def test_the_page_says_what_was_measured() -> None:
    result = study([(2, 1, 2)], [2**-5, 2**-6, 2**-9], [2**-4], samples=20)
    text = "\n".join(softened_section(result))
    assert "with 20 random inputs on ramps" in text
    assert "ramps take 2^-20 of each cell; while ramps change, tau is 2^-9" in text
    assert "| n=2, d=1, 1/2 | 4     |" in text
    assert text.count("\n## ") == 8
    assert "sampled-transformer theory --softened --seed 0" in text


def test_the_proofs_page_has_the_table_of_the_file() -> None:
    file = ROOT / "results" / "theory" / "softened.json"
    result = json.loads(file.read_text("utf-8"))
    assert error_table(result, "temperatures", "tau", "outputs") in (ROOT / "docs" / "theory.md").read_text("utf-8")


def test_the_proofs_page_says_what_the_figures_say() -> None:
    file = ROOT / "results" / "theory" / "softened.json"
    *fitting, last = json.loads(file.read_text("utf-8"))["grids"]
    for grid in fitting:
        assert grid["temperatures"][0]["outputs"] > 1
        assert grid["temperatures"][-1]["outputs"] == 0
        assert measured_gap(grid) == pytest.approx(grid["gap"], rel=0.01)
        assert grid["ramps"][-1]["clipped"] < 1e-4
    assert last["temperatures"][-1]["outputs"] > 1
    text = " ".join((ROOT / "docs" / "theory.md").read_text("utf-8").split())
    plain = [grid["ramps"][-1]["plain"] for grid in fitting]
    assert (
        f"d_2 is still {plain[0]:.2f} for the smallest grid and {plain[-1]:.1e} for {setting_of(fitting[-1])}" in text
    )
    assert f"ends at {setting_of(last)}**, whose ids have {last['bits']} bits" in text


def setting_of(grid: dict) -> str:
    return f"n={grid['n']}, d={grid['d']}, delta={grid['delta']}"
