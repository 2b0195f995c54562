"""Read numpy arrays from a pickle without running any code that the pickle names.

A pickle is a program that may call anything it can import. Here it can only reach stand-ins for the few functions that
numpy's own pickles call. The stand-ins build arrays from bytes and do nothing else, and we check every size that the
file claims against the bytes it has. A few bytes can also describe a tuple of tuples whose hash takes years: names in
dicts must be plain, there are no sets, and values in errors are cut.
"""

from __future__ import annotations

import math
import mmap
import os
import pickle
import pickletools
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...support.printable import brief, printable
from ..errors import DataError
from ..guard import read_file
from ..limits import reason_of, too_much_memory

MAXIMUM_BYTES = 1 << 30
MOST_OPCODES = 1_000_000  # two seconds of reading; a fold of 400 shapes has 12,000
SETS = {"EMPTY_SET", "ADDITEMS", "FROZENSET"}
PLAIN = (str, bytes, int, float, bool, type(None))  # what may name a value in a dict


def read_arrays_pickle(path: str | Path, maximum: int = MAXIMUM_BYTES) -> Any:
    """Read the pickle at `path`. It may contain numbers, strings, lists, tuples, dicts and numeric arrays.

    All pickle protocols work, including files written by Python 2 or an old numpy. Anything else is a DataError.
    """
    return read_file(_read_arrays_pickle, Path(path), maximum)


def _read_arrays_pickle(path: Path, maximum: int) -> Any:
    name = printable(path)
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if not 0 < size <= maximum:
                raise DataError(f"expected 1 to {maximum:,} bytes, got {size:,}")
            # However much the pickle asks to read, a memory map returns at most what the file has.
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                _check_opcodes(data)
                data.seek(0)
                return _plain(_ArrayUnpickler(data, encoding="latin1").load(), 4, {})
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    except OSError as error:
        raise DataError(f"{name}: cannot be read ({reason_of(error)})") from None
    except MemoryError:
        raise DataError(f"{name}: {too_much_memory()}") from None
    except Exception as error:  # the opcodes of a broken file can raise anything
        reason = brief(str(error), 200) if len(error.args) == 1 and isinstance(error.args[0], str) else ""
        said = f"{type(error).__name__}: {reason}" if reason else type(error).__name__
        raise DataError(f"{name}: not a readable pickle of arrays ({said})") from None


def _check_opcodes(data: mmap.mmap) -> None:
    """Refuse what no pickle of arrays has, before anything is built.

    The unpickler allocates up to the highest memo index, perhaps 64 GB. Sets compute the hash of all they hold.
    """
    for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):  # type: ignore[arg-type]
        if opcode.name in {"PUT", "BINPUT", "LONG_BINPUT"} and int(argument or 0) > count:
            raise DataError(f"not a pickle written by Python: memo index {argument} after {count} opcodes")
        if opcode.name in SETS:
            raise DataError("refused to load a set; a pickle may contain numeric numpy arrays only")
        if count >= MOST_OPCODES:
            raise DataError(f"expected at most {MOST_OPCODES:,} opcodes, got more")


class _ArrayUnpickler(pickle._Unpickler):
    """Python's unpickler written in Python: the one in C offers no place to look at the names in a dict."""

    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            found = brief(f"{module}.{name}")
            raise DataError(f"refused to load {found}; a pickle may contain numeric numpy arrays only")
        return _ALLOWED[module, name]

    def load_dict(self) -> None:
        items = self.pop_mark()  # type: ignore[attr-defined]
        self.append(_filled({}, items))  # type: ignore[attr-defined]

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()  # type: ignore[attr-defined]
        _filled(self.stack[-1], [key, value])  # type: ignore[attr-defined]

    def load_setitems(self) -> None:
        items = self.pop_mark()  # type: ignore[attr-defined]
        _filled(self.stack[-1], items)  # type: ignore[attr-defined]


for _opcode, _method in ((pickle.DICT, "dict"), (pickle.SETITEM, "setitem"), (pickle.SETITEMS, "setitems")):
    _ArrayUnpickler.dispatch[_opcode[0]] = getattr(_ArrayUnpickler, f"load_{_method}")


def _filled(target: Any, items: list[Any]) -> Any:
    """The dict with further names and values, which follow each other in `items`."""
    if not isinstance(target, dict):
        raise DataError("not a pickle of arrays: names and values for something that is no dict")
    for key, value in zip(items[::2], items[1::2], strict=True):
        if not isinstance(key, PLAIN):
            raise DataError(f"name in a dict: expected text or a number, got {type(key).__name__}")
        target[key] = value
    return target


