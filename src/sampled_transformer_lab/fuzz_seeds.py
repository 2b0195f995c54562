"""Small valid files of every kind that the program reads, made by trimesh, laspy, h5py and our own writers."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sampled_transformer.clustering.files import read_points
from sampled_transformer.data import Pack, read_pack, write_pack
from sampled_transformer.data.errors import DataError
from sampled_transformer.data.files import READERS, read_shape
from sampled_transformer.data.formats.hdf5 import read_hdf5
from sampled_transformer.data.name_lists import read_names
from sampled_transformer.data.scans import FORMATS, read_scan
from sampled_transformer.data.sources.fewshot import import_fold
from sampled_transformer.data.sources.modelnet_layouts import CLASSES, read_dat_file, read_six_columns
from sampled_transformer.data.targets import read_targets
from sampled_transformer.data.text_tables import read_table
from sampled_transformer.support.trees import write_yaml
from sampled_transformer.training.recipes import read_recipe

POINTS = 24


class Kind(NamedTuple):
    """A kind of file: how its name ends, how it is read, and what else than a DataError may refuse it."""

    suffix: str
    read: Callable[[Path], Any]
    error: type[Exception] = DataError


def _read_shape(path: Path) -> Any:
    return read_shape(path, points=64, normals="estimate")


def _read_scan(path: Path) -> Any:
    return read_scan(path)


def _read_weights(path: Path) -> Any:
    """All that `weights info` and `load` read."""
    from sampled_transformer.inference.card import facts
    from sampled_transformer.inference.trained_network import load

    trained = load(path, "cpu")
    facts(trained.description, str(path))
    return trained.view, trained.target, trained.temperature, trained.familiarity


def _read_settings(path: Path) -> Any:
    from sampled_transformer.support.trees import check_tree, fields_of, read_file
    from sampled_transformer.training.settings import Settings

    return check_tree(fields_of(Settings), read_file(path), where=str(path))


def _read_dat(path: Path) -> Any:
    return read_dat_file(path, CLASSES["modelnet10"], None, 0)


def _installed(suffix: str) -> bool:
    needed = {".las": "laspy", ".laz": "lazrs", ".pcd": "pypcd4"}
    return suffix not in needed or find_spec(needed[suffix]) is not None


KINDS: Mapping[str, Kind] = {
    **{suffix[1:]: Kind(suffix, _read_shape) for suffix in READERS if _installed(suffix)},
    **{f"scan{suffix[1:]}": Kind(suffix, _read_scan) for suffix in FORMATS if _installed(suffix)},
    "pack": Kind(".npz", read_pack),
    "h5": Kind(".h5", lambda path: read_hdf5(path, 4)),
    "fold": Kind(".pkl", import_fold),
    "weights": Kind(".safetensors", _read_weights),
    "dat": Kind(".dat", _read_dat),
    "table": Kind(".txt", lambda path: read_table(path, "x y z r g b")),
    "resampled": Kind(".txt", read_six_columns),
    "names": Kind(".json", read_names),
    "targets": Kind(".csv", read_targets),
    "points": Kind(".csv", lambda path: read_points(path, 2)),
    "settings": Kind(".yaml", _read_settings, ValueError),
}


def make_seeds(folder: Path) -> dict[str, list[bytes]]:
    """Valid files of every kind, as bytes; `folder` is used while they are made."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    cloud = random.uniform(-1, 1, (POINTS, 3)).astype(np.float32)
    seeds: dict[str, list[bytes]] = {kind: [] for kind in KINDS}
    _meshes(seeds)
    _clouds(seeds, cloud, folder)
    _sets(seeds, random, folder)
    _weights(seeds, folder)
    _scans(seeds, cloud)
    _published(seeds, cloud)
    seeds["settings"] = [write_yaml(read_recipe(name)).encode() for name in ("basic-sampled", "pyramid-rotary")]
    seeds["settings"].append(b"data: &d {source: bricks, points: 64}\nepochs: 2\noptions: {dim: 16}\nseed: 3\n")
    return {kind: found for kind, found in seeds.items() if found}


