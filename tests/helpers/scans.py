"""One small scan in every format and encoding, with intensity, colour and labels where the format has room."""

from __future__ import annotations

from pathlib import Path

import laspy
import numpy as np
from pypcd4 import Encoding, PointCloud

COUNT = 40
CLASSES = ("ground", "tall building", "tree")
_RANDOM = np.random.default_rng(0)
POINTS = _RANDOM.uniform((500_000, 4_000_000, 0), (500_050, 4_000_050, 9), (COUNT, 3)).round(3)
INTENSITY = _RANDOM.integers(0, 2000, COUNT)
COLOUR = _RANDOM.integers(0, 256, (COUNT, 3))
LABELS = _RANDOM.integers(0, 20, COUNT)
NORMALS = _RANDOM.normal(size=(COUNT, 3))
NORMALS /= np.linalg.norm(NORMALS, axis=1, keepdims=True)

PLY = ("ply-ascii", "ply-little", "ply-big")
PCD = ("pcd-ascii", "pcd-binary", "pcd-compressed")
LAS = tuple(f"{ending}-{kind}" for ending in ("las", "laz") for kind in (0, 3, 6, 7))
TEXT = ("txt-unnamed", "txt-comment", "csv-heading", "csv-semicolons")
ENDINGS = (*PLY, *PCD, *LAS, *TEXT, "npz", "npy-table", "npy-structured")


def write_example(folder: Path, kind: str) -> Path:
    """Write the scan in one of ENDINGS; returns its file."""
    ending, _, variant = kind.partition("-")
    path = folder / f"scan.{ending}"
    write = {"ply": _ply, "pcd": _pcd, "las": _las, "laz": _las, "txt": _text, "csv": _text, "npz": _npz, "npy": _npy}
    write[ending](path, variant)
    return path


def _ply(path: Path, variant: str) -> None:
    encoding = {"ascii": "ascii", "little": "binary_little_endian", "big": "binary_big_endian"}[variant]
    order = ">" if variant == "big" else "<"
    kinds = [("x", "f8"), ("y", "f8"), ("z", "f8"), ("nx", "f4"), ("ny", "f4"), ("nz", "f4")]
    kinds += [("red", "u1"), ("green", "u1"), ("blue", "u1"), ("scalar_Intensity", "f4"), ("label", "i4")]
    names = {"f8": "double", "f4": "float", "u1": "uchar", "i4": "int"}
    header = ["ply", f"format {encoding} 1.0", "comment made by a test", f"element vertex {COUNT}"]
    header += [f"property {names[kind]} {name}" for name, kind in kinds] + ["end_header", ""]
    table = np.hstack([POINTS, NORMALS, COLOUR, INTENSITY[:, None], LABELS[:, None]])
    rows = np.empty(COUNT, [(name, order + kind) for name, kind in kinds])
    for (name, _), values in zip(kinds, table.T, strict=True):
        rows[name] = values
    if variant == "ascii":
        body = "".join(" ".join(map(str, row)) + "\n" for row in rows.tolist()).encode()
    else:
        body = rows.tobytes()
    path.write_bytes("\n".join(header).encode() + body)


def _pcd(path: Path, variant: str) -> None:
    packed = (COLOUR @ [1 << 16, 1 << 8, 1]).astype(np.uint32).view(np.float32)
    columns = [*(POINTS - POINTS.mean(0)).astype(np.float32).T, *NORMALS.astype(np.float32).T, packed]
    columns += [INTENSITY.astype(np.float32), LABELS.astype(np.uint32)]
    names = ["x", "y", "z", "normal_x", "normal_y", "normal_z", "rgb", "intensity", "label"]
    cloud = PointCloud.from_points(columns, names, [column.dtype for column in columns])
    cloud.save(path, Encoding({"compressed": "binary_compressed"}.get(variant, variant)))
    if variant == "ascii":  # pypcd4 writes ten decimals, which is nothing of a packed colour
        words = [column.astype(str) for column in columns]
        body = "".join(" ".join(row) + "\n" for row in zip(*words, strict=True))
        path.write_bytes(path.read_bytes().partition(b"DATA ascii\n")[0] + b"DATA ascii\n" + body.encode())


def _las(path: Path, variant: str) -> None:
    header = laspy.LasHeader(point_format=int(variant), version="1.4" if int(variant) > 5 else "1.2")
    header.offsets, header.scales = POINTS.min(0).round(), [0.001] * 3
    header.add_extra_dim(laspy.ExtraBytesParams("amplitude", np.float32, "of the echo"))
    header.vlrs.append(laspy.VLR("somebody", 42, "a record of theirs", b"\1\2\3" * 11))
    las = laspy.LasData(header)
    las.x, las.y, las.z = POINTS.T
    las.intensity, las.classification, las.amplitude = INTENSITY, LABELS, INTENSITY / 7
    las.return_number, las.number_of_returns = LABELS % 3 + 1, np.full(COUNT, 4)
    las.synthetic, las.withheld = LABELS % 2, LABELS % 3 == 0
    if variant in "37":
        las.red, las.green, las.blue = COLOUR.T * 257
    las.write(path)


def _text(path: Path, variant: str) -> None:
    table = np.column_stack([POINTS, INTENSITY, COLOUR, LABELS])
    gap = {".csv": "," if variant == "heading" else ";"}.get(path.suffix, " ")
    lines = [gap.join(map(str, row)) for row in table.tolist()]
    if variant == "comment":
        lines = ["# scanned in May", "//X Y Z Intensity R G B Label", *lines, "# the end"]
    elif variant == "heading":
        lines.insert(0, "x,y,z,intensity,red,green,blue,label")
    elif variant == "semicolons":
        lines = ["X;Y;Z;Intensity;Red;Green;Blue;Label", *(line.replace(".", ",") for line in lines)]
    path.write_bytes("".join(line + "\r\n" for line in lines).encode())


def _npz(path: Path, _variant: str) -> None:
    arrays = {"points": POINTS, "normals": NORMALS, "intensity": INTENSITY, "colours": COLOUR.astype(np.uint8)}
    np.savez(path, **arrays, labels=LABELS, site=np.array("north"))


def _npy(path: Path, variant: str) -> None:
    if variant == "table":
        np.save(path, np.column_stack([POINTS, INTENSITY]))
        return
    kinds = [("x", "f8"), ("y", "f8"), ("z", "f8"), ("intensity", "u2"), ("label", "u1")]
    rows = [tuple(row) for row in np.column_stack([POINTS, INTENSITY, LABELS]).tolist()]
    np.save(path, np.array(rows, kinds))
