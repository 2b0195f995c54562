from __future__ import annotations

import pytest

from sampled_transformer import demo


def test_shows_the_cycle_and_the_layer(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "SIZES", (64,))
    demo.main()
    shown = capsys.readouterr().out
    rows = [
        line.split() for line in shown.splitlines() if line.startswith("  ") and set(line.split()) == {"o", "#", "."}
    ]
    assert len(rows) == 8
    assert all(row.count("o") == row.count("#") == 1 for row in rows)
    assert "evaluation, two calls:  differ by 0.000" in shown
    assert "permuted together: differ by 0.000" in shown
