from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sampled_transformer.cli import main

HOSTILE = {
    "deep": "[" * 100_000,
    "empty": "",
    "no object": "[]",
    "no text": '{"command": 5}',
    "pretrain": '{"command": "sampled-transformer pretrain x"}',
    "fewshot": '{"command": "sampled-transformer fewshot x", "folds": 3}',
    "segment": '{"command": "sampled-transformer segment train x", "figures": {"last epoch": {"epoch": 1}}}',
    "cluster": '{"command": "sampled-transformer cluster train x", "figures": []}',
    "train": '{"command": "sampled-transformer train x", "figures": {"last epoch": [1]}, "confusion": 7}',
}


@pytest.mark.parametrize("result", HOSTILE.values(), ids=list(HOSTILE))
def test_a_folder_that_is_no_run_of_ours_is_told_in_one_line(
    result: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("plotly")
    (tmp_path / "result.json").write_text(result)
    for table in ("epoch,seconds\n1,2\n", "epoch,seconds\n1,2,3\n", "epoch\nx\n", f"epoch\n{'9' * 200_000}\n"):
        (tmp_path / "metrics.csv").write_text(table)
        assert main(["report", str(tmp_path)]) == 2
        error = capsys.readouterr().err
        assert error.startswith("sampled-transformer: error: ")
        assert str(tmp_path) in error
        assert error.count("\n") == 1


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
