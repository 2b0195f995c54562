from __future__ import annotations

from pathlib import Path

from sampled_transformer.cli import main


def test_evaluate_writes_a_page_about_its_answers(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["evaluate", "bricks", "--samples", "2", "--page", str(page)]) == 0
    text = page.read_text("utf-8")
    assert "<h1>bricks on bricks</h1>" in text
    for said in (
        "averaged over 2 cycles",
        "Confusion matrix",
        "Most confused",
        "Spread over cycles",
        "How it was made",
    ):
        assert said in text
    assert "sampled-transformer evaluate bricks --data bricks --samples 2" in text
    assert text.count("plotly.js v") == 1
    assert len(text) < 8_000_000
