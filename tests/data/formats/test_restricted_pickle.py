import os
import pickle
import pickletools
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.formats.restricted_pickle import read_arrays_pickle
from sampled_transformer.data.guard import guarded
from sampled_transformer.support.limits import Limits
from sampled_transformer.support.memory import CAN_LIMIT

# What Python 2.7 with numpy 1.13 writes (protocol 2) for {'a': float32 [[1, 2]], 'b': float64(3), 'k': 'n\xe4'}.
PYTHON_2 = (
    b"\x80\x02}q\x00(U\x01aq\x01cnumpy.core.multiarray\n_reconstruct\nq\x02cnumpy\nndarray\nq\x03K\x00\x85q\x04U\x01bq"
    b"\x05\x87q\x06Rq\x07(K\x01K\x01K\x02\x86q\x08cnumpy\ndtype\nq\tU\x02f4q\nK\x00K\x01\x87q\x0bRq\x0c(K\x03U\x01<q\r"
    b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tq\x0eb\x89U\x08\x00\x00\x80?\x00\x00\x00@q\x0ftq\x10bU\x01bq\x11"
    b"cnumpy.core.multiarray\nscalar\nq\x12h\tU\x02f8q\x13K\x00K\x01\x87q\x14Rq\x15(K\x03U\x01<q\x16NNNJ\xff\xff\xff"
    b"\xffJ\xff\xff\xff\xffK\x00tq\x17bU\x08\x00\x00\x00\x00\x00\x00\x08@q\x18\x86q\x19Rq\x1aU\x01kq\x1bU\x02n\xe4u."
)


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol(tmp_path: Path, protocol: int) -> None:
    arrays = [
        np.arange(24, dtype=np.float32).reshape(4, 6),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array([1, 2], ">i4"),
        np.zeros((0, 3)),
        np.array(True),
    ]
    content = {"arrays": arrays, "pair": (np.int64(7), 3, 2.5, "text", None, b"bytes")}
    result = read_arrays_pickle(write(tmp_path / "a.pkl", pickle.dumps(content, protocol)))
    for array, found in zip(arrays, result["arrays"], strict=True):
        assert found.dtype == array.dtype
        assert np.array_equal(found, array)
    assert result["pair"] == content["pair"]


@pytest.mark.parametrize("core", ["core", "_core"])
def test_modules_of_old_and_new_numpy(tmp_path: Path, core: str) -> None:
    data = pickle.dumps(np.arange(3), 2).replace(b"numpy._core", b"numpy.core")
    data = data.replace(b"numpy.core", f"numpy.{core}".encode())
    assert read_arrays_pickle(write(tmp_path / "a.pkl", data)).tolist() == [0, 1, 2]


def test_python_2_file(tmp_path: Path) -> None:
    result = read_arrays_pickle(write(tmp_path / "a.pkl", PYTHON_2))
    assert result["a"].dtype == np.float32
    assert result["a"].tolist() == [[1, 2]]
    assert result["b"] == 3
    assert result["k"] == "nä"


class Attack:
    def __init__(self, function: object, *arguments: object) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple:
        return self.call


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("function", [os.mkdir, eval, exec, open, getattr, np.load, np.save, np.loadtxt])
def test_no_code_runs(tmp_path: Path, function: object, protocol: int) -> None:
    target = tmp_path / "attacked"
    argument = f"__import__('os').mkdir({str(target)!r})" if function in (eval, exec) else str(target)
    more = ("w",) if function is open else (np.ones(2),) if function is np.save else ()
    path = write(tmp_path / "a.pkl", pickle.dumps({"train": [Attack(function, argument, *more)]}, protocol))
    with pytest.raises(DataError, match=r"a\.pkl: refused to load [\w.]+; a pickle may contain numeric") as caught:
        read_arrays_pickle(path)
    assert "\n" not in str(caught.value)
    assert sorted(tmp_path.iterdir()) == [path]


DAMAGED = {
    "empty": (b"", "expected 1 to 1,073,741,824 bytes, got 0"),
    "text": (b"these are no opcodes", "not a readable pickle"),
    "truncated": (pickle.dumps(np.ones(100))[:-50], "not a readable pickle"),
    "array of objects": (pickle.dumps(np.array([{}])), "array type: expected numbers, got object"),
    "array of text": (pickle.dumps(np.array(["a"])), "array type: expected numbers, got <U1"),
    "memo of 64 GB": (b"\x80\x02]r\xff\xff\xff\xff.", "memo index 4294967295"),
    "text that grows": (b"c_codecs\nencode\n(S'ab'\nS'hex'\ntR.", "codec: expected latin1, got 'hex'"),
    "claims 4 EB": (b"\x80\x04\x8e" + (1 << 62).to_bytes(8, "little") + b"abc.", "not a readable pickle"),
    "claims 1 TB to be filled": (b"\x80\x05\x96" + (1 << 40).to_bytes(8, "little") + b"abc.", "not a readable pickle"),
    "attribute of a function": (b"cnumpy.core.multiarray\n_reconstruct\n}S'__code__'\nI1\nsb.", "not a readable"),
    "allocating by hand": (b"cnumpy\nndarray\n(I1000000000000\ntR.", "not a readable pickle"),
    "object without its constructor": (b"cnumpy\nndarray\n(t\x81.", "not a readable pickle"),
    "dotted name": (b"\x80\x04\x8c\x05numpy\x8c\x0dndarray.dumps\x93.", "refused to load numpy.ndarray.dumps"),
    "list in itself": (b"\x80\x02]q\x00h\x00a.", "nested too deeply"),
    "persistent object": (b"Pname\n.", "not a readable pickle"),
}