# The stand-ins have slots, and the pickle only gets instances, so a BUILD opcode cannot set attributes on them.
class _Dtype:
    """Stands in for numpy.dtype."""

    __slots__ = ("value",)

    def __init__(self, code: object) -> None:
        if not isinstance(code, str):
            raise DataError(f"array type: expected its code, got {type(code).__name__}")
        self.value = np.dtype(code)
        if self.value.kind not in "fiub":
            raise DataError(f"array type: expected numbers, got {self.value}")

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if state[1] not in ("<", ">", "=", "|"):
            raise DataError(f"byte order: expected '<' or '>', got {shown(state[1])}")
        self.value = self.value.newbyteorder(state[1])


class _Array:
    """Stands in for numpy.ndarray."""

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
        return _Array()  # the BUILD opcode that follows fills it in


class _MakeFromBuffer:
    __slots__ = ()

    def __call__(self, data: Any, dtype: Any, shape: Any, order: Any) -> _Array:
        return _Array(_from_bytes(data, dtype, shape, "F" if order == "F" else "C"))


class _MakeScalar:
    __slots__ = ()

    def __call__(self, dtype: Any, data: Any) -> _Array:
        return _Array(_from_bytes(data, dtype, (), "C")[()])


class _Encode:
    """Stands in for `_codecs.encode`, which protocols 0 to 2 use for bytes. Other codecs could expand without limit."""

    __slots__ = ()

    def __call__(self, text: object, codec: object = "latin1") -> bytes:
        if not isinstance(text, str) or codec not in ("latin1", "latin-1", "iso-8859-1"):
            raise DataError(f"codec: expected latin1, got {shown(codec)}")
        return text.encode("latin1")


class _EmptyBytes:
    """Stands in for `bytes()`, which protocols 0 to 2 use for empty bytes."""

    __slots__ = ()

    def __call__(self) -> bytes:
        return b""


def shown(value: object) -> str:
    """Text for an error: a nested value could be longer than any memory, and Python writes no longer numbers."""
    if isinstance(value, str):
        return repr(brief(value))
    short = value is None or isinstance(value, float | np.generic)
    return repr(value) if short or (isinstance(value, int) and abs(value) < 2**64) else type(value).__name__


class _Nothing:
    """Stands in for names that a pickle mentions but never calls."""

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
        raise DataError("array type: expected numbers, got no type")
    if isinstance(data, str):  # Python 2 had one type for text and bytes
        data = data.encode("latin1")
    shape = tuple(int(length) for length in shape)
    expected = math.prod(shape) * dtype.value.itemsize
    if min(shape, default=0) < 0 or not isinstance(data, bytes | bytearray) or len(data) != expected:
        found = f"{len(data):,} bytes" if isinstance(data, bytes | bytearray) else type(data).__name__
        raise DataError(f"array of shape {shape}: expected {expected:,} bytes, got {found}")
    return np.frombuffer(data, dtype.value).reshape(shape, order=order)


def whole_number(value: Any) -> int | None:
    """The number that a value of a pickle stands for, which may be an array of one number; None for anything else.

    Not np.size of whatever it is: a list of lists of lists may stand for more numbers than any memory holds.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer | np.ndarray) or np.size(value) != 1:
        return None
    number = np.asarray(value)
    return int(number.item()) if number.dtype.kind in "iu" else None


def check_shared(arrays: int, path: Path, where: str) -> None:
    """Raise a DataError if arrays have more bytes than their file: a small one may name one array a million times."""
    if arrays > path.stat().st_size:
        raise DataError(f"{where}: expected arrays of at most the size of the file, got more")


def _plain(value: Any, depth: int, seen: dict[int, Any]) -> Any:
    """Replace the stand-ins in a loaded object by real arrays."""
    if isinstance(value, _Array):
        return value.value
    if isinstance(value, PLAIN):
        return value
    if not isinstance(value, dict | list | tuple):
        raise DataError(f"expected numbers, text and arrays, got {type(value).__name__}")
    if id(value) in seen:  # a small file may refer to one list a million times
        return seen[id(value)]
    if depth == 0:
        raise DataError("nested too deeply for lists of arrays")
    if isinstance(value, dict):
        plain: Any = {key: _plain(item, depth - 1, seen) for key, item in value.items()}
    else:
        plain = type(value)(_plain(item, depth - 1, seen) for item in value)
    seen[id(value)] = plain
    return plain
