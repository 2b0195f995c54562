from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import trimesh

from sampled_transformer.cli import main
from sampled_transformer.inference.trained_network import load


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    trimesh.creation.box().export(folder / "box.off")
    np.save(folder / "cloud.npy", np.random.default_rng(0).normal(size=(20, 3)))
    return folder


def test_one_row_per_file_and_one_line_per_broken_file(
    classifier: Path, files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (files / "broken.off").write_text("OFF\n9 9 9\n")
    out = tmp_path / "out.npz"
    assert (
        main(["features", str(files), str(tmp_path / "none.ply"), "--weights", str(classifier), "--out", str(out)]) == 1
    )
    captured = capsys.readouterr()
    assert captured.err.splitlines() == [
        f"could not be read: {files}/broken.off: header claims 9 vertices and 9 faces, but only 0 lines follow",
        f"could not be read: {tmp_path}/none.ply: No such file or directory",
        "2 of 4 files left out: 1 damaged, 1 missing",
    ]
    assert captured.out == f"{out}: 16 features of 2 files\n"
    single = tmp_path / "single.npz"
    assert main(["features", str(files / "box.off"), "--weights", str(classifier), "--out", str(single)]) == 0
    assert capsys.readouterr().out == f"{single}: 16 features of 1 file\n"
    net = load(classifier)
    with np.load(out, allow_pickle=False) as found:
        assert found["names"].tolist() == [str(files / "box.off"), str(files / "cloud.npy")]
        np.testing.assert_array_equal(found["features"], net.features(found["names"].tolist()))


def test_positions_need_no_note_about_normals(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(files / "other.npy", np.random.default_rng(1).normal(size=(2000, 3)))
    words = ["features", str(files / "cloud.npy"), str(files / "other.npy"), "--out", str(tmp_path / "out.npz")]
    assert main([*words, "--weights", "modelnet40-points"]) == 0
    assert capsys.readouterr().err == ""
    assert main(words) == 0
    note = "note: modelnet40 reads normals, and normals estimated from points are not those of meshes"
    assert capsys.readouterr().err == f"{note}; --weights modelnet40-points reads positions alone\n"


def test_one_row_per_point_of_a_layer_averaged_over_cycles(classifier: Path, files: Path, tmp_path: Path) -> None:
    words = ["features", str(files), "--weights", str(classifier), "--per-point", "--layer", "0", "--samples", "2"]
    assert main([*words, "--out", str(tmp_path / "out.npz")]) == 0
    net = load(classifier)
    with np.load(tmp_path / "out.npz", allow_pickle=False) as found:
        assert found["ptr"].tolist() == [0, 32, 52]
        for number, name in enumerate(found["names"].tolist()):
            own = slice(*found["ptr"][number : number + 2])
            expected = net.features(name, per_point=True, layer="blocks.0", samples=2)
            np.testing.assert_array_equal(found["features"][own], expected.features)
            np.testing.assert_array_equal(found["points"][own], expected.points)
        assert found["rows"].tolist() == [*[-1] * 32, *range(20)]


def test_tables(classifier: Path, files: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    net = load(classifier)
    expected = net.features([files / "box.off", files / "cloud.npy"])
    for ending in ("csv", "parquet"):
        out = tmp_path / f"out.{ending}"
        assert main(["features", str(files), "--weights", str(classifier), "--out", str(out)]) == 0
    with open(tmp_path / "out.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    np.testing.assert_array_equal(np.array([row[1:] for row in rows]).astype(np.float32), expected)
    table = parquet.read_table(tmp_path / "out.parquet").drop_columns("file")
    np.testing.assert_array_equal(np.stack([column.to_numpy() for column in table.columns], 1), expected)


def test_an_autoencoder_has_features(pretrained: Path, files: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    words = ["features", str(files), "--weights", str(pretrained), "--out", str(out)]
    assert main([*words, "--layer", "encoder.embedding"]) == 0
    with np.load(out) as found:
        assert found["features"].shape == (2, 16)
    assert main(words) == 0
    with np.load(out) as found:
        assert found["features"].shape == (2, 32)


def test_earlier_features_in_the_folder_are_no_shapes(classifier: Path, files: Path) -> None:
    words = ["features", str(files), "--weights", str(classifier), "--per_point"]
    for _ in range(2):
        for name in ("a.npz", "b.csv"):
            assert main([*words, "--out", str(files / name)]) == 0
    with np.load(files / "a.npz") as found:
        assert len(found["names"]) == 2


def test_an_input_is_never_overwritten(classifier: Path, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(files / "own.npz", points=np.random.default_rng(0).normal(size=(20, 3)))
    before = (files / "own.npz").read_bytes()
    for place in (files, files / "own.npz"):
        assert main(["features", str(place), "--weights", str(classifier), "--out", str(files / "own.npz")]) == 2
        assert "out: expected a file that is not read, got" in capsys.readouterr().err
    assert (files / "own.npz").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--out", "a.pkl"], "out: expected a file name ending in .npz or .csv or .parquet, got 'a.pkl'"),
        (["--out", "nowhere/a.csv"], "out: expected a file in an existing folder, got 'nowhere/a.csv'"),
        (["--weights", "mixtures"], "mixtures: expected a network that reads shapes, got 'set-transformer-mixture'"),
        (["--weights", "bricks", "--layer", "9"], "layer: expected 0 to 0, or one of blocks.0, got 9"),
        (["--weights", "bricks", "--samples", "0"], "samples: expected at least 1, got 0"),
        (["--per-pint"], "features: expected one of its options, got --per-pint; did you mean --per_point?"),
    ],
)
def test_what_is_refused_before_any_work(
    words: list[str],
    message: str,
    files: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert main(["features", str(files / "cloud.npy"), *words]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert len(captured.err.splitlines()) == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_nothing_is_written_if_nothing_was_read(
    classifier: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert (
        main(["features", str(tmp_path / "empty"), "--weights", str(classifier), "--out", str(tmp_path / "a.npz")]) == 1
    )
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"could not be read: {tmp_path}/empty: no file of a known format in this folder"
    assert second.endswith(f"{tmp_path}/a.npz: not written, because no file could be read")
    assert not (tmp_path / "a.npz").exists()
