"""report.html of networks that predict a number."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.inference.regression import ask
from sampled_transformer.report.run_page import report, write_report

pytest.importorskip("plotly")


def test_the_page_shows_errors_answers_and_shapes(regressor: Path, tmp_path: Path) -> None:
    write_report(tmp_path / "report.html", {"mine": regressor}, "Heights")
    text = (tmp_path / "report.html").read_text("utf-8")
    last = json.loads((regressor / "result.json").read_text("utf-8"))["figures"]["last epoch"]
    for cell in (f"{last['test_mae']:.4g}", f"{last['test_rmse']:.4g}", f"{last['test_r2']:.4f}"):
        assert f'<td class="number">{cell}</td>' in text
    assert "height in mm" in text
    assert "Confusion" not in text
    assert "accuracy" not in text.partition("<h2>Commands</h2>")[0].rpartition("</script>")[2]
    assert text.count("<figure>") == 17
    found = ask(regressor / "model.safetensors")
    worst = int(np.abs(found.values() - found.truth).argmax())
    caption = f"<b>{found.truth[worst]:.4g}</b> answered as <b>{found.values()[worst]:.4g}</b>"
    first = text.partition("<figcaption>")[2]
    assert first.startswith(caption)
    assert found.name(worst) in first.partition("</figcaption>")[0]


def test_runs_that_predict_something_else_are_not_compared(regressor: Path, tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text("epoch\n1\n")
    (tmp_path / "result.json").write_text(json.dumps({"figures": {"last epoch": {"epoch": 1}}}))
    with pytest.raises(ValueError, match="runs: expected runs that predict the same, got height in mm and classes"):
        report({"one": regressor, "two": tmp_path}, "both")
