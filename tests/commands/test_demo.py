"""The demo on few points and one epoch; every line of it is that of the real one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sampled_transformer.cli import main


def test_trains_answers_reports_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "demo"
    arguments = ["demo", "--out", str(out), "--epochs", "1", "--points", "16"]
    assert main([*arguments, "--largest", "320"]) == 0
    shown = capsys.readouterr().out
    rows = [line.split() for line in shown.splitlines() if set(line.split()) == {"o", "#", "."}]
    assert len(rows) == 8
    assert all(row.count("o") == row.count("#") == 1 for row in rows)
    assert len(re.findall(r"^epoch 1/1: ", shown, re.M)) == 3
    assert re.search(r"^  sampled  [\d.]+ % one pass, [\d.]+ % averaged over 8 cycles$", shown, re.M)
    assert len(re.findall(r"^  part \S+ +[\w ]+ \(\d+ % \+- \d+\) +(right|wrong: .+)$", shown, re.M)) == 6
    assert str(out / "report.html") in shown
    assert (out / "report.html").stat().st_size > 1_000_000  # with plotly inside

    page = (out / "report.html").read_text("utf-8")
    assert re.search(r"With 16 points per part, sampled attention takes .* dense attention .* accurate", page)
    large = page.partition('<h2 id="large-sets">')[2].partition("<h2")[0]
    for name in ("sampled", "dense"):
        assert f'<th class="number">{name}, time</th>' in large
    assert "plotly-graph-div" in large
    assert len(re.findall(r"^  (sampled|dense) +[\d,]+ points: +[\d.]+ s", shown, re.M)) == 10

    arguments = [*arguments, "--largest", "0"]
    assert main(arguments) == 0
    assert capsys.readouterr().out.count("trained before") == 3

    assert main([*arguments, "--points", "8"]) == 2
    assert "data.points" in capsys.readouterr().err  # they were trained with others
