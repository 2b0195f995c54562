"""What the live page shows of a network's attention: who reads whom, who is read, and who decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..attention import attention_pairs
from ..attention.attended import AttentionPairs
from ..attention.base import Attention
from ..cycles import Cycle
from ..inference.critical import pooled_shares
from ..randomness import cycle_seed


@dataclass(frozen=True)
class LayerPairs:
    """Whom the tokens of one attention layer read. Tokens are points, or centres of groups of points."""

    name: str
    positions: np.ndarray  # (tokens, 3)
    query: np.ndarray  # (pairs,)
    key: np.ndarray  # (pairs,)
    weight: np.ndarray  # (pairs, heads)

    @property
    def heads(self) -> int:
        return int(self.weight.shape[1])

    def weights(self, head: int | None) -> np.ndarray:
        """The weights of one head, or the mean over the heads, (pairs,)."""
        found: np.ndarray = self.weight.mean(1) if head is None else self.weight[:, head]
        return found

    def read_by(self, token: int, head: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The tokens that one token reads, and their weights; the largest weight first. What no head reads is absent.

        A head may read fewer tokens than another one: a weight of exactly zero means that it does not read it.
        """
        own = self.query == token
        keys, weights = self.key[own], self.weights(head)[own]
        order = np.argsort(-np.abs(weights), kind="stable")
        order = order[weights[order] != 0]
        return keys[order], weights[order]

    def received(self, head: int | None = None) -> np.ndarray:
        """The attention that every token receives, sum_i w_ij, (tokens,)."""
        return np.bincount(self.key, self.weights(head), minlength=len(self.positions))


@dataclass(frozen=True)
class Pass:
    """One pass of a network: the pairs of its layers, and what each point gave to the pooled feature."""

    layers: list[LayerPairs]
    centres: np.ndarray  # (tokens, 3), the points or groups before pooling
    shares: np.ndarray | None  # (tokens,), sums to one; None if the network does not pool


class _BeforePooling(nn.Module):
    """A network up to its pooling, so that networks of all kinds are asked in the same way."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, points: Tensor, normals: Tensor | None) -> tuple[Tensor, Tensor]:
        network: Any = self.network
        found: tuple[Tensor, Tensor] = network.forward_points(points, normals)
        return found


@torch.inference_mode()
def one_pass(network: nn.Module, model: str, points: Tensor, normals: Tensor | None, seed: int) -> Pass:
    """Ask a network in evaluation about one set (n, 3), with the cycles of a seed, and note who reads whom."""
    asked: list[tuple[str, Tensor | None]] = []
    hooks = [
        layer.register_forward_pre_hook(_note_positions(asked, name), with_kwargs=True)
        for name, layer in network.named_modules()
        if isinstance(layer, Attention)
    ]
    given = points[None], None if normals is None else normals[None]
    try:
        with cycle_seed(network, seed):
            if hooks:
                (centres, features), pairs = attention_pairs(_BeforePooling(network), *given)
            else:
                (centres, features), pairs = _BeforePooling(network)(*given), []
    finally:
        for hook in hooks:
            hook.remove()
    if len(asked) != len(pairs):  # blocks that compute with a layer's parts are not seen
        asked = []
    layers = [
        _layer(name, own, positions if positions is not None else points[None])
        for (name, positions), own in zip(asked, pairs, strict=False)
    ]
    return Pass(
        [layer for layer in layers if layer is not None], centres[0].cpu().numpy(), pooled_shares(features[0], model)
    )


def _note_positions(asked: list[tuple[str, Tensor | None]], name: str) -> Any:
    def note(layer: nn.Module, given: tuple[Any, ...], options: Mapping[str, Any]) -> None:
        asked.append((name, given[1] if len(given) > 1 else options.get("positions")))

    return note


def _layer(name: str, pairs: AttentionPairs, positions: Tensor) -> LayerPairs | None:
    """The pairs of a layer; None if it reads no pairs, or if nobody can say where its tokens are."""
    if len(pairs) == 0 or pairs.shape[:2] != tuple(positions.shape[:2]) or pairs.shape[1] != pairs.shape[2]:
        return None
    query, key, weight = (part.cpu().numpy() for part in (pairs.query_index, pairs.key_index, pairs.weight))
    return LayerPairs(name, positions[0].cpu().numpy(), query, key, weight)


def receptive_fields(points: Tensor, start: int, depth: int, cycles: int, seed: int = 0) -> np.ndarray:
    """Which points reach one point through a stack of layers of sampled attention, (depth + 1, n) of bool.

    Row d is the field after d layers: F_0 = {start}, F_{l+1} = F_l and the successors of F_l in the cycle of a layer,
    from the last layer to the first. Every layer walks a cycle of its own, that of an evaluation with this seed, and
    the field of several `cycles` is the union of the fields of the seeds from `seed` on. Dense attention reads all
    points after one layer.
    """
    n = len(points)
    fields = np.zeros((depth + 1, n), bool)
    fields[:, start] = True
    for draw in range(seed, seed + cycles):
        walks = [Cycle.from_points((draw, layer, 0), points[None]).successor for layer in range(depth)]
        successors = [walk.reshape(-1)[:n].cpu().numpy() for walk in walks]
        for layers in range(1, depth + 1):
            field = np.zeros(n, bool)
            field[start] = True
            for layer in reversed(range(layers)):
                field[successors[layer][field]] = True
            fields[layers] |= field
    return fields
