"""The command `export`."""

from __future__ import annotations

from sampled_transformer.cli import main
from sampled_transformer.models import create_model
from sampled_transformer.weights import Description, save_model


def test_it_writes_a_file_and_prints_the_difference(tmp_path, capsys):
    options = {"classes": 2, "dim": 8, "heads": 2, "hidden": 8, "embedding": 4, "normals": False}
    notes = {"data": {"points": 16}}
    save_model(create_model("basic", **options), tmp_path / "w.safetensors", Description("basic", options, "ab", notes))
    assert main(["export", str(tmp_path / "w.safetensors"), str(tmp_path / "n.pt2")]) == 0
    printed = capsys.readouterr().out
    assert "points -> logits" in printed
    assert "largest difference to the network: 0.0e+00 (sets x points: 1 x 16, 3 x 16, 2 x 1, 2 x 25)" in printed
    assert (tmp_path / "n.pt2").is_file()


def test_wrong_names_get_one_line(tmp_path, capsys):
    assert main(["export", "modelnet40", str(tmp_path / "n.txt")]) == 2
    assert main(["export", "modelnet4", str(tmp_path / "n.pt2")]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert "out: expected a file name ending in .onnx or .pt2, got" in lines[0]
    assert "no such file, run folder or shipped weights" in lines[1]
