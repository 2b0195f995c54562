"""Weights that come with the package, of either kind."""

from __future__ import annotations

import json
from pathlib import Path

from sampled_transformer_lab.pages.shipped import shipped_section


def test_accuracies_and_likelihoods(tmp_path: Path) -> None:
    common = {"description": "What.", "commands": ["sampled-transformer go"], "seconds": 60.4, "machine": "a core"}
    one = {"accuracy": 0.5, "mean_class_accuracy": 0.25}
    classes = {**common, "shapes": 8, "points": 16, "figures": {"one pass": one}}
    likelihoods = {"LL0": -1.5, "LL1": -1.49, "oracle_LL0": -1.47, "oracle_LL1": -1.46}
    mixtures = {**common, "sets": 1000, "figures": {"one pass": likelihoods}}
    for name, entry in {"a": classes, "b": mixtures}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(entry), "utf-8")
    first, second = "\n".join(shipped_section(tmp_path)).split("## b")
    assert "| one pass | 50.00 | 25.00 |\n\n8 test shapes, 16 points. Made and measured with:\n\n```bash\nsam" in first
    assert "| one pass | -1.5000 | -1.4900 | -1.4700 | -1.4600 |\n\n1000 fixed sets of mixtures. Made" in second
    assert second.endswith("Training took 60 s of wall time on a core.\n")


def test_calibration_and_strangers_are_told_if_measured(tmp_path: Path) -> None:
    one = {"accuracy": 0.5, "mean_class_accuracy": 0.25}
    entry = {"description": "What.", "commands": ["go"], "seconds": 1, "machine": "a core", "shapes": 8, "points": 16}
    calibration = {"temperature": 0.5, "before": {"one pass": 0.12}, "after": {"one pass": 0.02}}
    more = {
        "figures": {"one pass": one},
        "calibration": {**calibration, "chance": {"one pass": 0.015}},
        "familiarity": {"alarms": 0.05, "unfamiliar": 0.041},
        "strangers": {"noise": {"unfamiliar": 0.93, "area": 0.98765, "sets": 100}},
    }
    (tmp_path / "a.json").write_text(json.dumps({**entry, **more}), "utf-8")
    text = "\n".join(shipped_section(tmp_path))
    assert "the temperature 0.500 that" in text
    assert "| one pass | 12.0 | 2.0 | 1.5 |" in text
    assert "4.1 % of the test shapes are called unfamiliar, false alarms; the threshold is that of 5 % of" in text
    assert "| noise | 93 | 0.988 |\n\n8 test shapes, 16 points. Made" in text


def test_labels_per_point_have_their_ious_and_the_bar(tmp_path: Path) -> None:
    classes = [{"class": "body", "iou": 0.75, "points": 1200}, {"class": "stud", "iou": 0.25, "points": 40}]
    entry = {"description": "What.", "commands": ["go"], "seconds": 1, "machine": "a core", "parts": 8, "points": 16}
    found = {"mean_iou": 0.5, "accuracy": 0.9, "classes": classes, "bar": 0.62, "verdict": "missed."}
    without = {"without": {"normals": {"mean_iou": 0.25, "accuracy": 0.8}}}
    (tmp_path / "a.json").write_text(json.dumps({**entry, **found, **without}), "utf-8")
    text = "\n".join(shipped_section(tmp_path))
    assert "| with normals | 50.00 | 90.00 |\n| without normals | 25.00 | 80.00 |" in text
    assert "| body | 75.0 | 1,200 |" in text
    assert "The bar was 62 %: missed.\n\n8 test parts, 16 points each. Made" in text
