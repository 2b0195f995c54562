"""The bytes of a .safetensors file: its header in a fixed order, and a digest of its tensors.

A file is the length of its header (8 bytes, little-endian), the header (JSON: per tensor its type, shape and place, and
the metadata), and the tensors.
"""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

METADATA = "__metadata__"


def in_fixed_order(data: bytes) -> bytes:
    """The same file with its metadata sorted by name: the library writes them in an order of its own every time."""
    header, begin = _header(data)
    metadata = header.pop(METADATA, None)
    ordered = ({METADATA: dict(sorted(metadata.items()))} if metadata else {}) | header
    text = json.dumps(ordered, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    text += b" " * (-len(text) % 8)  # tensors begin at a multiple of eight bytes
    return struct.pack("<Q", len(text)) + text + data[begin:]


def tensor_digest(path: str | Path, beside: str = "beside.") -> str:
    """A SHA-256 of the network in a weights file: names, types, shapes and values of its tensors, and its description.

    Notes and tensors whose names begin with `beside` do not count, so that a file with further notes has the digest of
    the same weights without them.
    """
    data = Path(path).read_bytes()
    header, begin = _header(data)
    metadata = header.pop(METADATA, {})
    known = {name: metadata.get(name) for name in ("model", "options", "classes")}
    found = hashlib.sha256(json.dumps(known, sort_keys=True).encode())
    for name, one in sorted(header.items()):
        if not name.startswith(beside):
            first, last = one["data_offsets"]
            found.update(json.dumps([name, one["dtype"], one["shape"]]).encode())
            found.update(memoryview(data)[begin + first : begin + last])
    return found.hexdigest()


def _header(data: bytes) -> tuple[dict[str, Any], int]:
    """The header of a whole file, and where its tensors begin."""
    (length,) = struct.unpack("<Q", data[:8])
    header: dict[str, Any] = json.loads(data[8 : 8 + length])
    return header, 8 + length
