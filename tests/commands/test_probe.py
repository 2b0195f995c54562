from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.cli import main


def test_features_are_measured(pretrained: Path, clouds: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", str(pretrained), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["shapes"], result["points"]) == ([24, 12], 32)
    assert main(["probe", str(pretrained), "--scratch", "--data", str(clouds), "--samples", "2"]) == 0
    text = capsys.readouterr().out
    assert re.search(r": 24 shapes to fit, 12 to measure, 32 points; new weights$", text, re.M)
    assert re.search(r"^  linear probe  accuracy +[\d.]+ %   mean over classes +[\d.]+ %$", text, re.M)
    assert re.search(r"^  penalty \S+, chosen on held-out shapes of the training split: [\d.]+ % there$", text, re.M)


def test_a_probe_becomes_a_classifier(
    pretrained: Path, clouds: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "classifier.safetensors"
    assert main(["probe", str(pretrained), "--data", str(clouds), "--out", str(out)]) == 0
    assert f"{out}: written; `predict FILE --weights {out}` uses it" in capsys.readouterr().out
    cloud = tmp_path / "cloud.xyz"
    np.savetxt(cloud, np.random.default_rng(0).normal(size=(64, 3)))
    assert main(["predict", str(cloud), "--weights", str(out), "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)
    assert answer["error"] is None
    assert main(["features", str(cloud), "--weights", str(out), "--out", str(tmp_path / "features.npz")]) == 0


def test_missing_weights(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "nowhere"]) == 2
    assert "nowhere: no such file, run folder or shipped weights" in capsys.readouterr().err
