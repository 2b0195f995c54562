"""Small data and runs that the tests of several commands share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.cli import main
from sampled_transformer.data import Pack, write_pack

OFF = "OFF\n4 4 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 2 1\n3 0 1 3\n3 0 3 2\n3 1 2 3\n"
ENCODER = {"dim": 16, "heads": 2, "hidden": 16, "depth": 1, "embedding": 8, "groups": 8, "group_size": 8}


@pytest.fixture
def shapes(tmp_path: Path) -> Path:
    """A folder of flat and of tall tetrahedra."""
    for category, height in (("low", "0.1"), ("high", "9")):
        for number in range(6):
            path = tmp_path / "shapes" / category / f"{number}.off"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(OFF.replace("0 0 1", f"0 0 {height}"))
    return tmp_path / "shapes"


@pytest.fixture(scope="session")
def clouds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pack of needles and balls."""
    folder = tmp_path_factory.mktemp("clouds")
    for split, each in (("train", 12), ("test", 6)):
        generator = np.random.default_rng(each)
        labels = np.arange(2 * each) % 2
        points = generator.normal(size=(2 * each, 40, 3)) * np.array([[0.05, 0.05, 1], [1, 1, 1]])[labels][:, None]
        write_pack(Pack.from_arrays(points, labels=labels, classes=("needle", "ball")), folder / f"{split}.npz")
    return folder


@pytest.fixture(scope="session")
def cloud_options(clouds: Path) -> list[str]:
    """The words that train on these clouds, on the processor."""
    return ["--data", str(clouds), "--data.points", "32", "--data.batch", "8", "--trainer.accelerator", "cpu"]


@pytest.fixture(scope="session")
def encoder_options() -> list[str]:
    return [word for name, value in ENCODER.items() for word in (f"--options.{name}", str(value))]


@pytest.fixture(scope="session")
def pretrained(tmp_path_factory: pytest.TempPathFactory, cloud_options: list[str], encoder_options: list[str]) -> Path:
    """The folder of a short pre-training."""
    out = tmp_path_factory.mktemp("pretrained") / "pre"
    words = ["pretrain", *cloud_options, "--recipe", "pretrain-dense", "--out", str(out), "--epochs", "1"]
    assert main([*words, *encoder_options, "--optimiser.warmup", "0", "--probe_every", "0"]) == 0
    return out


@pytest.fixture(scope="session")
def classifier(tmp_path_factory: pytest.TempPathFactory, cloud_options: list[str]) -> Path:
    """The folder of a short training."""
    out = tmp_path_factory.mktemp("classifier") / "run"
    words = ["train", *cloud_options, "--recipe", "basic-sampled", "--out", str(out), "--epochs", "1"]
    assert main([*words, "--options.dim", "16", "--options.hidden", "16"]) == 0
    return out


@pytest.fixture(scope="session")
def clusterer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a short training of clustering."""
    pytest.importorskip("sklearn")
    out = tmp_path_factory.mktemp("clusterer") / "run"
    small = ["--options.dim", "8", "--options.heads", "2", "--data.points", "[10, 20]", "--batch", "2", "--sets", "10"]
    assert main(["cluster", "train", "--out", str(out), *small, "--steps", "4", "--every", "2"]) == 0
    return out
