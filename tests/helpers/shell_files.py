"""The files that the shell lines of the documentation speak of, small enough that the lines take seconds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from shutil import copyfile

import numpy as np

from helpers.point_packs import halves, save_segmenter
from helpers.scans import write_example
from sampled_transformer.cli import main
from sampled_transformer.data import Pack, write_pack

CLASSES = ("ball", "box", "disc", "needle", "slab")


def mesh(path: Path, height: float = 1.0) -> None:
    """A closed mesh in the format of the file's name."""
    import trimesh

    path.parent.mkdir(parents=True, exist_ok=True)
    trimesh.creation.box((1.0, 2.0, height)).export(path)


def my_shapes(folder: Path) -> None:
    for category, height in (("bolt", 5.0), ("nut", 0.3)):
        for number in range(10):
            mesh(folder / category / f"{number}.stl", height * (1 + number / 20))


def shapes(folder: Path) -> None:
    for number in range(3):
        mesh(folder / f"{number}.off", 1 + number)


def my_pack(folder: Path) -> None:
    """Five kinds of clouds with normals, enough of each for few-shot runs."""
    folder.mkdir(parents=True)
    scales = np.array([[1, 1, 1], [1, 0.8, 0.6], [1, 1, 0.1], [0.1, 0.1, 1], [1, 0.3, 0.1]])
    for split, each in (("train", 8), ("test", 6)):
        generator, labels = np.random.default_rng(each), np.repeat(np.arange(5), each)
        directions = generator.normal(size=(len(labels), 1024, 3))
        directions /= np.linalg.norm(directions, axis=2, keepdims=True)
        clouds = directions * scales[labels][:, None]
        pack = Pack.from_arrays(clouds, labels=labels, classes=CLASSES, normals=directions, up="z")
        write_pack(pack, folder / f"{split}.npz")


def packed(folder: Path) -> None:
    my_shapes(folder.parent / "shapes-of-packed")
    words = ["data", "pack", str(folder.parent / "shapes-of-packed"), str(folder), "--points", "64"]
    assert main(words) == 0


def run(folder: Path) -> None:
    """The folder of a short training."""
    packed(folder.with_name("packed-before"))
    words = ["train", "--data", str(folder.with_name("packed-before")), "--recipe", "basic-sampled"]
    words += ["--epochs", "1", "--data.points", "32", "--options.dim", "16", "--options.hidden", "16"]
    assert main([*words, "--out", str(folder)]) == 0


def site(folder: Path) -> None:
    """New weights of a network of scenes that reads intensity."""
    folder.mkdir(parents=True)
    save_segmenter(folder / "model.safetensors", {"part": "crop", "size": "kept"}, features={"intensity": 1})


def my_scans(folder: Path) -> None:
    """Labelled scans with the one feature that scans have everywhere."""
    for split, sets in (("train", 6), ("test", 2)):
        pack = halves(sets, seed=sets)
        (folder / split).mkdir(parents=True)
        for number in range(sets):
            own = [pack.features["intensity"][number], pack.point_labels[number]]
            rows = np.column_stack([pack.coordinates(number), *own])
            np.savetxt(
                folder / split / f"{number}.csv", rows, delimiter=",", header="x,y,z,intensity,label", comments=""
            )


def scan(path: Path) -> None:
    write_example(path.parent, {".las": "las-3", ".ply": "ply-ascii"}[path.suffix]).rename(path)


def scans(folder: Path) -> None:
    for number in range(2):
        (folder / f"{number}").mkdir(parents=True)
        write_example(folder / f"{number}", "las-3")
        write_example(folder / f"{number}", "laz-3")


def list_of_shapes(path: Path) -> None:
    shapes(path.with_name("listed"))
    path.write_text("".join(f"{one}\n" for one in sorted(path.with_name("listed").rglob("*.off"))))


def table(path: Path) -> None:
    """Heaps in the plane or, for a cloud, in space."""
    width = 3 if path.stem == "cloud" else 2
    heaps = np.array([[0, 0, 0], [9, 1, 5], [4, 8, 2]])[:, None, :width]
    points = (heaps + np.random.default_rng(0).normal(size=(3, 20, width))).reshape(-1, width)
    np.savetxt(path, points, delimiter=",", header=",".join("abc"[:width]), comments="")


def columns(path: Path) -> None:
    np.savetxt(path, np.random.default_rng(0).uniform(0, 9, (60, 4)))


def targets(path: Path) -> None:
    rows = [f"{kind}/{number}.stl,{0.3 + number / 100}" for kind in ("bolt", "nut") for number in range(10)]
    path.write_text("\n".join(["file,drag", *rows, ""]))


def shipped(path: Path) -> None:
    from sampled_transformer.weights import find_weights

    copyfile(find_weights("bricks"), path)


MAKERS: dict[str, Callable[[Path], None]] = {  # by the name in a line; a page's own lines come before these
    "chair.off": mesh,
    "chair.obj": mesh,
    "part.stl": mesh,
    "new_part.stl": mesh,
    "car.stl": mesh,
    "shapes": shapes,
    "more": lambda folder: mesh(folder / "one.stl"),
    "my_shapes": my_shapes,
    "my_pack": my_pack,
    "my-scans": my_scans,
    "packed": packed,
    "targets.csv": targets,
    "points.csv": table,
    "cloud.csv": table,
    "points.txt": columns,
    "scan.las": scan,
    "part.ply": scan,
    "scans": scans,
    "@shapes.txt": list_of_shapes,
    "old.safetensors": shipped,
    "runs/mine": run,
    "runs/site": site,
}
