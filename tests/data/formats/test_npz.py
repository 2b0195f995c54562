"""Archives with false sizes, truncated archives and pickles give a one-line error before memory is allocated."""

import io
import os
import resource
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.formats.npz import array_names, read_array, read_arrays, write_arrays


def npy(shape: tuple[int, ...], body: bytes, descr: str = "<f8") -> bytes:
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    text += b" " * (63 - (10 + len(text)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + body


def archive(path, members: dict[str, bytes], compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def test_round_trip_keeps_types_shapes_and_order(tmp_path):
    arrays = {
        "file": np.arange(6, dtype=np.int16).reshape(2, 3),  # a name that np.savez could not take
        "text": np.array(["a", "é"]),
        "none": np.empty((0, 3), np.float32),
        "scalar": np.array(3.5),
        "flags": np.array([True, False]),
    }
    write_arrays(tmp_path / "a.npz", arrays)
    back = read_arrays(tmp_path / "a.npz")
    assert list(back) == list(arrays) == array_names(tmp_path / "a.npz")
    for name, array in arrays.items():
        assert (back[name].dtype, back[name].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(back[name], array)
    with np.load(tmp_path / "a.npz", allow_pickle=False) as theirs:
        np.testing.assert_array_equal(theirs["text"], arrays["text"])


def test_reads_what_numpy_wrote(tmp_path):
    array = np.asfortranarray(np.random.default_rng(0).normal(size=(4, 3)))
    np.savez_compressed(tmp_path / "c.npz", points=array)
    np.savez(tmp_path / "s.npz", points=array)
    np.save(tmp_path / "a.npy", array)
    for read in (
        read_arrays(tmp_path / "c.npz")["points"],
        read_arrays(tmp_path / "s.npz", names=["points"])["points"],
        read_array(tmp_path / "a.npy"),
    ):
        np.testing.assert_array_equal(read, array)


def test_equal_arrays_give_equal_bytes(tmp_path):
    for name in ("one.npz", "two.npz"):
        write_arrays(tmp_path / name, {"points": np.arange(30)})
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


LIES = {
    "a shape of terabytes": npy((10**12, 3), b"\0" * 24),
    "a shape that overflows": npy((2**62, 4), b"\0" * 24),
    "negative sides": npy((-1, -3), b"\0" * 24),
    "fewer than there are": npy((1, 2), b"\0" * 24),
    "text of no width": npy((10**12,), b"", "<U0"),
    "objects": npy((1,), b"\x80\x04N.", "|O"),
    "records": npy((1,), b"\0" * 8, "[('a', '<f8')]"),
    "a header that is code": b"\x93NUMPY\x01\x00" + struct.pack("<H", 20) + b"__import__('os')    ",
    "no header": b"hello",
    "nothing": b"",
    "an unknown version": b"\x93NUMPY\x09\x00" + b"\0" * 80,
}


@pytest.mark.parametrize("lie", LIES)
def test_lying_header_is_refused(tmp_path, lie):
    archive(tmp_path / "lie.npz", {"points.npy": LIES[lie]})
    (tmp_path / "lie.npy").write_bytes(LIES[lie])
    for path, read in ((tmp_path / "lie.npz", read_arrays), (tmp_path / "lie.npy", read_array)):
        with pytest.raises(DataError) as error:
            read(path)
        assert str(path) in str(error.value)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip at all" * 100, b"PK\x05\x06" + b"\0" * 18])
def test_no_archive(tmp_path, content):
    (tmp_path / "bad.npz").write_bytes(content)
    if content.startswith(b"PK\x05"):  # a valid archive of nothing
        assert read_arrays(tmp_path / "bad.npz") == {}
    else:
        with pytest.raises(DataError, match=r"bad\.npz: "):
            read_arrays(tmp_path / "bad.npz")


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9, 0.999])
def test_truncated_archive(tmp_path, keep):
    write_arrays(tmp_path / "whole.npz", {"points": np.random.default_rng(0).integers(0, 99, (100, 3))})
    data = (tmp_path / "whole.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(data[: int(len(data) * keep)])
    with pytest.raises(DataError, match=r"cut\.npz: "):
        read_arrays(tmp_path / "cut.npz")


def test_damaged_bytes_fail_the_checksum(tmp_path):
    archive(tmp_path / "a.npz", {"points.npy": npy((3,), b"\1" * 24)}, zipfile.ZIP_STORED)
    data = (tmp_path / "a.npz").read_bytes().replace(b"\1" * 24, b"\1" * 23 + b"\2")
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(DataError, match=r"a\.npz: .*CRC"):
        read_arrays(tmp_path / "a.npz")


def test_two_members_of_one_name(tmp_path):
    with zipfile.ZipFile(tmp_path / "two.npz", "w") as file:
        file.writestr("points.npy", npy((1,), b"\0" * 8))
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("points.npy", npy((1,), b"\0" * 8))
    with pytest.raises(DataError, match="two arrays have the same name"):
        read_arrays(tmp_path / "two.npz")


def test_member_that_is_no_array(tmp_path):
    archive(tmp_path / "a.npz", {"points.npy": npy((1,), b"\0" * 8), "run.py": b"print()"})
    with pytest.raises(DataError, match=r"'run\.py', which is not an array"):
        read_arrays(tmp_path / "a.npz")


def test_bomb_is_refused_before_memory_is_spent(tmp_path):
    size = 2**28 + 2**20
    with (
        zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as file,
        file.open("points.npy", "w") as member,
    ):
        member.write(npy((size // 8,), b""))
        for _ in range(size // 2**20):
            member.write(bytes(2**20))
    assert os.path.getsize(tmp_path / "bomb.npz") < 2**20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataError, match=r"bomb\.npz: claims to unpack from \d+ to \d+ bytes"):
        read_arrays(tmp_path / "bomb.npz")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kilobytes


def test_directory_that_understates_its_members(tmp_path):
    """The sizes in the archive's directory may be false too; we never inflate more than they say."""
    path = archive(tmp_path / "a.npz", {"points.npy": npy((1000,), b"\0" * 8000)})
    data = path.read_bytes()
    real = struct.pack("<I", 8000 + 128)
    assert data.count(real) == 2
    path.write_bytes(data.replace(real, struct.pack("<I", 128 + 80)))
    with pytest.raises(DataError, match=r"a\.npz: damaged file"):
        read_arrays(path)


def test_only_the_named_arrays_are_looked_at(tmp_path):
    archive(tmp_path / "a.npz", {"points.npy": npy((1,), b"\0" * 8), "other.npy": LIES["objects"]})
    assert list(read_arrays(tmp_path / "a.npz", names=["points"])) == ["points"]


class Interrupted(Exception):
    pass


def test_failure_while_writing_leaves_the_old_file(tmp_path):
    class Failing(dict):
        def items(self):
            yield "one", np.arange(100_000)
            raise Interrupted

    write_arrays(tmp_path / "a.npz", {"points": np.arange(3)})
    with pytest.raises(Interrupted):
        write_arrays(tmp_path / "a.npz", Failing())
    assert os.listdir(tmp_path) == ["a.npz"]
    np.testing.assert_array_equal(read_arrays(tmp_path / "a.npz")["points"], np.arange(3))


def test_killed_while_writing_leaves_the_old_file(tmp_path):
    write_arrays(tmp_path / "a.npz", {"points": np.arange(3)})
    program = """
import os, signal, sys
import numpy as np
from sampled_transformer.data.formats.npz import write_arrays
class Killing(dict):
    def items(self):
        yield "one", np.random.default_rng(0).integers(0, 2**31, 1_000_000)
        os.kill(os.getpid(), signal.SIGKILL)
write_arrays(sys.argv[1], Killing())
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "a.npz")], check=False)
    assert done.returncode == -9
    np.testing.assert_array_equal(read_arrays(tmp_path / "a.npz")["points"], np.arange(3))


def test_cannot_write_names_the_file(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"a\.npz: cannot write"):
        write_arrays(tmp_path / "file" / "a.npz", {"points": np.arange(3)})


def test_a_pickle_in_disguise_does_not_run(tmp_path, capfd):
    class Loud:
        def __reduce__(self):
            return (os.system, ("echo it ran",))

    buffer = io.BytesIO()
    np.save(buffer, np.array([Loud()], dtype=object), allow_pickle=True)
    archive(tmp_path / "a.npz", {"points.npy": buffer.getvalue()})
    with pytest.raises(DataError, match="not accepted"):
        read_arrays(tmp_path / "a.npz")
    assert "it ran" not in capfd.readouterr().out


def with_header(text: bytes, body: bytes = b"", version: tuple[int, int] = (2, 0)) -> bytes:
    width = 2 if version == (1, 0) else 4
    return np.lib.format.magic(*version) + len(text).to_bytes(width, "little") + text + body


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr': '<f8', 'fortran_order': False, 'shape': " + b"(" * 5000 + b")" * 5000 + b"}",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': " + b"-" * 9000 + b"1}",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (True,)}",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (1.0,)}",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': '\xff'}",
        b"{'descr': [('a', '<f8')] * 10, 'fortran_order': False, 'shape': (1,)}",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"9" * 5000 + b",)}",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"1," * 1000 + b")}",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (0, " + b"9" * 30 + b")}",
        b"'unfinished",
        b'"""',
        b"",
        b" " * 20_000,
        b"\x00" * 50,
    ],
)
def test_hostile_headers_end_in_one_line(tmp_path, header):
    for version in ((1, 0), (2, 0)):
        (tmp_path / "a.npy").write_bytes(with_header(header, b"\0" * 8, version))
        with pytest.raises(DataError) as error:
            read_array(tmp_path / "a.npy")
        assert str(error.value).startswith(f"{tmp_path}")
        assert len(str(error.value)) < 500 + len(str(tmp_path))
        assert "memory" not in str(error.value)  # of which none of them needs much


def test_a_header_that_claims_to_be_long_is_not_read(tmp_path):
    (tmp_path / "a.npy").write_bytes(np.lib.format.magic(2, 0) + b"\xff\xff\xff\xff" + b" " * 100)
    with pytest.raises(DataError, match="expected a header of at most 10,000 bytes, got more"):
        read_array(tmp_path / "a.npy")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(tmp_path, method):
    with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as archive:
        archive.writestr("a.npy", b"anything")
    with pytest.raises(DataError, match="expected an array stored or deflated, got another method"):
        read_arrays(tmp_path / "a.npz")


def test_too_many_members_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for number in range(1001):
            archive.writestr(f"{number}.npy", b"")
    with pytest.raises(DataError, match="expected at most 1,000 arrays, got 1,001"):
        read_arrays(tmp_path / "a.npz")


def test_text_that_holds_no_letters_is_refused(tmp_path):
    """numpy would end in a SystemError as soon as anybody reads it."""
    for order in "<>":
        body = np.full(3, 0x7FFFFFFF, f"{order}u4").tobytes()
        archive(tmp_path / "a.npz", {"names.npy": npy((1,), body, f"{order}U3")})
        with pytest.raises(DataError, match="'names': expected text, got numbers that are no letters"):
            read_arrays(tmp_path / "a.npz")
    write_arrays(tmp_path / "b.npz", {"names": np.array(["\U0010ffff", "ä", ""])})
    assert read_arrays(tmp_path / "b.npz")["names"].tolist() == ["\U0010ffff", "ä", ""]
