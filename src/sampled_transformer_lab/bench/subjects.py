"""What the benchmark measures: each mechanism alone, with its projections, in its block, and in the basic network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from sampled_transformer.attention import create_attention
from sampled_transformer.attention.base import Attention
from sampled_transformer.blocks import TransformerBlock
from sampled_transformer.models import create_model
from sampled_transformer.sets import Sets
from sampled_transformer.support.registry import look_up

from .rivals import ExplicitAttention, FlexAttention, Products
from .setting import Setting

LEVELS = ("core", "layer", "block", "network")
PRODUCTS = {"layer": 4, "block": 6}  # matrix products of each level
CLASSES = 40


@dataclass(frozen=True)
class Mechanism:
    """How to build one row of the tables, and how much memory it may take.

    Args:
        build: a name in the registry, a class, or None for the two lower bounds "products" and "copy".
        options: options of the mechanism.
        levels: the levels at which it exists.
        backward: whether it has a backward pass.
        matrix: whether it stores numbers for every pair of points.
        tensors: how many tensors of the input's size a forward and backward pass of its block may hold at once.
    """

    build: str | type[Attention] | None
    options: Mapping[str, Any] = field(default_factory=dict)
    levels: tuple[str, ...] = LEVELS
    backward: bool = True
    matrix: bool = False
    tensors: int = 24


MECHANISMS: dict[str, Mechanism] = {
    "sampled": Mechanism("sampled"),
    "sampled-per-head": Mechanism("sampled", {"cycles": "per-head"}),
    "sampled-sequential": Mechanism(
        "sampled", {"composition": "sequential"}, levels=("layer", "block", "network"), tensors=32
    ),
    "sampled-morton": Mechanism("sampled", {"order": "morton"}),
    "sampled-hilbert": Mechanism("sampled", {"order": "hilbert"}),
    "sampled-mixed": Mechanism("sampled", {"order": "mixed"}),
    "sampled-4-rounds": Mechanism("sampled", {"rounds": 4}, tensors=64),
    "sampled-4-consistent": Mechanism("sampled", {"rounds": 4, "estimator": "consistent"}, tensors=64),
    "sampled-linear-rest": Mechanism("sampled", {"rest": "linear"}, tensors=64),
    "sampled-subsets-32": Mechanism("sampled", {"inner": "dense", "subset": 32}, tensors=48),
    "rotary": Mechanism("rotary", tensors=32),
    "summed": Mechanism("summed", tensors=32),
    "summed-local": Mechanism("summed", {"local": 2}, tensors=48),
    "none": Mechanism("none", levels=("network",)),
    "linear": Mechanism("linear", tensors=32),
    "sparse": Mechanism("sparse"),
    "induced-16": Mechanism("induced", {"inducing": 16}, levels=("layer", "block", "network")),
    "knn": Mechanism("knn", tensors=64),
    "stratified": Mechanism("stratified", tensors=64),
    "dense": Mechanism("dense"),
    "dense-explicit": Mechanism(ExplicitAttention, matrix=True),
    "flex-cycle": Mechanism(FlexAttention, backward=False, levels=("core", "layer", "block")),
    "products": Mechanism(None, levels=("layer", "block")),
    "copy": Mechanism(None, levels=("core",)),
}


class Subject:
    """One mechanism at one level and size, ready to run.

    Args:
        name: the mechanism, see MECHANISMS.
        level: see LEVELS.
        setting: the other sizes.
        points: size of each set.
        shared: inputs that subjects of the same level and size share. A subject adds those that are missing.
    """

    def __init__(
        self, name: str, level: str, setting: Setting, points: int, shared: dict[Any, Tensor] | None = None
    ) -> None:
        mechanism = look_up("mechanism", name, MECHANISMS)
        torch.manual_seed(0)
        self.shared = {} if shared is None else shared
        self.leaves: list[Tensor] = []
        self.module: nn.Module = nn.Module()
        self.positions = torch.rand(setting.batch, points, 3, device=setting.device) - 0.5
        if name == "copy":
            self._build_copy(setting, points)
        elif name == "products":
            self._build_on_features(Products(setting.dim, PRODUCTS[level]), setting, points)
        elif level == "network":
            self._build_network(mechanism, setting)
        elif level == "core":
            self._build_core(_attention(mechanism, setting), setting, points)
        else:
            attention = _attention(mechanism, setting)
            self._build_on_features(attention if level == "layer" else _block(attention, setting), setting, points)

    def _build_copy(self, setting: Setting, points: int) -> None:
        """Copy q, k, v and the output, and for both passes their gradients too: what the memory bandwidth allows."""
        shape = (setting.batch, points, setting.heads, setting.head_dim)
        sources = [self._random(part, shape, setting.device).detach() for part in ("q", "k", "v", "gradient")]
        targets = [torch.empty_like(source) for source in sources]

        def copy(times: int) -> None:
            for _ in range(times):
                for target, source in zip(targets, sources, strict=True):
                    target.copy_(source)

        self.forward, self.both = lambda: copy(1), lambda: copy(2)

    def _build_core(self, attention: Attention, setting: Setting, points: int) -> None:
        shape = (setting.batch, points, setting.heads, setting.head_dim)
        self.leaves = [self._random(part, shape, setting.device).requires_grad_() for part in ("q", "k", "v")]
        positions = self.positions if attention.needs_positions else None
        query, key, value = self.leaves
        self._run(lambda: attention.attend(query, key, value, positions, Sets(), None))

    def _build_on_features(self, module: nn.Module, setting: Setting, points: int) -> None:
        self.module = module.to(setting.device)
        x = self._random("x", (setting.batch, points, setting.dim), setting.device).requires_grad_()
        self.leaves = [x]
        self._run(lambda: module(x, self.positions))

    def _build_network(self, mechanism: Mechanism, setting: Setting) -> None:
        name = mechanism.build if isinstance(mechanism.build, str) else "dense"
        sizes = {"dim": setting.dim, "heads": setting.heads, "hidden": setting.dim}
        options = {"attention_options": dict(mechanism.options)} if isinstance(mechanism.build, str) else {}
        network: Any = create_model("basic", classes=CLASSES, attention=name, **sizes, **options)
        if not isinstance(mechanism.build, str):
            network.blocks[0].attention = _attention(mechanism, setting)
        self.module = network.to(setting.device)
        normals = nn.functional.normalize(torch.randn_like(self.positions), dim=-1)
        self._run(lambda: network(self.positions, normals))

    def _random(self, what: str, shape: tuple[int, ...], device: torch.device | str) -> Tensor:
        if (what, shape) not in self.shared:
            self.shared[what, shape] = torch.randn(shape, device=device)
        return self.shared[what, shape]

    def _run(self, call: Callable[[], Tensor]) -> None:
        def forward() -> None:
            with torch.no_grad():
                call()

        def both() -> None:
            for tensor in (*self.leaves, *self.module.parameters()):
                tensor.grad = None
            out = call()
            out.backward(self._random("gradient", tuple(out.shape), out.device))
            for tensor in self.leaves:
                tensor.grad = None  # the next row may need the memory

        self.call, self.forward, self.both = call, forward, both


def _attention(mechanism: Mechanism, setting: Setting) -> Attention:
    assert mechanism.build is not None
    if isinstance(mechanism.build, str):
        return create_attention(mechanism.build, setting.dim, setting.heads, **mechanism.options)
    return mechanism.build(setting.dim, setting.heads)


def _block(attention: Attention, setting: Setting) -> TransformerBlock:
    block = TransformerBlock(setting.dim, setting.heads, "none")
    block.attention = attention
    return block


def memory_needed(name: str, level: str, setting: Setting, points: int, backward: bool = True) -> int:
    """A rough upper bound on the bytes of one pass."""
    mechanism = MECHANISMS[name]
    tensors = mechanism.tensors + (24 if level == "network" else 0)
    if not backward:
        tensors = max(8, tensors // 3)
    needed = tensors * setting.batch * points * setting.dim * 4
    return needed + 5 * setting.batch * setting.heads * points**2 * 4 * mechanism.matrix
