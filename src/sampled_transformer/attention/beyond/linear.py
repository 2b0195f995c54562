"""Linear attention, the best-known O(n) rival; not part of the paper."""

from __future__ import annotations

import torch
from torch import Tensor

from ...cycles import Cycles
from ...sets import Sets
from ..attended import AllKeys, Points, normalised, products
from ..base import Attention
from ..extreme import are_extreme
from ..kernels import linear_sums, positive_features


class LinearAttention(Attention):
    """Every point reads all points of its set through sums: products of positive features replace the softmax.

        out_i = phi(q_i)^T [sum_j phi(k_j) v_j^T] / phi(q_i)^T [sum_j phi(k_j)],    phi(x) = elu(x) + 1

    From "Transformers are RNNs" (Katharopoulos et al., ICML 2020), https://arxiv.org/abs/2006.16236. There is no factor
    before the scores: `scale` changes nothing. `dropout` drops points from the sum over v_j, for all readers at once.
    """

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycles | None
    ) -> Tensor:
        return self.sum(query, key, value, sets.mask)

    def sum(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """The equation above, for queries of any set; `mask` is that of the keys."""
        if are_extreme(query, key):
            query, key = query.double(), key.double()
        features = positive_features(query), positive_features(key)
        numerator, denominator = linear_sums(*features, self.drop_points(value), mask)
        # Where all products underflow nothing is read; dividing by almost nothing would spoil the gradients.
        least = torch.finfo(denominator.dtype).tiny ** 0.8
        return (numerator / torch.where(denominator > least, denominator, torch.inf)).to(value.dtype)

    def across(self, query: Tensor, key: Tensor, value: Tensor, asking: Points, answering: Points) -> Tensor:
        return self.sum(query, key, value, answering.mask)

    def weigh(self, query: Tensor, key: Tensor, asking: Points, answering: Points, cycle: Cycles | None) -> AllKeys:
        weight = products(positive_features(query), positive_features(key))
        return AllKeys(self.drop_columns(normalised(weight, answering.mask)))

    def context_refusal(self, cycle: Cycles | None) -> None:
        return None