def _meshes(seeds: dict[str, list[bytes]]) -> None:
    import trimesh

    for solid in (trimesh.creation.box(), trimesh.creation.icosphere(subdivisions=1)):
        for kind in ("off", "ply", "obj", "stl", "glb"):
            seeds[kind].append(_bytes(solid.export(file_type=kind)))
        seeds["ply"].append(_bytes(solid.export(file_type="ply", encoding="ascii")))
        seeds["stl"].append(_bytes(solid.export(file_type="stl_ascii")))
        scene = solid.scene()
        files = scene.export(file_type="gltf", embed_buffers=True)
        seeds["gltf"].append(_bytes(files["model.gltf"]))
    coloured = trimesh.creation.box()
    coloured.visual.vertex_colors = np.full((8, 4), 200, np.uint8)
    seeds["ply"].append(_bytes(coloured.export(file_type="ply")))
    seeds["obj"].append(b"mtllib a.mtl\no box\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 1\nusemtl red\nf 1/1/1 2 3\nf 2 3 4\n")


def _bytes(data: Any) -> bytes:
    return data.encode() if isinstance(data, str) else bytes(data)


def _clouds(seeds: dict[str, list[bytes]], cloud: np.ndarray, folder: Path) -> None:
    rows = [" ".join(f"{value:.5f}" for value in row) for row in cloud]
    text = "\n".join(rows).encode()
    for kind in ("xyz", "txt"):
        seeds[kind].append(text)
    seeds["pts"].append(f"{POINTS}\n".encode() + text)
    seeds["csv"].append(b"x,y,z\n" + text.replace(b" ", b","))
    for array in (cloud, cloud.astype(np.float64)[:, ::-1], (cloud * 100).astype(np.int16)):
        file = io.BytesIO()
        np.save(file, array)
        seeds["npy"].append(file.getvalue())
    for save in (np.savez, np.savez_compressed):
        file = io.BytesIO()
        save(file, points=cloud, normals=cloud)
        seeds["npz"].append(file.getvalue())
    fields = "VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\n"
    head = f"{fields}WIDTH {POINTS}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {POINTS}\nDATA "
    if "pcd" in seeds:
        seeds["pcd"] += [f"{head}ascii\n".encode() + text, f"{head}binary\n".encode() + cloud.tobytes()]
    for kind in ("las", "laz"):
        if kind in seeds:
            seeds[kind] += [_las(cloud, folder / f"a.{kind}", form) for form in (0, 3, 6)]


def _las(cloud: np.ndarray, path: Path, form: int) -> bytes:
    import laspy

    header = laspy.LasHeader(point_format=form, version="1.4" if form > 5 else "1.2")
    header.scales, header.offsets = [0.001] * 3, [0.0] * 3
    file = laspy.LasData(header)
    file.x, file.y, file.z = cloud.T.astype(np.float64)
    file.write(str(path))
    return path.read_bytes()


def _scans(seeds: dict[str, list[bytes]], cloud: np.ndarray) -> None:
    """Clouds with labels and features; formats whose shapes are clouds already begin with those."""
    rows = "\n".join(" ".join(f"{value:.4f}" for value in row) + f" {row[0] + 1:.3f} 1" for row in cloud)
    named = f"x y z intensity label\n{rows}\n".encode()
    properties = "".join(f"property float {name}\n" for name in ("x", "y", "z", "intensity"))
    head = f"ply\nformat {{}} 1.0\ncomment class 1 wall\nelement vertex {POINTS}\n{properties}property uchar label\n"
    head += "end_header\n"
    table = np.zeros(POINTS, [(name, "<f4") for name in "xyzi"] + [("label", "u1")])
    for place, name in enumerate("xyz"):
        table[name] = cloud[:, place]
    packed = io.BytesIO()
    np.savez_compressed(packed, points=cloud, labels=np.arange(POINTS), intensity=cloud[:, 0])
    structured = io.BytesIO()
    np.save(structured, table)
    vertices = "".join(f"v {x} {y} {z}\n" for x, y, z in cloud.tolist()).encode()
    own = {
        "ply": [
            head.format("ascii").encode() + rows.encode(),
            head.format("binary_little_endian").encode() + bytes(table),
        ],
        "npz": [packed.getvalue()],
        "npy": [structured.getvalue()],
        "bin": [np.hstack([cloud, cloud[:, :1]]).astype("<f4").tobytes()],
        "obj": [vertices],
        "off": [f"OFF\n{POINTS} 0 0\n".encode() + vertices.replace(b"v ", b"")],
        **{kind: [named] for kind in ("xyz", "txt", "pts")},
        "csv": [named.replace(b" ", b",")],
    }
    for kind in seeds:
        suffix = kind.removeprefix("scan")
        if kind != suffix:
            seeds[kind] += own.get(suffix) or seeds[suffix]


