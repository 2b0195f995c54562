"""The option --up of commands that read folders."""

from __future__ import annotations

import numpy as np
import pytest

from sampled_transformer.cli import main
from sampled_transformer.commands.upright import settled_up, with_settled_up
from sampled_transformer.data import read_pack
from sampled_transformer.data.axes import turn
from sampled_transformer.training.settings import DataOptions, Settings
from sampled_transformer.weights import describe_model


def test_an_axis_is_settled_and_auto_needs_a_folder():
    assert settled_up("y", None) == "y"
    assert settled_up(None, None) is None
    settings = Settings(DataOptions("bricks", up="-y"), "out")
    assert with_settled_up(settings) is settings
    with pytest.raises(ValueError, match="up: expected an axis, because only a folder of shapes can be asked about"):
        with_settled_up(Settings(DataOptions("bricks", up="auto"), "out"))


def test_pack_turns_files_and_packs(shapes, tmp_path, capsys):
    plain, turned, again = (str(tmp_path / name) for name in ("plain", "turned", "again"))
    assert main(["data", "pack", str(shapes), plain, "--points", "2000"]) == 0
    assert main(["data", "pack", str(shapes), turned, "--points", "2000", "--up", "-y"]) == 0
    assert main(["data", "pack", plain, again, "--up", "-y"]) == 0
    before, after, same = (read_pack(folder, "train") for folder in (plain, turned, again))
    assert (before.up, after.up, same.up) == ("", "z", "z")
    assert np.array_equal(same.points, turn(before.points, "-y"))
    extent = np.abs(before.points.astype(int)).max((0, 1))
    assert np.allclose(np.abs(after.points.astype(int)).max((0, 1)), extent[[0, 2, 1]], rtol=0.05)  # other draws
    capsys.readouterr()
    assert main(["data", "pack", "bricks", str(tmp_path / "no"), "--up", "y"]) == 2
    assert "up: expected none for the data set bricks, whose axes are known, got y" in capsys.readouterr().err
    assert main(["data", "info", turned]) == 0
    assert "with normals, labels, from_mesh; z is up" in capsys.readouterr().out


def test_training_remembers_which_axis_was_up(shapes, tmp_path, capsys):
    small = ["--options.dim", "16", "--options.hidden", "16", "--data.points", "32", "--data.batch", "4"]
    words = ["train", "--data", str(shapes), "--out", str(tmp_path / "run"), "--epochs", "1", *small]
    assert main([*words, "--up", "x", "--trainer.accelerator", "cpu"]) == 0
    data = describe_model(tmp_path / "run").notes["data"]
    assert (data["up"], data["up_in_files"]) == ("z", "x")
    capsys.readouterr()
    told = []
    for more in ([], ["--data", str(shapes), "--up", "x"], ["--data", str(shapes), "--up", "y"]):
        assert main(["evaluate", str(tmp_path / "run"), *more, "--json"]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1] != told[2]
