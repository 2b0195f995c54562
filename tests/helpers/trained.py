"""Small weights files of every kind of network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from sampled_transformer.models import create_model
from sampled_transformer.weights import Description, save_model

CLASSES = ("needle", "disc", "ball")
POINTS = 32  # that each of them reads
GROUPS = {"dim": 16, "heads": 2, "hidden": 16, "depth": 2, "embedding": 8, "groups": 8, "group_size": 8}
HIERARCHY = {"stages": 2, "widths": [8, 16], "neighbours": [4, 4], "strides": [1, 4], "blocks": [1, 1]}
BASIC = {"dim": 16, "heads": 2, "hidden": 16, "embedding": 8}
COLUMNS = {"inducing": 4, "reading": "columns", "kept": 2}
# name: model, preset, options
KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "basic": ("basic", "bricks", {**BASIC, "depth": 2}),
    "basic-positions": ("basic", "bricks", {**BASIC, "normals": False}),
    "basic-dense": ("basic", "bricks", {**BASIC, "attention": "dense"}),
    "basic-none": ("basic", "bricks", {**BASIC, "attention": "none"}),
    "hierarchical": ("hierarchical", "finetune-modelnet40", HIERARCHY),
    "mae": ("mae", "pretrain", GROUPS),
    "mae-classifier": ("mae-classifier", "finetune-modelnet40", GROUPS),
    "mae-class-token": ("mae-classifier", "finetune-modelnet40", {**GROUPS, "pooling": "cls-max"}),
    "set-transformer": ("set-transformer", "set-transformer", {"dim": 16, "heads": 2}),
    "set-transformer-columns": (
        "set-transformer",
        "set-transformer",
        {"dim": 16, "heads": 2, "attention_options": COLUMNS},
    ),
}
CLASSIFIERS = [name for name in KINDS if name != "mae"]


def save_small(path: Path, kind: str = "basic", classes: tuple[str, ...] = CLASSES, **options: Any) -> Path:
    """Write new weights of a kind, which are the same in every call."""
    model, preset, own = KINDS[kind]
    given = {**own, **options} if model == "mae" else {"classes": len(CLASSES), **own, **options}
    torch.manual_seed(0)
    network = create_model(model, **given)
    for module in network.modules():  # batch statistics that change something
        if isinstance(module, torch.nn.BatchNorm1d):
            module.running_mean.uniform_(-0.1, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    notes = {"data": {"preset": preset, "points": POINTS, "source": "shapes"}}
    save_model(network, path, Description(model, given, classes, notes))
    return path
