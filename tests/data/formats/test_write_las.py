"""LAS and LAZ with classes: all other bytes stay, in any number of pieces."""

import struct
from io import BytesIO
from pathlib import Path

import laspy
import numpy as np
import pytest
from helpers.scans import CLASSES, COUNT, LAS, write_example

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.formats.las import CLASS_RECORD
from sampled_transformer.data.formats.write_las import LasCopy
from sampled_transformer.support.palette import class_colours

NAMES = dict(enumerate(CLASSES))
LABELS = np.random.default_rng(1).integers(0, 3, COUNT).astype(np.uint8)
CONFIDENCE = np.random.default_rng(2).uniform(0, 1, COUNT).astype(np.float32)


def copy(
    source: Path,
    classes: dict[int, str] = NAMES,
    labels: np.ndarray = LABELS,
    *,
    pieces: int = 1,
    coloured: bool = False,
    suffix: str | None = None,
) -> Path:
    """Copy a file with classes, in pieces, into a file beside it."""
    out = source.with_name(f"out{suffix or source.suffix}")
    with (
        open(out, "wb") as file,
        LasCopy(source, file, classes, compress=out.suffix == ".laz", coloured=coloured) as copied,
    ):
        for own, sure in zip(np.array_split(labels, pieces), np.array_split(CONFIDENCE, pieces), strict=True):
            copied.write(own, sure)
        copied.finish()
        out.with_suffix(".notes").write_text("\n".join(copied.notes))
    return out


def fields(path: Path) -> dict[str, np.ndarray]:
    las = laspy.read(path)
    return {name: np.asarray(las[name]) for name in las.point_format.dimension_names}


@pytest.mark.parametrize("pieces", [1, 7])
@pytest.mark.parametrize("kind", LAS)
def test_every_other_field_stays(tmp_path: Path, kind: str, pieces: int) -> None:
    source = write_example(tmp_path, kind)
    out = copy(source, pieces=pieces)
    old, new = fields(source), fields(out)
    np.testing.assert_array_equal(new.pop("classification"), LABELS)
    np.testing.assert_array_equal(new.pop("confidence"), CONFIDENCE)
    del old["classification"]
    assert list(new) == list(old)
    for name, values in old.items():
        np.testing.assert_array_equal(new[name], values, err_msg=name)
    assert (out.with_suffix(".notes")).read_text() == ""


@pytest.mark.parametrize("kind", LAS)
def test_the_header_and_the_records_stay(tmp_path: Path, kind: str) -> None:
    source = write_example(tmp_path, kind)
    data, copied = source.read_bytes(), copy(source).read_bytes()
    size = struct.unpack_from("<H", data, 94)[0]
    changed = {number for number in range(size) if data[number] != copied[number]}
    assert changed <= {*range(96, 104), *range(105, 107)}  # offset of the points, number of records, bytes per point
    old, new = laspy.read(source), laspy.read(source.with_name(f"out{source.suffix}"))
    np.testing.assert_array_equal(new.header.scales, old.header.scales)
    np.testing.assert_array_equal(new.header.offsets, old.header.offsets)
    theirs = next(record for record in new.vlrs if record.user_id == "somebody")
    assert theirs.record_data == b"\1\2\3" * 11
    assert theirs.description == "a record of theirs"
    assert new.point_format.dimension_by_name("amplitude").description == "of the echo"
    own = next(record for record in new.vlrs if (record.user_id, record.record_id) == CLASS_RECORD)
    assert own.record_data.decode().splitlines() == ["class 0 ground", "class 1 tall building", "class 2 tree"]


@pytest.mark.parametrize("kind", ["las-3", "laz-6"])
def test_a_second_time_replaces_the_first(tmp_path: Path, kind: str) -> None:
    first = copy(write_example(tmp_path, kind))
    again = first.rename(first.with_name(f"again{first.suffix}"))
    second = copy(again, labels=2 - LABELS)
    np.testing.assert_array_equal(fields(second)["classification"], 2 - LABELS)
    assert second.stat().st_size <= again.stat().st_size + 100
    old, new = laspy.read(again), laspy.read(second)
    assert list(new.point_format.dimension_names) == list(old.point_format.dimension_names)
    assert len(new.vlrs) == len(old.vlrs)


@pytest.mark.parametrize(
    ("kind", "highest", "room"),
    [("las-3", 31, True), ("las-3", 32, False), ("laz-6", 255, True), ("laz-6", 256, False)],
)
def test_classes_that_the_point_format_cannot_hold(tmp_path: Path, kind: str, highest: int, room: bool) -> None:
    source = write_example(tmp_path, kind)
    labels = np.where(LABELS == 0, highest, 1).astype(np.uint16)
    out = copy(source, {1: "a", highest: "b"}, labels)
    old, new = fields(source), fields(out)
    np.testing.assert_array_equal(new["classification"], labels if room else old["classification"])
    assert ("class" in new) == (not room)
    if not room:
        np.testing.assert_array_equal(new["class"], labels)
        assert f"no room for classes above {highest - 1}" in out.with_suffix(".notes").read_text()
    for name in ("synthetic", "key_point", "withheld"):  # they share a byte with the class in old formats
        np.testing.assert_array_equal(new[name], old[name])


@pytest.mark.parametrize(("source", "target"), [("las-7", ".laz"), ("laz-3", ".las")])
def test_las_and_laz_may_become_each_other(tmp_path: Path, source: str, target: str) -> None:
    path = write_example(tmp_path, source)
    out = copy(path, suffix=target)
    assert laspy.open(out).header.are_points_compressed == (target == ".laz")
    np.testing.assert_array_equal(fields(out)["amplitude"], fields(path)["amplitude"])


