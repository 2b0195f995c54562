from __future__ import annotations

import pytest

from sampled_transformer.cli import main
from sampled_transformer.data import read_pack
from sampled_transformer.data.formats.ply import read_ply


def test_scene_is_written_and_counted(tmp_path, capsys):
    out = tmp_path / "scene.ply"
    assert main(["data", "scene", "--points", "6000", "--layout", "built", "--out", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("scene.ply: 6000 points in 11 classes")
    assert lines[1].split()[0] == "ground"
    assert sum(float(line.split()[-2]) for line in lines[1:]) == pytest.approx(100, abs=0.1)
    assert len(read_ply(out).points) == 6000


def test_scene_as_a_pack_of_kinds(tmp_path, capsys):
    out = tmp_path / "scene.npz"
    arguments = ["--points", "5000", "--labels", "kind", "--split", "test", "--seed", "4", "--out", str(out)]
    assert main(["data", "scene", *arguments]) == 0
    assert len(read_pack(out).point_classes) == 19
    assert main(["data", "info", str(out)]) == 0
    assert "labels of points in 19 classes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--points", "7"], "points: expected 4096 to 5000000, got 7"),
        (["--out", "scene.obj"], "out: expected a file name ending in .ply or .npz, got 'scene.obj'"),
        (["--out", "no/such/folder/scene.ply"], "out: expected a file in an existing folder"),
        (["--seed", "-1"], "seed: expected at least 0, got -1"),
    ],
)
def test_errors_are_one_line(tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert main(["data", "scene", *arguments]) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
