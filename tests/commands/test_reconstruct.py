from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.cli import main


def test_three_clouds_are_written(pretrained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "cloud.npy", np.random.default_rng(0).normal(size=(50, 3)))
    out = tmp_path / "clouds"
    words = ["reconstruct", str(tmp_path / "cloud.npy"), "--weights", str(pretrained), "--out", str(out)]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert re.search(r"cloud\.npy: 5 of 8 groups masked and rebuilt, Chamfer-L2 [\d.]+", text)
    assert re.search(r"visible\.ply \d+, rebuilt\.ply \d+, original\.ply \d+ points$", text, re.M)
    assert sorted(path.name for path in out.iterdir()) == ["original.ply", "rebuilt.ply", "visible.ply"]
    assert main([*words, "--mask_ratio", "0.5"]) == 0
    assert "4 of 8 groups masked" in capsys.readouterr().out


def test_missing_weights(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reconstruct", "none.ply", "--weights", "nowhere"]) == 2
    assert "nowhere: no such file, run folder or shipped weights" in capsys.readouterr().err
