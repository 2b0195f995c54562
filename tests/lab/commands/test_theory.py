"""The command `theory` and its tables."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from sampled_transformer.theory import tables
from sampled_transformer_lab.commands.theory import theory


def test_the_command_prints_all_tables_and_writes_the_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "ERRORS", [(2, 1, (2, 4))])
    picture = tmp_path / "ids.svg"
    theory(n=2, d=2, out=str(picture))
    printed = capsys.readouterr().out
    for title in ("How ids spread (n=2, d=2, delta=1/2)", "Definition 3.2", "Readings", "Step by step", "error d_2"):
        assert f"## {title}" in printed or title in printed
    assert printed.count("| yes   | yes       |") == len(tables.MAPPINGS)
    assert "FAILS: with A^2 as defined" in printed
    assert picture.read_text().startswith("<svg")


def test_the_measurements_write_their_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from sampled_transformer_lab import practice, softened

    monkeypatch.setattr(practice, "TRIALS", [practice.Trial("none", 1), practice.Trial("none", 2)])
    file = tmp_path / "practice.json"
    theory(practice=True, steps=10, out=str(file))
    trials = json.loads(file.read_text())["trials"]
    assert [trial["blocks"] for trial in trials] == [1, 2]
    trials[0]["seconds"] = 1e6
    file.write_text(json.dumps({**json.loads(file.read_text()), "trials": trials[:1]}))
    theory(practice=True, steps=10, out=str(file))  # continues
    assert [trial["seconds"] > 1e5 for trial in json.loads(file.read_text())["trials"]] == [True, False]

    small = functools.partial(softened.study, [(2, 1, 2)], [2**-5, 2**-6, 2**-9], [2**-4], 20)
    monkeypatch.setattr(softened, "study", small)
    theory(softened=True, out=str(tmp_path / "softened.json"))
    assert json.loads((tmp_path / "softened.json").read_text())["grids"][0]["bits"] == 16
    assert "## Largest error off the ramps" in capsys.readouterr().out


def test_one_measurement_at_a_time() -> None:
    with pytest.raises(ValueError, match="softened, practice, monte_carlo: expected at most one, got several"):
        theory(softened=True, practice=True)


def test_columns_line_up() -> None:
    lines = tables.markdown(["a", "long head"], [["wide cell", "x|y"], ["", "z"]]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert "x\\|y" in lines[2]


def test_grids_too_large_to_draw_are_refused() -> None:
    with pytest.raises(ValueError, match="delta: expected a grid of at most 5000 inputs to draw, got 6561"):
        theory(n=4, d=2, delta="1/3")


def test_neither_the_command_nor_the_proof_loads_torch() -> None:
    program = (
        "import sys, sampled_transformer_lab.commands.theory, sampled_transformer.theory.tables; "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
