"""The page and the tables of calibration hold what was measured."""

from __future__ import annotations

from pathlib import Path

import torch

from sampled_transformer.cli import main
from sampled_transformer.inference.calibration import calibration
from sampled_transformer.report.calibration import calibration_page
from sampled_transformer_lab.pages.calibration import calibration_section
from sampled_transformer_lab.pages.measured import Measured
from sampled_transformer_lab.studies import Row, Study


def result() -> dict:
    first = torch.tensor([0.95, 0.91, 0.65])
    passes = torch.stack([torch.stack([one, 1 - one], 1) for one in (first, first - 0.2)])
    found = calibration(passes, torch.tensor([0, 1, 0]))
    return {"data": "<mine>", "shapes": 3, "points": 8, "command": "evaluate", "calibration": found}


def test_the_section() -> None:
    text = "\n".join(calibration_section(Study("", {}), [Measured("mine", Row(""), [result()])]))
    assert "### mine" in text
    assert "| one pass | 66.67 | 83.67 | 40.33 | 0.963 |" in text
    assert "| one pass, bins | | |\n|---|---|---|\n| probability % | 65 | 93 |\n| right % | 100 | 50 |" in text
    assert "| fifth of the shapes, steadiest first | 1 | 2 | 3 |" in text


def test_the_page_names_everything() -> None:
    page = calibration_page(result())
    assert "Calibration on &lt;mine&gt;" in page
    assert "averaged over 2 cycles" in page
    assert "Spread over cycles" in page


def test_evaluate_writes_it(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["evaluate", "bricks", "--samples", "2", "--page", str(page)]) == 0
    assert "Calibration on bricks" in page.read_text("utf-8")
