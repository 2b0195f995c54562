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
