"""Decorators for functions that torch.compile must skip, and that torch.export may still trace."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import torch

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def exporting() -> bool:
    """Whether torch.export is tracing us."""
    return torch.compiler.is_exporting()


def never_compiled(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """`torch.compiler.disable`, with types."""
    disable: Any = torch.compiler.disable  # torch gives it no types
    eager: Callable[Arguments, Result] = disable(function)
    return eager


def uncompiled(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Skip compilation of a function with many small steps, which would take minutes; export still traces it."""
    eager = never_compiled(function)

    @wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return (function if exporting() else eager)(*args, **kwargs)

    return call
