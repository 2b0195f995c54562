from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sampled_transformer.cli import main


def test_a_page_beside_the_first_run_or_elsewhere(
    classifier: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("plotly")
    run = tmp_path / "mine"
    shutil.copytree(classifier, run)
    (run / "report.html").unlink(missing_ok=True)
    assert main(["report", str(run)]) == 0
    assert capsys.readouterr().out == f"{run / 'report.html'}: written\n"
    assert "mine" in (run / "report.html").read_text("utf-8")
    alone = (run / "report.html").read_bytes()
    assert main(["report", str(run), str(classifier)]) == 0
    both = run / f"report-with-{classifier.name}.html"
    assert f"{both}: written" in capsys.readouterr().out
    assert f"mine and {classifier.name}" in both.read_text("utf-8")
    assert (run / "report.html").read_bytes() == alone
    page = tmp_path / "both.html"
    assert main(["report", str(run), str(classifier), "--out", str(page)]) == 0
    assert f"mine and {classifier.name}" in page.read_text("utf-8")
