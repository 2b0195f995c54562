"""Functions that torch.compile should leave alone and torch.export should trace."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import torch

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def exporting() -> bool:
    return torch.compiler.is_exporting()


def uncompiled(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Leave a function of many small steps out of compilation, which takes minutes for it; export still traces it."""
    eager = torch.compiler.disable(function)

    @wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return (function if exporting() else eager)(*args, **kwargs)

    return call
