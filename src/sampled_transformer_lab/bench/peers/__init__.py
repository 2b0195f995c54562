"""Networks of others, as published, in plain torch: what `benchmarks/peers.py` measures ours beside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from torch import nn

from sampled_transformer.models import PyramidClassifier, SetTransformer

from .dgcnn import DynamicGraphNetwork
from .pointnet import PointNet
from .pointnet2 import PointNet2

PEERS: Mapping[str, Callable[[int], nn.Module]] = {
    "PointNet": PointNet,
    "PointNet++ (SSG)": PointNet2,
    "DGCNN": DynamicGraphNetwork,
    "Set Transformer": partial(SetTransformer, attention="induced"),
    "pyramid (ours)": partial(PyramidClassifier, attention="none"),
}
# The rates of their papers; Set Transformer states 1e-3 for 100 and 1,000 points.
RATES = {name: 2e-3 if "ours" in name else 1e-3 for name in PEERS}

__all__ = ["PEERS", "RATES", "DynamicGraphNetwork", "PointNet", "PointNet2"]
