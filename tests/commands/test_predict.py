from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.cli import main


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(3):
        np.save(folder / f"{number}.npy", np.random.default_rng(number).normal(size=(40, 3)))
    return folder


def test_files_and_folders_are_classified(
    classifier: Path, files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["predict", str(files / "0.npy"), str(tmp_path / "none.off"), str(files), "--weights", str(classifier)]
    assert main([*words, "--top", "1", "--samples", "2"]) == 1
    captured = capsys.readouterr()
    assert captured.err == f"could not be read: {tmp_path}/none.off: No such file or directory\n"
    lines = captured.out.splitlines()
    assert len(lines) == 8
    assert re.fullmatch(r" +[\d.]+ % \+- +[\d.]+  (needle|ball)", lines[1])


def test_answers_as_json(classifier: Path, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", str(files / "0.npy"), "--weights", str(classifier), "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)
    assert {row["class"] for row in answer["classes"]} == {"needle", "ball"}
    assert sum(row["probability"] for row in answer["classes"]) == pytest.approx(1, abs=1e-4)


def test_missing_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict"]) == 2
    assert "files: expected FILES, got nothing" in capsys.readouterr().err
    assert main(["predict", "a.off", "--weights", "nowhere"]) == 2
    assert "no such file, run folder or shipped weights (bricks, " in capsys.readouterr().err


def test_a_number_is_shown_with_its_spread(regressor, tmp_path, capsys):
    np.savetxt(tmp_path / "a.xyz", np.random.default_rng(0).normal(size=(50, 3)))
    assert main(["predict", str(tmp_path / "a.xyz"), str(tmp_path / "no.xyz"), "--weights", str(regressor)]) == 1
    captured = capsys.readouterr()
    assert re.fullmatch(r".*a\.xyz\n  \d{3}(\.\d+)? \+- [\d.]+  height in mm\n", captured.out)
    assert captured.err == f"could not be read: {tmp_path / 'no.xyz'}: No such file or directory\n"
