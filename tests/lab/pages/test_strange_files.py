"""The page about imperfect files has every row, and names the ways to ask."""

from __future__ import annotations

from sampled_transformer_lab.pages.strange_files import files_section


def test_a_row_per_corruption_and_severity() -> None:
    ways = {
        "one": {"accuracy": 0.5, "unfamiliar": 0.0},
        "both": {"accuracy": 0.75, "unfamiliar": 0.1},
    }
    rows = [{"corruption": name, "severity": severity, **ways} for name, severity in (("clean", 0), ("points", 64))]
    lines = files_section({"shapes": 8, "rows": rows, "command": "python -m this"})
    assert "| files | `one` % | both, the default % | called unfamiliar % |" in lines
    assert "| clean | 50.0 | 75.0 | 10.0 |" in lines
    assert "| points in the file 64 | 50.0 | 75.0 | 10.0 |" in lines
    assert "python -m this" in lines
    assert "what `modelnet40-robust` calls unfamiliar" in lines[0]
    new = {"unfamiliar_to": "any", "strangers": [{"kind": "letters", "one": 0.25, "both": 0.5}]}
    lines = files_section({"shapes": 8, "rows": rows, "command": "python -m this", **new})
    assert "what either network calls unfamiliar" in lines[0]
    assert "| files | `one` % | both, the default % |" in lines
    assert "| letters | 25.0 | 50.0 |" in lines
