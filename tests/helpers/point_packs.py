"""Small sets whose points have labels that a small network learns in seconds: the lower half and the upper half."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from sampled_transformer.data import Pack, write_pack
from sampled_transformer.models import create_model
from sampled_transformer.training.segment_settings import LossOptions, PointDataOptions, SegmentSettings
from sampled_transformer.training.settings import OptimiserOptions, TrainerOptions
from sampled_transformer.weights import Description, save_model

CLASSES = ("low", "high")
SMALL: dict[str, Any] = {"widths": [8, 16], "neighbours": 8}


def halves(sets: int, points: int = 64, seed: int = 0, ragged: bool = False, **more: Any) -> Pack:
    """Points in a box; those above the middle are `high`. Colour says it, too; intensity says nothing."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(points // 2, points + 1, sets) if ragged else np.full(sets, points)
    clouds = [generator.uniform(-1, 1, (size, 3)) for size in sizes]
    labels = [(cloud[:, 2] > 0).astype(np.int16) for cloud in clouds]
    normals = [np.where(cloud[:, 2:] > 0, 1.0, -1.0) * [[0.0, 0.0, 1.0]] for cloud in clouds]
    features = {
        "colour": [np.repeat(one[:, None], 3, 1).astype(np.float32) for one in labels],
        "intensity": [generator.uniform(0, 1000, size).astype(np.float32) for size in sizes],
    }
    own = {"normals": normals, "point_labels": labels, "point_classes": CLASSES, "features": features, "up": "z"}
    return Pack.from_arrays(clouds, **{**own, **more})


def write_halves(folder: Path, train: int = 12, test: int = 4, **options: Any) -> Path:
    """A pack with both splits."""
    folder.mkdir(parents=True, exist_ok=True)
    write_pack(halves(train, seed=0, **options), folder / "train.npz")
    write_pack(halves(test, seed=1, **options), folder / "test.npz")
    return folder


def settings(pack: Path, out: Path, epochs: int = 6, **more: Any) -> SegmentSettings:
    """A training of a few seconds."""
    data = PointDataOptions(str(pack), batch=4, **more.pop("data", {}))
    loss = LossOptions(**more.pop("loss", {}))
    optimiser = OptimiserOptions(rate=1e-2, label_smoothing=0.0, clip=1.0)
    own = {"options": SMALL, "trainer": TrainerOptions("cpu"), "optimiser": optimiser, "loss": loss}
    return SegmentSettings(data, str(out), epochs=epochs, **{**own, **more})


def save_segmenter(path: Path, view: dict[str, Any] | None = None, **options: Any) -> Path:
    """New weights of a small segmenter, which are the same in every call."""
    given = {"classes": len(CLASSES), "attention": "none", **SMALL, **options}
    torch.manual_seed(0)
    network = create_model("segmenter", **given)
    for module in network.modules():  # batch statistics that change something
        if isinstance(module, torch.nn.BatchNorm1d):
            module.running_mean.uniform_(-0.1, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    notes = {"data": {"points": 64, "part": "subset", "size": "unit", "up": "z", **(view or {})}}
    save_model(network, path, Description("segmenter", given, CLASSES, notes))
    return path