@pytest.mark.parametrize(("data", "message"), DAMAGED.values(), ids=DAMAGED)
def test_damaged_files(tmp_path: Path, data: bytes, message: str) -> None:
    path = write(tmp_path / "a.pkl", data)
    with pytest.raises(DataError, match=message) as caught:
        read_arrays_pickle(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("shape", [(3, 10**9), (-1, 3), (2, 2)])
def test_shape_that_does_not_fit_the_bytes(tmp_path: Path, shape: tuple[int, ...]) -> None:
    honest = pickle.dumps(np.arange(6, dtype=np.uint8).reshape(2, 3), 2)
    opcodes = list(pickletools.genops(honest))
    place = next(i for i, (code, value, _) in enumerate(opcodes) if code.name == "BININT1" and value == 2)
    start, end = opcodes[place][2], opcodes[place + 2][2]
    lie = b"".join(b"J" + side.to_bytes(4, "little", signed=True) for side in shape)
    with pytest.raises(DataError, match=r"expected [-\d,]+ bytes, got 6 bytes"):
        read_arrays_pickle(write(tmp_path / "a.pkl", honest[:start] + lie + honest[end:]))


def test_one_list_many_times_takes_no_time(tmp_path: Path) -> None:
    # 200,000 references to a list of 200,000 references: 4e10 items if each were visited.
    inner = b"(" + b"K\x01" * 200_000 + b"l" + b"q\x00"
    path = write(tmp_path / "a.pkl", b"\x80\x02" + inner + b"0(" + b"h\x00" * 200_000 + b"l.")
    assert len(read_arrays_pickle(path)) == 200_000


def test_files_that_are_too_large_or_missing(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pkl", pickle.dumps(np.ones(100)))
    with pytest.raises(DataError, match="expected 1 to 100 bytes"):
        read_arrays_pickle(path, maximum=100)
    with pytest.raises(DataError, match=r"b\.pkl: cannot be read \(No such file"):
        read_arrays_pickle(tmp_path / "b.pkl")
    with pytest.raises(DataError, match="cannot be read"):
        read_arrays_pickle(tmp_path)


@pytest.mark.skipif(not CAN_LIMIT, reason="memory is limited on Linux")
def test_a_pickle_is_read_within_its_limits(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pkl", pickle.dumps([np.ones(4_000_000)]))
    with (
        guarded(Limits(memory=0.02)),
        pytest.raises(DataError, match=r"a\.pkl: cannot be read \(reading it takes more than 0\.02 GB"),
    ):
        read_arrays_pickle(path)
    with guarded(Limits(memory=1.0)):
        assert np.array_equal(read_arrays_pickle(path)[0], np.ones(4_000_000))


@pytest.mark.parametrize(
    "data",
    [b"\x80\x02cnumpy\ndtype\n.", b"\x80\x02cnumpy\ndtype\nX\x02\x00\x00\x00f8\x85R.", b"\x80\x02]cnumpy\nndarray\na."],
)
def test_what_stands_in_for_numpy_does_not_come_out(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(DataError, match=r"a\.pkl: expected numbers, text and arrays, got _"):
        read_arrays_pickle(write(tmp_path / "a.pkl", data))


def doubled(levels: int) -> bytes:
    """Opcodes for a tuple of two tuples of two tuples: its hash and its text take 2^levels steps."""
    return b"\x80\x02(K\x01K\x02t" + b"2\x86" * levels


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x80\x02}" + doubled(60)[2:] + b"K\x01s.", "name in a dict: expected text or a number, got tuple"),
        (b"\x80\x02}(" + doubled(60)[2:] + b"K\x01u.", "name in a dict: expected text or a number, got tuple"),
        (b"\x80\x02(" + doubled(60)[2:] + b"K\x01d.", "name in a dict: expected text or a number, got tuple"),
        (b"\x80\x04\x8f(" + doubled(60)[2:] + b"\x90.", "refused to load a set"),
        (b"\x80\x04(" + doubled(60)[2:] + b"\x91.", "refused to load a set"),
        (b"\x80\x02]K\x01K\x02s.", "names and values for something that is no dict"),
        (
            b"\x80\x02c_codecs\nencode\n(X\x01\x00\x00\x00a" + doubled(60)[2:] + b"tR.",
            "codec: expected latin1, got tuple",
        ),
        (b"\x80\x02cnumpy\ndtype\n(" + doubled(60)[2:] + b"tR.", "array type: expected its code, got tuple"),
        (b"\x80\x02" + b"N0" * 600_000 + b"N.", "expected at most 1,000,000 opcodes"),
        (doubled(60) + b".", "nested too deeply"),
    ],
)
def test_exponential_values_are_refused_at_once(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "a.pkl").write_bytes(data)
    with pytest.raises(DataError, match=message) as error:
        read_arrays_pickle(tmp_path / "a.pkl")
    assert len(str(error.value)) < 500 + len(str(tmp_path))
