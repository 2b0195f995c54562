"""Packs: quantising, writing and reading, batches, and every kind of bad file."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sampled_transformer.data import Batch, DataError, Pack, load_data, read_pack, write_pack
from sampled_transformer.data.clouds import take_points
from sampled_transformer.data.formats.npz import write_arrays


def clouds(counts: list[int], seed: int = 0) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [generator.normal(size=(count, 3)) * 7 + 100 for count in counts]


def unit(points: np.ndarray) -> np.ndarray:
    points = points - points.mean(0)
    return points / np.linalg.norm(points, axis=1).max()


def full_pack(counts: list[int]) -> Pack:
    sets = clouds(counts)
    return Pack.from_arrays(
        sets,
        labels=np.arange(len(counts)) % 2,
        names=[f"name {i}" for i in range(len(counts))],
        classes=("round", "flat"),
        normals=clouds(counts, 1),
        extras={"year": np.arange(len(counts)), "text": np.array(["é"] * len(counts))},
    )


@pytest.mark.parametrize("counts", [[5, 5, 5], [4, 1, 9]], ids=["equal", "ragged"])
def test_values_survive_quantisation(counts):
    pack = full_pack(counts)
    batch = pack.batch(slice(None))
    assert (pack.ptr is None) == (len(set(counts)) == 1)
    points = torch.split(batch.points.flatten(0, -2), counts)
    normals = torch.split(batch.normals.flatten(0, -2), counts)
    for i, count in enumerate(counts):
        expected = unit(clouds(counts)[i]) if count > 1 else np.zeros((1, 3))
        np.testing.assert_allclose(points[i], expected, atol=0.51 / 32767)
        directions = clouds(counts, 1)[i]
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        np.testing.assert_allclose(normals[i], directions, atol=0.51 / 127)
    assert pack.counts().tolist() == counts
    assert len(pack) == len(counts)


@pytest.mark.parametrize("counts", [[5, 5, 5, 5], [4, 1, 9, 2]], ids=["equal", "ragged"])
@pytest.mark.parametrize(
    ("index", "meaning"),
    [
        ([2, 0], [2, 0]),
        (slice(1, 3), [1, 2]),
        (np.array([True, False, False, True]), [0, 3]),
        (torch.tensor([3, 3]), [3, 3]),
        (-1, [3]),
        (range(4), [0, 1, 2, 3]),
        ([], []),
    ],
)
def test_batch_and_select_agree_with_the_sets_one_by_one(counts, index, meaning):
    pack = full_pack(counts)
    batch, chosen = pack.batch(index), pack.select(index)
    assert isinstance(batch, Batch)
    assert batch.points.dtype == batch.normals.dtype == torch.float32
    assert batch.labels.tolist() == [i % 2 for i in meaning] == chosen.labels.tolist()
    assert chosen.names.tolist() == [f"name {i}" for i in meaning]
    assert chosen.extras["year"].tolist() == meaning
    assert chosen.classes == pack.classes
    each = [pack.batch(i) for i in meaning]
    if meaning:
        assert torch.equal(batch.points.flatten(0, -2), torch.cat([one.points.flatten(0, -2) for one in each]))
        assert torch.equal(batch.normals.flatten(0, -2), torch.cat([one.normals.flatten(0, -2) for one in each]))
    if pack.ptr is None:
        assert batch.ptr is None
        assert batch.points.shape == (len(meaning), 5, 3)
    else:
        assert batch.ptr.tolist() == np.cumsum([0] + [counts[i] for i in meaning]).tolist()
        assert batch.points.shape == (batch.ptr[-1], 3)
    assert torch.equal(chosen.batch(slice(None)).points, batch.points)


def test_index_outside_the_pack():
    with pytest.raises(IndexError):
        full_pack([5, 5]).batch([2])


def test_a_batch_is_the_callers_own(tmp_path):
    pack = full_pack([5, 5])
    pack.batch([0]).points.zero_()
    pack.batch([0]).labels.add_(7)
    assert pack.batch([0]).points.norm(dim=-1).max() > 0.99
    assert pack.labels.tolist() == [0, 1]


def test_batch_moves_to_a_device():
    batch = Pack.from_arrays(clouds([3, 3])).batch([0]).to("meta")
    assert batch.points.device.type == "meta"
    assert batch.normals is None


@pytest.mark.parametrize("counts", [[5, 5, 5], [4, 1, 9]], ids=["equal", "ragged"])
def test_disk_round_trip(tmp_path, counts):
    pack = full_pack(counts)
    write_pack(pack, tmp_path / "new" / "train.npz")
    for back in (read_pack(tmp_path / "new", "train"), read_pack(tmp_path / "new" / "train.npz")):
        assert back.classes == pack.classes
        assert back.extras.keys() == pack.extras.keys()
        for name in ("points", "normals", "labels", "names"):
            np.testing.assert_array_equal(getattr(back, name), getattr(pack, name))
            assert getattr(back, name).dtype == getattr(pack, name).dtype
        np.testing.assert_array_equal(back.ptr, pack.ptr)
        np.testing.assert_array_equal(back.extras["text"], pack.extras["text"])


def test_points_alone_are_a_pack(tmp_path):
    write_pack(Pack.from_arrays(np.random.default_rng(0).normal(size=(2, 4, 3))), tmp_path / "a.npz")
    back = read_pack(tmp_path / "a.npz")
    assert back.batch([1]).points.shape == (1, 4, 3)
    assert (back.labels, back.names, back.normals, back.ptr, back.classes) == (None, None, None, None, ())


def test_small_label_types_become_int64(tmp_path):
    """As other programs may write a pack: uint8 labels and additional arrays."""
    points = np.zeros((2, 4, 3), np.int16)
    np.savez_compressed(
        tmp_path / "a.npz",
        points=points,
        labels=np.array([0, 1], np.uint8),
        classes=np.array(["a", "b"]),
        from_mesh=np.array([True, False]),
    )
    pack = read_pack(tmp_path / "a.npz")
    assert pack.labels.dtype == np.int64
    assert pack.extras["from_mesh"].tolist() == [True, False]


@settings(max_examples=50, deadline=None)
@given(
    counts=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    scale=st.sampled_from([1e-200, 1e-8, 1.0, 1e8, 1e140]),
    offset=st.sampled_from([0.0, -3.0, 1e6]),
)
def test_normalised_sets_lie_in_the_unit_sphere(counts, scale, offset):
    generator = np.random.default_rng(sum(counts))
    sets = [(generator.normal(size=(count, 3)) + offset) * scale for count in counts]
    pack = Pack.from_arrays(sets)
    for i, count in enumerate(counts):
        radius = pack.batch(i).points.flatten(0, -2).norm(dim=1).max()
        assert radius == pytest.approx(1 if count > 1 else 0, abs=1e-4)


def test_points_that_coincide_go_to_the_origin():
    assert not Pack.from_arrays(np.full((1, 4, 3), 1e9 + 0.1)).points.any()


def test_without_normalise_values_stay():
    points = np.random.default_rng(0).uniform(-1, 1, (2, 5, 3))
    batch = Pack.from_arrays(points, normalise=False).batch([0, 1])
    np.testing.assert_allclose(batch.points, points, atol=0.51 / 32767)
    with pytest.raises(DataError, match=r"points of set 1: .*\[-1, 1\]"):
        Pack.from_arrays(points * [[[1]], [[2]]], normalise=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"points": []}, "points: expected at least 1 set"),
        ({"points": [np.zeros((0, 3))]}, "points of set 0: expected at least 1 point"),
        ({"points": np.zeros((2, 4, 2))}, "points of set 0: expected numbers of shape"),
        (
            {"points": np.full((1, 4, 3), np.nan)},
            "points of set 0: expected finite numbers, got NaN or infinity in 4 of 4",
        ),
        ({"points": np.array([[["a", "b", "c"]]])}, "points of set 0: expected numbers"),
        ({"labels": [0, 2], "classes": ["a", "b"]}, "labels: expected 0 to 1, got 0 to 2"),
        ({"labels": [0, -1]}, "labels: expected 0 to"),
        ({"labels": [0.0, 1.0], "classes": ["a", "b"]}, "classes: expected none, because the labels are floats, got 2"),
        ({"labels": [0.0, np.nan]}, "labels: expected finite numbers, got NaN or infinity"),
        ({"labels": [True, False]}, "labels: expected integers or floats of shape"),
        ({"labels": [0]}, "labels: expected integers or floats of shape"),
        ({"labels": [0, 1], "target_name": "volume"}, "target_name: expected none without float labels, got 'volume'"),
        ({"names": ["a"]}, "names: expected text of shape"),
        ({"classes": ["a", "a"]}, "classes: expected different names, got 'a' twice"),
        ({"normals": np.zeros((2, 3, 3))}, "normals: expected one per point"),
        (
            {"normals": np.full((2, 4, 3), np.inf)},
            "normals of set 0: expected finite numbers, got NaN or infinity in 4 of 4",
        ),
        ({"extras": {"year": np.zeros(3)}}, "year: expected numbers or text with 2 rows"),
        ({"extras": {"year": np.full(2, np.nan)}}, "year: expected finite numbers"),
        ({"extras": {"labels": np.zeros(2)}}, "extras: expected names other than .* got 'labels'"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(DataError, match=message):
        Pack.from_arrays(**{"points": np.random.default_rng(0).normal(size=(2, 4, 3)), **arguments})


GOOD = {
    "points": np.zeros((2, 4, 3), np.int16),
    "labels": np.array([0, 1]),
    "classes": np.array(["a", "b"]),
}
RAGGED = {"points": np.zeros((6, 3), np.int16), "ptr": np.array([0, 2, 6])}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"labels": np.array([0])}, "points: expected an array of this name, got labels"),
        (GOOD | {"points": np.zeros((2, 4, 3), np.float32)}, "points: expected int16"),
        (GOOD | {"points": np.zeros((2, 4, 2), np.int16)}, "points: expected int16"),
        (GOOD | {"points": np.zeros((2, 0, 3), np.int16)}, "points: expected int16"),
        (GOOD | {"points": np.zeros((8, 3), np.int16)}, "points: expected int16"),
        (GOOD | {"points": np.full((2, 4, 3), -32768, np.int16)}, "points: expected -32767 to 32767, got -32768"),
        (GOOD | {"normals": np.zeros((2, 4, 3), np.int16)}, "normals: expected int8"),
        (GOOD | {"normals": np.zeros((2, 3, 3), np.int8)}, "normals: expected int8"),
        (GOOD | {"normals": np.full((2, 4, 3), -128, np.int8)}, "normals: expected -127 to 127, got -128"),
        (GOOD | {"labels": np.array([0, 2])}, "labels: expected 0 to 1"),
        (GOOD | {"labels": np.array([0, 2**64 - 1], np.uint64)}, "labels: expected 0 to 1"),
        (GOOD | {"labels": np.array([0, 1, 1])}, "labels: expected integers or floats of shape"),
        (GOOD | {"labels": np.array(["a", "b"])}, "labels: expected integers or floats"),
        (GOOD | {"labels": np.array([0.5, np.inf])}, "labels: expected finite numbers"),
        (GOOD | {"target_name": np.array(["a", "b"])}, "target_name: expected text of shape"),
        (GOOD | {"names": np.array(["a"])}, "names: expected text of shape"),
        (GOOD | {"names": np.array([1, 2])}, "names: expected text"),
        (GOOD | {"classes": np.array([1, 2])}, "classes: expected text"),
        (GOOD | {"classes": np.array([["a", "b"]])}, "classes: expected text"),
        (GOOD | {"other": np.zeros(3)}, "other: expected numbers or text with 2 rows"),
        (RAGGED | {"points": np.zeros((2, 3, 3), np.int16)}, "points: expected int16"),
        (RAGGED | {"ptr": np.array([0, 2, 7])}, "ptr: expected numbers that increase"),
        (RAGGED | {"ptr": np.array([1, 2, 6])}, "ptr: expected numbers that increase"),
        (RAGGED | {"ptr": np.array([0, 4, 3, 6])}, "ptr: expected numbers that increase"),
        (RAGGED | {"ptr": np.array([0, 2, 2, 6])}, "ptr: expected numbers that increase"),
        (RAGGED | {"ptr": np.array([0.0, 2, 6])}, "ptr: expected integers"),
        (RAGGED | {"ptr": np.array([], np.int64)}, "ptr: expected integers"),
        (RAGGED | {"ptr": np.array([[0, 6]])}, "ptr: expected integers"),
        (RAGGED | {"labels": np.array([0])}, "labels: expected integers or floats of shape"),
    ],
)
def test_bad_file_is_one_line_with_its_name(tmp_path, arrays, message):
    write_arrays(tmp_path / "bad.npz", arrays)
    with pytest.raises(DataError, match=message) as error:
        read_pack(tmp_path / "bad.npz")
    assert str(error.value).startswith(str(tmp_path / "bad.npz") + ": ")
    assert "\n" not in str(error.value)


def test_split_that_is_not_there(tmp_path):
    write_pack(Pack.from_arrays(clouds([3])), tmp_path / "train.npz")
    with pytest.raises(DataError, match=r"no test\.npz; available splits: train"):
        read_pack(tmp_path, "test")
    with pytest.raises(DataError, match="split: expected one of the splits"):
        read_pack(tmp_path)
    with pytest.raises(DataError, match="no such file"):
        read_pack(tmp_path / "other.npz")
    with pytest.raises(DataError, match="a file holds one split"):
        read_pack(tmp_path / "train.npz", "test")
    with pytest.raises(DataError, match=r"ending in \.npz"):
        write_pack(read_pack(tmp_path, "train"), tmp_path / "train")


def test_load_data_finds_packs(tmp_path):
    write_pack(Pack.from_arrays(clouds([3])), tmp_path / "train.npz")
    write_pack(Pack.from_arrays(clouds([4])), tmp_path / "test.npz")
    write_pack(Pack.from_arrays(clouds([5])), tmp_path / "all.npz")
    assert load_data(tmp_path).points.shape == (1, 3, 3)
    assert load_data(str(tmp_path), "test").points.shape == (1, 4, 3)
    assert load_data(tmp_path / "all.npz").points.shape == (1, 5, 3)
    with pytest.raises(DataError, match="a file holds one split"):  # or one would test on what one trained on
        load_data(tmp_path / "all.npz", "test")
    with pytest.raises(DataError, match="a file holds one split"):
        load_data(tmp_path / "test.npz", "train")
    with pytest.raises(DataError, match=r"no such file, folder or data set \(brick-parts, .*did you mean 'modelnet40'"):
        load_data("modelnet41")
    with pytest.raises(DataError, match="root: expected the folder that holds the data set modelnet40, got none"):
        load_data("modelnet40")


def test_a_file_that_is_no_pack_is_not_called_damaged(tmp_path):
    for name, got in (("chair.off", r"\.off"), ("chair", "no suffix")):
        (tmp_path / name).write_text("OFF")
        with pytest.raises(DataError, match=rf"{name}: expected a folder of shapes or a pack .*, got {got}$"):
            load_data(tmp_path / name)


def test_packs_need_no_torch_until_a_batch_is_made():
    program = "import sys, sampled_transformer.data; assert 'torch' not in sys.modules, 'torch was imported'"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_repr_is_short():
    assert repr(full_pack([5, 5])) == "Pack(2 sets, 5 points, 2 classes, normals, year, text)"
    assert repr(Pack.from_arrays(clouds([2, 3]))) == "Pack(2 sets, 5 points in total)"


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_numbers_as_labels_survive_the_disk(tmp_path, kind):
    values = np.array([0.5, -3, 24.25], kind)
    clouds = np.random.default_rng(0).normal(size=(3, 4, 3))
    pack = Pack.from_arrays(clouds, labels=values, target_name="volume in m/s²")
    write_pack(pack, tmp_path / "p.npz")
    again = read_pack(tmp_path / "p.npz")
    assert again.has_numbers
    assert again.labels.dtype == np.float64
    assert again.labels.tolist() == [0.5, -3, 24.25]
    assert again.target_name == "volume in m/s²"
    assert again.classes == ()
    assert "volume" in repr(again)
    some = again.select([2, 0])
    assert (some.labels.tolist(), some.target_name) == ([24.25, 0.5], "volume in m/s²")
    batch = again.batch([2, 0])
    assert batch.labels.dtype == torch.float32
    assert batch.labels.tolist() == [24.25, 0.5]


def test_classes_have_no_numbers():
    clouds = np.zeros((2, 4, 3))
    assert not Pack.from_arrays(clouds, labels=[0, 1]).has_numbers
    assert not Pack.from_arrays(clouds).has_numbers


def test_the_axis_that_is_up_is_kept_and_checked(tmp_path):
    pack = Pack.from_arrays(np.random.default_rng(0).normal(size=(3, 8, 3)), up="-y")
    write_pack(pack, tmp_path / "a.npz")
    assert read_pack(tmp_path / "a.npz").up == pack.select([0]).up == "-y"
    with pytest.raises(DataError, match="up: expected an axis such as z or -y, got 'top'"):
        Pack(pack.points, up="top")


def point_pack(counts: list[int]) -> Pack:
    """Every point of set i has the label of its row, and features that name its set and row."""
    rows = [np.arange(count) for count in counts]
    return Pack.from_arrays(
        clouds(counts),
        normals=clouds(counts, 1),
        point_labels=[row % 4 - 1 for row in rows],
        point_classes=("a", "b", "c"),
        features={
            "codes": [np.stack([row, row + 100 * i, row * 0], 1).astype(np.uint8) for i, row in enumerate(rows)],
            "height": [cloud[:, 2].astype(np.float32) for cloud in clouds(counts)],
        },
        keep_size=True,
    )


def check_rows(pack: Pack, counts: list[int]) -> None:
    """Points, normals, labels and features of all sets are still those of `point_pack`, in any order."""
    batch = pack.batch(slice(None))
    lengths = pack.counts().tolist()
    parts = zip(
        torch.split(batch.points.flatten(0, -2), lengths),
        torch.split(batch.normals.flatten(0, -2), lengths),
        torch.split(batch.point_labels.flatten(), lengths),
        torch.split(batch.features["codes"].flatten(0, -2), lengths),
        torch.split(batch.features["height"].flatten(0, -2), lengths),
        strict=True,
    )
    for number, (points, normals, labels, colour, height) in enumerate(parts):
        row = colour[:, 0].long()
        i = int(colour[0, 1] - colour[0, 0]) // 100
        assert labels.tolist() == (row % 4 - 1).tolist()
        np.testing.assert_allclose(points, unit(clouds(counts)[i])[row], atol=1e-4)
        directions = clouds(counts, 1)[i][row]
        np.testing.assert_allclose(normals, directions / np.linalg.norm(directions, axis=1)[:, None], atol=0.01)
        np.testing.assert_allclose(height[:, 0], clouds(counts)[i][row, 2], rtol=1e-6)
        np.testing.assert_allclose(pack.coordinates(number), clouds(counts)[i][row], atol=1e-3)


@pytest.mark.parametrize("counts", [[5, 5, 5], [4, 2, 9]], ids=["equal", "ragged"])
def test_what_points_carry_stays_with_them(tmp_path, counts):
    pack = point_pack(counts)
    write_pack(pack, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as stored:
        assert stored["point_labels"].dtype == np.int8
        assert stored["feature_codes"].dtype == np.uint8
    back = read_pack(tmp_path / "a.npz")
    assert back.point_labels.dtype == np.int16
    assert back.point_classes == ("a", "b", "c")
    assert back.has_point_labels
    assert back.extras == {}
    few = np.stack([np.random.default_rng(i).permutation(count)[:2] for i, count in enumerate(counts)])
    for one in (pack, back, back.select([2, 0]), back.select([1]), pack.keep_points(few), take_points(back, 2, 7)):
        check_rows(one, counts)
    assert back.keep_points(few).points.shape == (3, 2, 3)
    assert back.keep_points(few).batch([0]).features["codes"][0, :, 0].tolist() == few[0].tolist()
    empty = back.select([]).batch(slice(None))
    assert (empty.point_labels.numel(), empty.features["height"].numel()) == (0, 0)


def test_batches_of_points_with_labels():
    batch = point_pack([4, 2]).batch([1, 0])
    assert batch.point_labels.dtype == torch.int64
    assert batch.point_labels.tolist() == [-1, 0, -1, 0, 1, 2]
    assert {name: tuple(one.shape) for name, one in batch.features.items()} == {"codes": (6, 3), "height": (6, 1)}
    assert batch.features["codes"].dtype == torch.float32
    moved = batch.to("meta")
    assert {moved.points.device.type, moved.point_labels.device.type, moved.features["codes"].device.type} == {"meta"}
    assert (moved.labels, moved.ptr.device.type) == (None, "meta")
    assert point_pack([3, 3]).batch([0]).features["height"].shape == (1, 3, 1)
    bare = Pack.from_arrays(clouds([3, 3])).batch([0])
    assert (bare.point_labels, bare.features) == (None, None)


def test_colours_of_bytes_are_read_as_numbers_from_0_to_1():
    colours = np.array([[0, 51, 255], [255, 102, 0]], np.uint8)
    for name, unit in (("colour", 255), ("codes", 1)):
        pack = Pack.from_arrays([clouds([2])[0]], features={name: [colours]})
        assert pack.features[name].dtype == np.uint8
        np.testing.assert_allclose(pack.batch([0]).features[name][0].numpy(), colours / unit, rtol=1e-6)


def test_a_batch_of_labels_is_the_callers_own():
    pack = point_pack([4, 4])
    batch = pack.batch([0])
    batch.point_labels.zero_()
    batch.features["height"].zero_()
    check_rows(pack, [4, 4])


@pytest.mark.parametrize("scale", [1e-150, 1e-3, 1.0, 1e8])
def test_real_size_comes_back(scale):
    sets = [cloud * scale for cloud in clouds([6, 3])]
    pack = Pack.from_arrays(sets, keep_size=True)
    for number, points in enumerate(sets):
        np.testing.assert_allclose(pack.coordinates(number), points, rtol=1e-3)
    single = Pack.from_arrays([np.array([[1.0, 2, 3]])], keep_size=True)
    assert single.coordinates(0).tolist() == [[1, 2, 3]]
    assert single.scale.tolist() == [0]


def test_without_size_coordinates_are_those_of_the_pack():
    points = np.random.default_rng(0).uniform(-1, 1, (2, 5, 3))
    for keep_size in (False, True):
        pack = Pack.from_arrays(points, normalise=False, keep_size=keep_size)
        np.testing.assert_allclose(pack.coordinates(1), points[1], atol=1e-4)
        assert (pack.scale is None) == (not keep_size)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"point_labels": np.zeros((2, 3), int), "point_classes": ["a"]}, "point_labels: expected one per point"),
        ({"point_labels": np.zeros((2, 4), int)}, "point_classes: expected the names"),
        ({"features": {"speed": np.zeros((2, 3))}}, "feature_speed: expected one per point in every set"),
        ({"point_labels": np.zeros(8, int), "point_classes": ["a"]}, "point_labels: expected one per point in every"),
        ({"features": {"speed": 3.0 * np.ones(2)}}, "feature_speed: expected one per point in every set"),
        (
            {"features": {"a": [np.ones((4, 3)), np.ones((4, 2))]}},
            "feature_a: expected the same columns .*, got 2",
        ),
        ({"normals": [np.ones((4, 3)), np.ones((4, 2))]}, "normals: expected the same columns in every set"),
        ({"features": {"a/b": np.zeros((2, 4))}}, "features: expected printable names without slashes, got 'a/b'"),
        ({"extras": {"feature_a": np.zeros(2)}}, "extras: expected names other than .* got 'feature_a'"),
        ({"extras": {"centre": np.zeros((2, 3))}}, "extras: expected names other than .* got 'centre'"),
    ],
)
def test_bad_labels_and_features_are_named(arguments, message):
    with pytest.raises(DataError, match=message):
        Pack.from_arrays(np.random.default_rng(0).normal(size=(2, 4, 3)), **arguments)


def test_repr_names_what_points_carry():
    expected = "Pack(2 sets, 6 points in total, 3 point classes, normals, codes (3), height (1))"
    assert repr(point_pack([4, 2])) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"points": "x"}, "points: expected a whole number, got 'x'"),
        ({"points": 5.5}, "points: expected a whole number, got 5.5"),
        ({"points": True}, "points: expected a whole number, got True"),
        ({"seed": None}, "seed: expected a whole number, got None"),
        ({"colour": 1}, "options: expected points, seed for bricks, got 'colour'"),
    ],
)
def test_options_of_data_sets_are_checked(options, message):
    with pytest.raises(DataError, match=message):
        load_data("bricks", "test", **options)


def test_numbers_of_numpy_are_options_too():
    assert load_data("bricks", "test", points=np.int64(5)).points.shape == (408, 5, 3)
    assert load_data("bricks", "test", points=None).points.shape == (408, 512, 3)