@pytest.mark.parametrize(("kind", "has_colours"), [("las-3", True), ("laz-7", True), ("las-6", False)])
def test_coloured(tmp_path: Path, kind: str, has_colours: bool) -> None:
    out = copy(write_example(tmp_path, kind), coloured=True)
    new = fields(out)
    if has_colours:
        colours = np.stack([new["red"], new["green"], new["blue"]], 1)
        np.testing.assert_array_equal(colours, class_colours(LABELS).astype(int) * 257)
    else:
        assert "point format 6 has no colours" in out.with_suffix(".notes").read_text()


def with_extended_record(path: Path, user: str = "somebody", data: bytes = b"\5\6\7" * 50) -> None:
    las = laspy.read(path)
    las.evlrs = laspy.vlrs.vlrlist.VLRList(
        [laspy.VLR(user, 9, "extended", data), laspy.VLR("copc", 1000, "", b"x" * 99)]
    )
    las.vlrs.append(laspy.VLR("copc", 1, "", b"y" * 160))
    las.write(path)


@pytest.mark.parametrize("kind", ["las-6", "laz-6"])
def test_extended_records_stay_and_the_index_of_copc_goes(tmp_path: Path, kind: str) -> None:
    source = write_example(tmp_path, kind)
    with_extended_record(source)
    out = copy(source)
    new = laspy.read(out)
    assert [(record.user_id, record.record_data) for record in new.evlrs] == [("somebody", b"\5\6\7" * 50)]
    assert not [record for record in new.vlrs if record.user_id == "copc"]
    assert "COPC" in out.with_suffix(".notes").read_text()
    np.testing.assert_array_equal(new.classification, LABELS)


@pytest.mark.parametrize("ending", [".las", ".laz"])
def test_bytes_that_nothing_describes_stay(tmp_path: Path, ending: str) -> None:
    source = write_example(tmp_path, "las-3")
    data = bytearray(source.read_bytes())
    place = data.index(b"LASF_Spec")
    data[place : place + 9] = b"Something"  # now no record describes the extra dimension
    source.write_bytes(data)
    new = laspy.read(copy(source, suffix=ending))
    old = laspy.read(write_example(tmp_path, "las-3"))
    np.testing.assert_array_equal(new.classification, LABELS)
    np.testing.assert_array_equal(new.confidence, CONFIDENCE)
    np.testing.assert_array_equal(new.X, old.X)
    assert np.asarray(new.undescribed).astype(np.uint8).tobytes() == np.asarray(old.amplitude).tobytes()


@pytest.mark.parametrize(("count", "message"), [(COUNT - 1, "got 39"), (COUNT + 1, "got more"), (0, "got 0")])
def test_labels_must_be_as_many_as_points(tmp_path: Path, count: int, message: str) -> None:
    source = write_example(tmp_path, "laz-3")

    def write() -> None:
        with LasCopy(source, BytesIO(), NAMES, compress=True) as copied:
            copied.write(np.zeros(count, np.uint8), np.zeros(count, np.float32))
            copied.finish()

    with pytest.raises(DataError, match=message):
        write()


def test_names_of_records_end_at_a_zero_byte(tmp_path: Path) -> None:
    source = write_example(tmp_path, "laz-3")
    data = bytearray(source.read_bytes())
    place = data.index(b"laszip encoded\0\0")
    data[place + 15] = 7
    source.write_bytes(data)
    new = laspy.read(copy(source))
    np.testing.assert_array_equal(new.classification, LABELS)
    assert len([record for record in new.vlrs if record.user_id == "somebody"]) == 1


def test_a_header_that_is_too_short(tmp_path: Path) -> None:
    source = write_example(tmp_path, "las-3")
    data = bytearray(source.read_bytes())
    struct.pack_into("<H", data, 94, 20)
    source.write_bytes(data)
    with pytest.raises(DataError, match="expected a header of 227 bytes or more, got 20"):
        copy(source)


def test_two_records_of_extra_dimensions_become_one(tmp_path: Path) -> None:
    source = write_example(tmp_path, "las-3")
    las = laspy.read(source)
    las.add_extra_dim(laspy.ExtraBytesParams("second", np.uint8))
    las.second = np.arange(COUNT, dtype=np.uint8)
    las.write(source)
    data = bytearray(source.read_bytes())
    place = data.index(b"LASF_Spec") - 2
    both = data[place + 54 : place + 54 + 384]
    head = data[place : place + 54]
    struct.pack_into("<H", head, 20, 192)
    data[place : place + 54 + 384] = head + both[:192] + head + both[192:]
    struct.pack_into(
        "<II", data, 96, struct.unpack_from("<I", data, 96)[0] + 54, struct.unpack_from("<I", data, 100)[0] + 1
    )
    source.write_bytes(data)
    new = laspy.read(copy(source))
    assert list(new.point_format.extra_dimension_names) == ["amplitude", "second", "confidence"]
    np.testing.assert_array_equal(new.second, np.arange(COUNT))
    np.testing.assert_array_equal(new.confidence, CONFIDENCE)


def test_waveforms_behind_the_points_stay(tmp_path: Path) -> None:
    header = laspy.LasHeader(point_format=4, version="1.3")
    las = laspy.LasData(header)
    las.x = las.y = las.z = np.arange(COUNT, dtype=float)
    las.write(tmp_path / "scan.las")
    data = bytearray((tmp_path / "scan.las").read_bytes())
    struct.pack_into("<Q", data, 227, len(data))
    waves = b"waveform" * 9
    (tmp_path / "scan.las").write_bytes(data + waves)
    copied = copy(tmp_path / "scan.las").read_bytes()
    assert copied[struct.unpack_from("<Q", copied, 227)[0] :] == waves
