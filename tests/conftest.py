"""Small data sets that can be learnt: needles, discs and balls, and the heights of ellipsoids."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from helpers.numbers import write_ellipsoids

from sampled_transformer.data import Pack, write_pack

os.environ["HF_HUB_OFFLINE"] = "1"  # no test touches the network
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a script: no program would hear Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)

CLASSES = ("needle", "disc", "ball")
FLATNESS = np.array([[0.05, 0.05, 1.0], [1.0, 1.0, 0.05], [1.0, 1.0, 1.0]])


def _make_pack(each: int, seed: int, points: int = 48, normals: bool = True) -> Pack:
    generator = np.random.default_rng(seed)
    labels = np.repeat(np.arange(3), each)
    directions = generator.normal(size=(len(labels), points, 3))
    directions /= np.linalg.norm(directions, axis=2, keepdims=True)
    clouds = directions * FLATNESS[labels][:, None]
    return Pack.from_arrays(
        clouds,
        labels=labels,
        names=[f"{CLASSES[label]}-{number}" for number, label in enumerate(labels)],
        classes=CLASSES,
        normals=directions if normals else None,
    )


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, for commands that write into `runs` below it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def make_pack() -> Callable[..., Pack]:
    return _make_pack


@pytest.fixture
def pack_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "pack"
    folder.mkdir()
    write_pack(_make_pack(11, 0), folder / "train.npz")
    write_pack(_make_pack(5, 1), folder / "test.npz")
    return folder


@pytest.fixture(scope="session")
def numbers_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack whose labels are numbers."""
    return write_ellipsoids(tmp_path_factory.mktemp("numbers") / "pack")


@pytest.fixture(scope="session")
def regressor(numbers_folder: Path) -> Path:
    """The folder of a short training on numbers."""
    from sampled_transformer.training.run import train
    from sampled_transformer.training.settings import DataOptions, Settings, TrainerOptions

    out = numbers_folder.parent / "run"
    small = {"dim": 32, "heads": 4, "hidden": 32, "embedding": 16}
    data = DataOptions(str(numbers_folder), points=32, batch=8)
    train(Settings(data, str(out), options=small, epochs=20, trainer=TrainerOptions("cpu")))
    return out


@pytest.fixture(scope="session")
def halves_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack whose points have labels, low and high."""
    from helpers.point_packs import write_halves

    return write_halves(tmp_path_factory.mktemp("halves") / "pack")


@pytest.fixture(scope="session")
def segmenter(halves_folder: Path) -> Path:
    """The folder of a short training on labels per point."""
    from helpers.point_packs import settings

    from sampled_transformer.training.segment import segment

    out = halves_folder.parent / "run"
    segment(settings(halves_folder, out, epochs=16, data={"missing": 0.3}))
    return out
