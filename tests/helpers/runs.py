"""What tests of trainings look at in the folder of a run."""

from __future__ import annotations

import csv
from pathlib import Path

import torch

from sampled_transformer.weights import load_model


def rows(folder: str | Path) -> list[dict[str, str]]:
    """The table of figures."""
    with open(Path(folder, "metrics.csv"), newline="") as file:
        return list(csv.DictReader(file))


def weights(folder: str | Path, name: str = "model.safetensors") -> dict[str, torch.Tensor]:
    """The tensors of the trained network."""
    return load_model(Path(folder, name))[0].state_dict()


def same(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> bool:
    """Whether two networks have the same tensors, to the bit."""
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)
