"""A linear layer whose backward pass leaves out the points that no gradient reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

PROBED = 64  # rows looked at first; a search is not worth it for fewer rows than this
WORTHWHILE = 0.85  # of the rows: with more of them the search costs as much as it saves


class Linear(nn.Linear):
    """torch's linear layer; on a CPU its backward pass costs only as much as there are points with a gradient.

    Behind a max-pool over n points, the gradient of a feature reaches one point per set. With 1,024 points and 256
    features most points get none at all: neither their share of the weights' gradient nor their own needs computing.
    The result equals `torch.nn.Linear`, summed in another order.
    """

    if TYPE_CHECKING:  # a call of torch's own module returns Any

        def __call__(self, input: Tensor) -> Tensor: ...

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """As torch.nn.functional.linear, with the backward pass of `Linear`."""
    if _plain(input):
        return nn.functional.linear(input, weight, bias)
    output: Tensor = _SparseRows.apply(input, weight, bias)  # type: ignore[no-untyped-call]
    return output


def _plain(input: Tensor) -> bool:
    """Whether torch's own backward pass is the better one, or the only one that works."""
    return (
        torch.compiler.is_compiling()  # first: looking at a size would fix it in the graph
        or not torch.is_grad_enabled()
        or input.device.type != "cpu"  # elsewhere one would have to wait for the number of rows
        or input.dim() < 2
        or input.numel() < PROBED * input.shape[-1]
        or torch.is_autocast_enabled("cpu")
        or torch._C._are_functorch_transforms_active()  # the number of rows depends on values
    )


class _SparseRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(input, weight)
        ctx.has_bias = bias is not None
        return nn.functional.linear(input, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        input, weight = ctx.saved_tensors
        grad, x = grad.reshape(-1, grad.shape[-1]), input.reshape(-1, input.shape[-1])
        rows = rows_with_gradient(grad)
        if rows is not None:
            grad, x = grad.index_select(0, rows), x.index_select(0, rows)
        input_grad, weight_grad, bias_grad = None, None, None
        if ctx.needs_input_grad[0]:
            input_grad = grad @ weight
            if rows is not None:
                input_grad = input_grad.new_zeros(input[..., 0].numel(), x.shape[-1]).index_copy_(0, rows, input_grad)
            input_grad = input_grad.view_as(input)
        if ctx.needs_input_grad[1]:
            weight_grad = grad.T @ x
        if ctx.has_bias and ctx.needs_input_grad[2]:
            bias_grad = grad.sum(0)
        return input_grad, weight_grad, bias_grad


def rows_with_gradient(grad: Tensor) -> Tensor | None:
    """The numbers of the rows of (rows, dim) that are not all zero; None where there are too many to gain by it."""
    with torch.no_grad():
        probe = grad[:: max(1, len(grad) // PROBED)]
        if int(probe.ne(0).any(1).sum()) > WORTHWHILE * len(probe):
            return None
        # Both reductions together take a fifth of the time of grad.any(1); a NaN goes through them.
        rows = (grad.amax(1).ne(0) | grad.amin(1).ne(0)).nonzero().squeeze(1)
        return rows if len(rows) <= WORTHWHILE * len(grad) else None
