"""Files are corrupted as named, and the three ways to ask see the same ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch

from sampled_transformer.inference.answering import Question
from sampled_transformer_lab.strange_files import LEVELS, corrupted, right, unfamiliar_strangers


def test_points_of_each_file() -> None:
    points = torch.randn(3, 200, 3)
    files = corrupted(points, "points", 64, torch.Generator().manual_seed(0))
    assert [cloud.shape for cloud in files] == [(64, 3)] * 3
    clean = corrupted(points, "clean", 0, torch.Generator())
    assert np.isin(files[0], clean[0]).all()
    half = corrupted(points, "half_space", 0.5, torch.Generator().manual_seed(0))
    assert len(np.unique(half[0], axis=0)) == 100


def test_the_share_of_right_answers(tmp_path) -> None:
    generator = np.random.default_rng(0)
    for number in range(3):
        np.save(tmp_path / f"{number}.npy", generator.normal(size=(300, 3)).astype(np.float32))
    question = Question("modelnet40-robust")
    found = right(question, str(tmp_path), ["no such class"] * 3)
    assert found["accuracy"] == 0
    assert found["unfamiliar"] == 1  # noise


def test_strangers_of_every_kind() -> None:
    ways = {"alone": Question("modelnet40-robust")}
    rows = unfamiliar_strangers(np.random.default_rng(0).normal(size=(3, 200, 3)), ways, 2)
    assert (rows[0]["kind"], rows[0]["alone"]) == ("Gaussian noise", 1)
    assert len(rows) > 5


def test_the_kept_file_has_every_row() -> None:
    rows = json.loads((Path(__file__).parents[2] / "results/predict/files.json").read_text("utf-8"))["rows"]
    assert [(row["corruption"], row["severity"]) for row in rows] == [
        (name, severity) for name, levels in LEVELS.items() for severity in levels
    ]
