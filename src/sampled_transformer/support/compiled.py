"""Element-wise arithmetic as one loop over memory, through torch.compile where a C++ compiler is installed."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, ParamSpec, TypeVar, cast

import torch
from torch import Tensor

# Compiling takes seconds, once per machine: smaller calls would never earn them back.
SMALLEST = 2**21

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

logger = logging.getLogger(__name__)
_allowed = ContextVar("allowed", default=True)


@contextmanager
def without_compiling() -> Iterator[None]:
    """Run everything eagerly, for large tensors that are seen only once: compiling takes longer than they do."""
    token = _allowed.set(False)
    try:
        yield
    finally:
        _allowed.reset(token)


class Compiled(Generic[Arguments, Result]):
    """A function of tensors that is compiled at its first call with a large tensor.

    The size of the first tensor, and `without_compiling`, decide whether a call is compiled, so that a resumed training
    rounds like the one it continues. If compilation fails, as on machines without a C++ compiler, we log it once per
    process and run eagerly. `SAMPLED_TRANSFORMER_COMPILE=0` in the environment turns compilation off.
    """

    works = os.environ.get("SAMPLED_TRANSFORMER_COMPILE", "1") != "0"

    def __init__(self, function: Callable[Arguments, Result]) -> None:
        self.function = function
        self.compiled: Callable[Arguments, Result] | None = None
        self.__doc__ = function.__doc__

    def __call__(self, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        first = cast(Tensor, arguments[0])
        if (
            torch.compiler.is_compiling()  # first: a size that is looked at becomes fixed
            or not (self.works and _allowed.get())
            or first.numel() < SMALLEST
            or torch.is_grad_enabled()
            or torch._C._are_functorch_transforms_active()
        ):
            return self.function(*arguments, **named)
        if self.compiled is None:
            # Neither the sizes nor the number of threads are part of the program: one serves all.
            options: dict[str, Any] | None = {"cpp.dynamic_threads": True} if first.device.type == "cpu" else None
            logger.info("compiling %s", self.function.__name__)  # `commands.messages` shows it
            self.compiled = torch.compile(self.function, dynamic=True, fullgraph=True, options=options)
        try:
            return self.compiled(*arguments, **named)
        except Exception as error:
            result = self.function(*arguments, **named)  # raises again what is not the compiler's fault
            self.works = False
            logger.info("%s runs uncompiled: %s", self.function.__name__, error)
            return result
