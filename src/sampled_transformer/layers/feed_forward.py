"""The feed-forward layer of Eq. 1c and 5d."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.modules import module as torch_module

from .sparse_gradient import Linear, linear

ACTIVATIONS = {"relu": torch.relu, "gelu": nn.functional.gelu}


class FeedForward(nn.Module):
    """W_2 ReLU(W_1 x), applied to every point by itself.

    Args:
        dim: width of the features.
        hidden: r, the width of the hidden layer (default: dim).
        activation: "relu" (the paper) or "gelu".
        bias: give both linear layers a bias; the paper's have none.
    """

    def __init__(self, dim: int, hidden: int | None = None, *, activation: str = "relu", bias: bool = False) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation: expected one of {', '.join(ACTIVATIONS)}, got {activation!r}")
        self.activation = activation
        hidden = dim if hidden is None else hidden
        if hidden < 1:
            raise ValueError(f"hidden: expected at least 1, got {hidden}")
        self.expand = Linear(dim, hidden, bias=bias)
        self.contract = Linear(hidden, dim, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        if self.activation == "relu" and type(self.expand) is Linear and not is_hooked(self.expand):
            return self.contract(self._rectified(x))
        return self.contract(ACTIVATIONS[self.activation](self.expand(x)))

    def _rectified(self, x: Tensor) -> Tensor:
        """ReLU(W_1 x), written over W_1 x where possible: a CPU pays more for fresh memory than for the arithmetic.

        That is safe because no module returned W_1 x: `expand` itself is not called.
        """
        hidden = linear(x, self.expand.weight, self.expand.bias)
        if torch.compiler.is_compiling() or hidden._is_view():  # autograd cannot write over a view
            return torch.relu(hidden)
        return torch.relu_(hidden)


def is_hooked(module: nn.Module) -> bool:
    """Whether a hook watches the calls of a module, its own or one on all modules."""
    own = (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks)
    of_all = (
        torch_module._global_forward_hooks,
        torch_module._global_forward_pre_hooks,
        torch_module._global_backward_hooks,
        torch_module._global_backward_pre_hooks,
    )
    return any(map(bool, (*own, *of_all)))
