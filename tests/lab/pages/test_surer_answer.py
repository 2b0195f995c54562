"""The page about how sure `predict` is shows every way to ask, and what was fitted."""

from __future__ import annotations

from sampled_transformer_lab.pages.surer_answer import surer_section


def test_errors_of_every_way() -> None:
    figures = {"accuracy": 0.9, "probability": 0.95, "chance": 0.01, "log_loss": 0.3}
    ways = {"one": {**figures, "error": 0.02}, "both, the default": {**figures, "error": 0.031}}
    rows = [
        {"corruption": name, "severity": severity, "shapes": 2468, **ways}
        for name, severity in (("clean", 0.0), ("outliers", 0.1))
    ]
    sparse = [{"points": 64, "as they are": 0.75, "filled up": 0.5}]
    fitted = {"temperature": 1.0916, "of_few": 1.25, "shapes": 489, "sparse": sparse}
    lines = surer_section({"fitted": fitted, "rows": rows, "command": "python -m this"})
    heads = (
        "| files | shapes | `one` | both, the default | by chance | right %, default | mean probability %, default |"
    )
    assert heads in lines
    assert "| clean | 2,468 | 2.0 | 3.1 | 1.0 | 90.0 | 95.0 |" in lines
    assert "| outliers, share 0.1 | 2,468 | 2.0 | 3.1 | 1.0 | 90.0 | 95.0 |" in lines
    assert "T = 1.092, fitted on the 489 training shapes" in lines[0]
    assert "a temperature of its own, 1.250" in lines[0]
    assert "| 64 | 75.0 | 50.0 |" in lines
    assert "python -m this" in lines
