"""Numpy arrays out of a pickle, without ever running what the pickle names.

A pickle is a program that may call anything it can import. Here the only names it can reach are stand-ins for the few
functions that numpy's own pickles call; the stand-ins build arrays from bytes and do nothing else, and everything
a file declares is checked against the bytes that are there.
"""

from __future__ import annotations

import math
import mmap
import os
import pickle
import pickletools
from pathlib import Path
from typing import Any

import numpy as np

from ...support.printable import printable
from ..errors import DataError

MAXIMUM_BYTES = 1 << 30


def read_arrays_pickle(path: str | Path, maximum: int = MAXIMUM_BYTES) -> Any:
    """The object in the pickle at `path`: numbers, texts, lists, tuples, dicts and numeric arrays, nothing else.

    Reads every protocol, also files that Python 2 or an old numpy wrote. Raises DataError for anything else.
    """
    name = printable(path)
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if not 0 < size <= maximum:
                raise DataError(f"{size:,} bytes, expected 1 to {maximum:,}")
            # A map answers read(n) with what is there, whatever n a file asks for.
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                _check_memo(data)
                data.seek(0)
                return _plain(_ArrayUnpickler(data, encoding="latin1").load(), 4, {})
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    except OSError as error:
        raise DataError(f"{name}: cannot be read ({error.strerror or error})") from None
    except Exception as error:  # the opcodes of a broken file can fail in any way at all
        raise DataError(f"{name}: not a readable pickle of arrays ({type(error).__name__}: {error})") from None


def _check_memo(data: mmap.mmap) -> None:
    # The unpickler allocates its memo up to the highest index a file names: one opcode could ask for 64 GB.
    for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):  # type: ignore[arg-type]
        if opcode.name in {"PUT", "BINPUT", "LONG_BINPUT"} and int(argument or 0) > count:
            raise DataError(f"memo index {argument} after {count} opcodes, expected a pickle written by Python")


class _ArrayUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise DataError(f"refused to load {module}.{name}: only numeric numpy arrays are read from a pickle")
        return _ALLOWED[module, name]


# The classes have slots, and the pickle gets only instances: a BUILD opcode finds no attribute to set on them.
class _Dtype:
    __slots__ = ("value",)

    def __init__(self, code: object) -> None:
        self.value = np.dtype(str(code))
        if self.value.kind not in "fiub":
            raise DataError(f"refused an array of type {self.value}: expected numbers")

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if state[1] not in ("<", ">", "=", "|"):
            raise DataError(f"byte order {state[1]!r}, expected '<' or '>'")
        self.value = self.value.newbyteorder(state[1])


class _Array:
    __slots__ = ("value",)

    def __init__(self, value: np.ndarray | np.generic | None = None) -> None:
        self.value = value

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _version, shape, dtype, fortran, data = state
        self.value = _from_bytes(data, dtype, shape, "F" if fortran else "C")


class _MakeDtype:
    __slots__ = ()

    def __call__(self, code: object, *_align_and_copy: object) -> _Dtype:
        return _Dtype(code)


class _MakeArray:
    __slots__ = ()

    def __call__(self, *_type_shape_code: object) -> _Array:
        return _Array()  # filled by the BUILD opcode that follows in every pickled array


class _MakeFromBuffer:
    __slots__ = ()

    def __call__(self, data: Any, dtype: Any, shape: Any, order: Any) -> _Array:
        return _Array(_from_bytes(data, dtype, shape, "F" if order == "F" else "C"))


class _MakeScalar:
    __slots__ = ()

    def __call__(self, dtype: Any, data: Any) -> _Array:
        return _Array(_from_bytes(data, dtype, (), "C")[()])


class _Encode:
    """`_codecs.encode`, through which protocols 0 to 2 carry bytes; other codecs could grow a text without end."""

    __slots__ = ()

    def __call__(self, text: object, codec: object = "latin1") -> bytes:
        if not isinstance(text, str) or codec not in ("latin1", "latin-1", "iso-8859-1"):
            raise DataError(f"refused to encode with {codec!r}: expected latin1")
        return text.encode("latin1")


class _EmptyBytes:
    """`bytes()`, which is how protocols 0 to 2 write no bytes at all."""

    __slots__ = ()

    def __call__(self) -> bytes:
        return b""


class _Nothing:
    __slots__ = ()


_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "dtype"): _MakeDtype(),
    ("numpy", "ndarray"): _Nothing(),
    ("_codecs", "encode"): _Encode(),
    ("__builtin__", "bytes"): _EmptyBytes(),
}
for _core in ("numpy.core", "numpy._core"):
    _ALLOWED[f"{_core}.multiarray", "_reconstruct"] = _MakeArray()
    _ALLOWED[f"{_core}.multiarray", "scalar"] = _MakeScalar()
    _ALLOWED[f"{_core}.numeric", "_frombuffer"] = _MakeFromBuffer()


def _from_bytes(data: Any, dtype: Any, shape: Any, order: Any) -> np.ndarray:
    if not isinstance(dtype, _Dtype):
        raise DataError("an array without a numeric type")
    if isinstance(data, str):  # Python 2 had one type for texts and bytes
        data = data.encode("latin1")
    shape = tuple(int(length) for length in shape)
    expected = math.prod(shape) * dtype.value.itemsize
    if min(shape, default=0) < 0 or not isinstance(data, bytes | bytearray) or len(data) != expected:
        found = f"{len(data):,} bytes" if isinstance(data, bytes | bytearray) else type(data).__name__
        raise DataError(f"an array of shape {shape} needs {expected:,} bytes, found {found}")
    return np.frombuffer(data, dtype.value).reshape(shape, order=order)


def _plain(value: Any, depth: int, seen: dict[int, Any]) -> Any:
    """The loaded object with arrays in place of their stand-ins."""
    if isinstance(value, _Array):
        return value.value
    if not isinstance(value, dict | list | tuple):
        return value
    if id(value) in seen:  # a small file may hold one list a million times over
        return seen[id(value)]
    if depth == 0:
        raise DataError("nested too deeply for lists of arrays")
    if isinstance(value, dict):
        plain: Any = {key: _plain(item, depth - 1, seen) for key, item in value.items()}
    else:
        plain = type(value)(_plain(item, depth - 1, seen) for item in value)
    seen[id(value)] = plain
    return plain
