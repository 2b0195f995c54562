"""How much of a network's time goes to attention, to the farthest points and to the neighbours."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from types import ModuleType
from typing import Any
from unittest.mock import patch

from torch import nn

from sampled_transformer.attention.base import Attention
from sampled_transformer.models import hierarchical, tokens
from sampled_transformer.models.mae import autoencoder

PARTS = ("farthest points", "neighbours", "attention")
# Where the networks call their geometry. `group_points` calls `farthest_points`: what remains of it is the neighbours.
GEOMETRY: tuple[tuple[ModuleType, str, str], ...] = (
    (hierarchical, "farthest_points", "farthest points"),
    (hierarchical, "nearest_members", "neighbours"),
    (tokens, "farthest_points", "farthest points"),
    (autoencoder, "group_points", "neighbours"),
)


class Stopwatch:
    """The seconds of named parts. While a part runs inside another, only the inner one counts.

    Args:
        clock: returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self.seconds: dict[str, float] = defaultdict(float)
        self._running: list[str] = []
        self._since = 0.0

    def start(self, part: str) -> None:
        self._count()
        self._running.append(part)

    def stop(self) -> None:
        self._count()
        self._running.pop()

    def _count(self) -> None:
        now = self.clock()
        if self._running:
            self.seconds[self._running[-1]] += now - self._since
        self._since = now

    def around(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        """The function, with its calls counted."""

        @wraps(function)
        def counted(*arguments: Any, **options: Any) -> Any:
            self.start(part)
            try:
                return function(*arguments, **options)
            finally:
                self.stop()

        return counted


@contextmanager
def watch(network: nn.Module) -> Iterator[Stopwatch]:
    """Count `PARTS` in all calls of the network until the end of the block. It must run on the CPU.

    Attention includes its projections and its backward pass; the geometry has no backward pass.
    """
    stopwatch = Stopwatch()
    with ExitStack() as stack:
        for module, name, part in GEOMETRY:
            stack.enter_context(patch.object(module, name, stopwatch.around(getattr(module, name), part)))
        for layer in network.modules():
            if isinstance(layer, Attention):
                for handle in (
                    layer.register_forward_pre_hook(lambda *_: stopwatch.start("attention")),
                    layer.register_forward_hook(lambda *_: stopwatch.stop()),
                    layer.register_full_backward_pre_hook(lambda *_: stopwatch.start("attention")),
                    layer.register_full_backward_hook(lambda *_: stopwatch.stop()),
                ):
                    stack.callback(handle.remove)
        yield stopwatch
