"""The search for the recipe: figures in the table, commands below it."""

from __future__ import annotations

import json
from pathlib import Path

from sampled_transformer_lab.pages.recipe import recipe_section


def test_commands_stand_below_the_table(tmp_path: Path) -> None:
    for name, accuracy in (("dense-1e-3", 0.5), ("sampled-1e-3", 0.625)):
        figures = {"last epoch": {"validation_accuracy": accuracy, "train_loss": 1.25}}
        (tmp_path / f"{name}.json").write_text(json.dumps({"figures": figures, "command": f"train {name}"}))
    text = recipe_section(tmp_path)
    assert "| dense-1e-3 | 50.00 | 1.250 |" in text
    assert "| sampled-1e-3 | 62.50 | 1.250 |" in text
    assert text[-4:] == ["```bash", "train dense-1e-3", "train sampled-1e-3", "```"]
