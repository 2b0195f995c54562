"""Linear attention, the best-known O(n) rival; not part of the paper."""

from __future__ import annotations

import torch
from torch import Tensor

from ...cycles import Cycles
from ...sets import Sets
from ..base import Attention
from ..kernels import linear_sums, positive_features


class LinearAttention(Attention):
    """Every point reads all points of its set through sums: products of positive features replace the softmax.

        out_i = phi(q_i)^T [sum_j phi(k_j) v_j^T] / phi(q_i)^T [sum_j phi(k_j)],    phi(x) = elu(x) + 1

    From "Transformers are RNNs" (Katharopoulos et al., ICML 2020), https://arxiv.org/abs/2006.16236. There is no factor
    before the scores: `scale` changes nothing.
    """

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycles | None
    ) -> Tensor:
        features = positive_features(query), positive_features(key)
        numerator, denominator = linear_sums(*features, value, sets.mask)
        return (numerator / denominator.clamp(min=torch.finfo(denominator.dtype).tiny)).to(value.dtype)
