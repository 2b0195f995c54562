"""A search shows what was held out, and the training loss."""

from __future__ import annotations

from sampled_transformer_lab.pages.measured import Measured
from sampled_transformer_lab.pages.search import search_section
from sampled_transformer_lab.study import Row, Study


def run(accuracy: float, loss: float, seconds: float) -> dict:
    return {"figures": {"last epoch": {"validation_accuracy": accuracy, "train_loss": loss}}, "seconds": seconds}


def test_rows() -> None:
    rows = [
        Measured("sampled", Row(""), [run(0.6, 1.2, 100.0)]),
        Measured("sampled-hilbert", Row("", 2), [run(0.7, 1.1, 150.0), run(0.72, 1.0, 150.0)]),
    ]
    text = search_section(Study("", {}), rows)
    assert "| sampled | 1 | 60.00 | 1.200 | 100 |" in text
    assert "| sampled-hilbert | 2 | 71.00 ± 1.41 | 1.050 | 150 |" in text
