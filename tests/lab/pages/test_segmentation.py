"""The page of networks that label points: what attention adds, with the error that seeds leave."""

from __future__ import annotations

import math

from sampled_transformer_lab.pages.measured import Measured
from sampled_transformer_lab.pages.segmentation import segmentation_section
from sampled_transformer_lab.study import Row, Study

BEST = "best epoch (chosen on test, not the headline)"


def run(share: float, stud: float = 0.4) -> dict:
    figures = {"test_mean_iou": share, "test_accuracy": 0.9, "train_loss": 1.0}
    return {
        "figures": {"last epoch": figures, BEST: {**figures, "test_mean_iou": share + 0.01}},
        "point_classes": [{"class": "body", "iou": 0.8}, {"class": "stud", "iou": stud}],
        "seconds": 100.0,
    }


ROWS = {"segment-none": Row("", 2), "segment-rotary": Row("", 2)}
STUDY = Study("", ROWS, kind="segmentation", ours="segment-none")


def test_rows_classes_and_what_attention_adds() -> None:
    rows = [
        Measured("segment-none", ROWS["segment-none"], [run(0.40), run(0.42)]),
        Measured("segment-rotary", ROWS["segment-rotary"], [run(0.50, 0.5), run(0.52, 0.7)]),
    ]
    lines = segmentation_section(STUDY, rows)
    assert "| none | 2 | 41.00 ± 1.41 | 90.00 ± 0.00 | 42.00 ± 1.41 | 100 |" in lines
    assert "| rotary | 80.0 | 60.0 |" in lines
    assert f"| rotary | none | +10.00 ± {math.sqrt(2):.2f} | better |" in lines
    assert "1.41 points, is pooled over all rows (2 degrees of freedom)" in lines[-1]


def test_one_seed_decides_nothing() -> None:
    rows = [Measured(name, row, [run(share)]) for (name, row), share in zip(ROWS.items(), (0.4, 0.6), strict=True)]
    lines = segmentation_section(STUDY, rows)
    assert "| rotary | none | +20.00 | undecided (no row has a second seed) |" in lines
    assert lines[-1].startswith("No row has a second seed")


def test_one_row_alone_is_not_compared() -> None:
    lines = segmentation_section(STUDY, [Measured("segment-none", ROWS["segment-none"], [run(0.4)])])
    assert "## What each row adds" not in lines