def _sets(seeds: dict[str, list[bytes]], random: np.random.Generator, folder: Path) -> None:
    import h5py

    clouds = random.uniform(-1, 1, (4, POINTS, 3)).astype(np.float32)
    ragged = [clouds[0], clouds[1][:10], clouds[2][:3]]
    packs = [
        Pack.from_arrays(list(clouds), labels=[0, 1, 2, 3], names=list("abcd"), classes=list("wxyz")),
        Pack.from_arrays(ragged, labels=[0.5, 1.5, 2.5], normals=ragged),
    ]
    for pack in packs:
        write_pack(pack, folder / "pack.npz")
        seeds["pack"].append((folder / "pack.npz").read_bytes())
    for compression in (None, "gzip"):
        with h5py.File(folder / "a.h5", "w") as file:
            file.create_dataset("data", data=clouds, compression=compression)
            file.create_dataset("label", data=np.arange(4)[:, None], compression=compression)
        seeds["h5"].append((folder / "a.h5").read_bytes())
    items = [(cloud, number % 2, f"shape {number}") for number, cloud in enumerate(clouds)]
    fold = {"train": items, "test": items[:2]}
    seeds["fold"] = [pickle.dumps(fold, protocol) for protocol in (0, 2, 4, 5)]


def _published(seeds: dict[str, list[bytes]], cloud: np.ndarray) -> None:
    """Files as public data sets have them, and tables of numbers."""
    both = np.hstack([cloud, cloud])
    seeds["dat"] = [pickle.dumps([[both, both[::-1]], [0, 9]], protocol) for protocol in (0, 2, 4)]
    colours = np.arange(3 * POINTS).reshape(POINTS, 3)
    for kind, table, form in (
        ("table", np.hstack([cloud, colours]), "%.3f"),
        ("resampled", both, "%.6f"),
        ("resampled", both, "%.9e"),
        ("points", cloud[:, :2], "%.5f"),
    ):
        text = io.BytesIO()
        np.savetxt(text, table, fmt=form, delimiter=" " if kind == "table" else ",")
        seeds[kind].append(text.getvalue())
    seeds["points"].append(b"x;y\n" + seeds["points"][0].replace(b",", b";"))
    seeds["names"] = [json.dumps([f"shape_data/02691156/{number}" for number in range(9)]).encode()]
    seeds["targets"] = [b"file,volume\na.off,0.5\nb/c.ply,-2e3\n", b"mass;Name\n1.5;a.off\n2;b.off\n"]


def _weights(seeds: dict[str, list[bytes]], folder: Path) -> None:
    import torch

    from sampled_transformer.models import create_model
    from sampled_transformer.weights import Description, save_model

    for name, options in (
        ("basic", {"classes": 2, "dim": 8, "heads": 2, "hidden": 8, "embedding": 4, "normals": False}),
        ("set-transformer", {"classes": 2, "dim": 8, "heads": 2, "depth": 1}),
    ):
        torch.manual_seed(0)
        notes = {
            "data": {"points": 64, "preset": "none", "source": "bricks", "up": "z"},
            "figures": {"test_accuracy": 0.5},
            "calibration": {"temperature": 1.5, "shapes": 10},
        }
        described = Description(name, json.loads(json.dumps(options)), ["a", "b"], notes)
        save_model(create_model(name, **options), folder / "model.safetensors", described)
        seeds["weights"].append((folder / "model.safetensors").read_bytes())
