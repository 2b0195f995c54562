"""What the weights `brick-parts` are worth on parts without normals, and whether estimated normals help.

`python -m sampled_transformer_lab.without_normals` labels the test parts in the package with the true normals, with
none, and with normals that are estimated from the neighbours, and writes results/segment/without-normals.json. A plane
through neighbours has two sides: "estimated" takes the one away from the middle of the part, as `--normals estimate`
does elsewhere, and "sided" the true one, which nobody knows outside of a test.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

WEIGHTS = "brick-parts"


def compare(parts: int | None = None) -> dict[str, Any]:
    """Mean IoU and the share of right points for every kind of normals; `parts` limits the test parts."""
    from sampled_transformer.data.normals import estimate_normals
    from sampled_transformer.data.quantise import NORMAL_SCALE, POINT_SCALE
    from sampled_transformer.inference.segment_evaluation import measure
    from sampled_transformer.inference.segmentation import point_view_of
    from sampled_transformer.training.point_loading import load_point_split
    from sampled_transformer.weights import find_weights, load_model

    network, description = load_model(find_weights(WEIGHTS), torch.device("cpu"))
    view = point_view_of(description, WEIGHTS)
    pack = load_point_split(WEIGHTS, None, "test")
    pack = pack if parts is None else pack.select(range(parts))
    assert pack.normals is not None
    true = pack.normals / NORMAL_SCALE
    estimated = np.stack([estimate_normals(one, one) for one in pack.points / POINT_SCALE])
    agree = (estimated * true).sum(2, keepdims=True)
    sided = np.where(agree < 0, -estimated, estimated)
    stored = {name: np.rint(NORMAL_SCALE * one).astype(np.int8) for name, one in (("e", estimated), ("s", sided))}
    kinds = {
        "true": (pack, ()),
        "none": (pack, ("normals",)),
        "estimated": (replace(pack, normals=stored["e"]), ()),
        "sided": (replace(pack, normals=stored["s"]), ()),
    }
    found = {name: measure(network, one, view, 1, without, 16) for name, (one, without) in kinds.items()}
    return {
        "command": "python -m sampled_transformer_lab.without_normals",
        "weights": WEIGHTS,
        "parts": len(pack),
        "points": int(pack.counts().sum()),
        "same_side": float((agree > 0).mean()),
        "within_20_degrees": float((np.abs(agree) > np.cos(np.radians(20))).mean()),
        "normals": {name: {key: one[key] for key in ("mean_iou", "accuracy")} for name, one in found.items()},
    }


def main(path: Path = Path("results/segment/without-normals.json")) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(compare(), indent=1) + "\n", "utf-8")
    print(f"{path}: written")


if __name__ == "__main__":
    main()
