"""The page on agreement shows both correlations and what is left."""

from __future__ import annotations

import json
from pathlib import Path

from sampled_transformer_lab.pages.agreement import agreement_section


def test_every_pair_has_a_row(tmp_path: Path) -> None:
    found = {
        "command": "python -m x",
        "data": "bricks",
        "shapes": 1408,
        "points": 256,
        "epochs": 8,
        "seeds": {"a": 2, "b": 3},
        "same": {"a": 0.7, "b": 0.8},
        "across": {"a and b": 0.71},
        "unshared": {"a and b": 0.04},
    }
    (tmp_path / "bricks.json").write_text(json.dumps(found))
    text = agreement_section(tmp_path)
    assert "| a and b | 0.700 and 0.800 | 0.710 | 0.040 |" in text
    assert "1,408 test shapes, 256 points, 8 epochs, 2 or 3 seeds per mechanism." in text
