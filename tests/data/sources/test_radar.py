from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.data import load_data
from sampled_transformer.data.errors import DataError
from sampled_transformer.data.formats.npz import write_arrays
from sampled_transformer.data.sources.radar import RadarSets, load_radar

FOLDER = files("sampled_transformer.data") / "radar_pack"
CARD = (FOLDER / "README.md").read_text()


@pytest.fixture(scope="module")
def radar() -> dict[str, RadarSets]:
    return {split: load_radar(split) for split in ("train", "test")}


def test_sizes(radar: dict[str, RadarSets]) -> None:
    assert (len(radar["train"].sets), len(radar["test"].sets)) == (1316, 552)
    for split in radar.values():
        assert {one.shape[1] for one in split.sets} == {6}
        assert min(map(len, split.sets)) >= 50
        assert max(map(len, split.sets)) == 256
        assert split.classes == ("boxing", "jack", "jump", "squats", "walk")
        assert split.columns == ("x", "y", "z", "velocity", "intensity", "time")
        assert all(np.isfinite(one).all() for one in split.sets)
        assert all((np.diff(one[:, 5]) >= 0).all() for one in split.sets)


def test_no_recording_is_in_both_splits(radar: dict[str, RadarSets]) -> None:
    assert not set(radar["train"].recordings) & set(radar["test"].recordings)


@pytest.mark.parametrize("split", ["train", "test"])
def test_data_card_counts_are_true(radar: dict[str, RadarSets], split: str) -> None:
    column = {"train": 2, "test": 3}[split]
    rows = [line.split("|") for line in CARD.splitlines() if line.startswith("| ") and line.count("|") == 4]
    table = {row[1].strip(): row[column].strip() for row in rows}
    counts = np.bincount(radar[split].labels)
    for name, count in zip(radar[split].classes, counts, strict=True):
        assert table[name] == str(count)


def test_data_card_and_licence_say_what_they_must() -> None:
    for text in ("RadHAR", "BSD 3-Clause", "UCLA Networked & Embedded Systems Laboratory", "at most 256 returns"):
        assert text in CARD
    licence = (FOLDER / "LICENSE").read_text()
    assert "Copyright (c) 2019, UCLA Networked & Embedded Systems Laboratory" in licence
    assert "Redistributions in binary form must reproduce the above copyright notice" in licence


def test_points_as_a_pack(radar: dict[str, RadarSets]) -> None:
    pack = load_data("radar", "test")
    assert len(pack) == 552
    assert pack.classes == radar["test"].classes
    batch = pack.batch([0, 1])
    assert batch.points.norm(dim=-1).max() < 1.001
    raw = radar["test"].sets[0][:, :3]
    raw = raw - raw.mean(0)
    assert np.allclose(batch.points[:256], raw / np.linalg.norm(raw, axis=1).max(), atol=1e-3)
    assert load_data("radar", "test", points=50).points.shape == (552, 50, 3)


def test_another_folder(tmp_path: Path) -> None:
    arrays = {
        "features": np.arange(18, dtype=np.float16).reshape(3, 6),
        "feature_names": np.array(["x", "y", "z", "velocity", "intensity", "time"]),
        "ptr": np.array([0, 1, 3]),
        "labels": np.array([1, 0], np.uint8),
        "classes": np.array(["a", "b"]),
        "names": np.array(["first", "second"]),
    }
    write_arrays(tmp_path / "train.npz", arrays)
    radar = load_radar("train", tmp_path)
    assert [len(one) for one in radar.sets] == [1, 2]
    assert radar.labels.tolist() == [1, 0]
    write_arrays(tmp_path / "test.npz", {**arrays, "ptr": np.array([0, 1, 4])})
    with pytest.raises(DataError, match="ptr: expected 3 cuts of the 3 returns"):
        load_radar("test", tmp_path)
    del arrays["names"]
    write_arrays(tmp_path / "test.npz", arrays)
    with pytest.raises(DataError, match="got none called names"):
        load_radar("test", tmp_path)


def test_unknown_split_and_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^split: expected 'train' or 'test', got 'val'"):
        load_radar("val")
    with pytest.raises(DataError, match="no such file"):
        load_radar("test", tmp_path)
