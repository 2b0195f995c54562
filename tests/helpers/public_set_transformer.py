"""The modules of the public Set Transformer, written again from what is known of them, to compare with.

Projections, heads cut along the width and stacked along the batch, scale 1 / sqrt(dim), the residual on the projected
query, a ReLU layer with a residual, no LayerNorm.
"""

from __future__ import annotations

import math

import torch
from torch import nn


class PublicMAB(nn.Module):
    def __init__(self, dim_q, dim_k, dim, heads):
        super().__init__()
        self.dim, self.heads = dim, heads
        self.fc_q, self.fc_k, self.fc_v = nn.Linear(dim_q, dim), nn.Linear(dim_k, dim), nn.Linear(dim_k, dim)
        self.fc_o = nn.Linear(dim, dim)

    def forward(self, x, y):
        query, key, value = self.fc_q(x), self.fc_k(y), self.fc_v(y)
        width = self.dim // self.heads
        q, k, v = (torch.cat(t.split(width, 2), 0) for t in (query, key, value))
        weights = torch.softmax(q @ k.transpose(1, 2) / math.sqrt(self.dim), 2)
        out = torch.cat((q + weights @ v).split(x.shape[0], 0), 2)
        return out + torch.relu(self.fc_o(out))


class PublicSAB(nn.Module):
    def __init__(self, dim_in, dim, heads):
        super().__init__()
        self.mab = PublicMAB(dim_in, dim_in, dim, heads)

    def forward(self, x):
        return self.mab(x, x)


class PublicISAB(nn.Module):
    def __init__(self, dim_in, dim, heads, inducing):
        super().__init__()
        self.I = nn.Parameter(torch.randn(1, inducing, dim))
        self.mab0, self.mab1 = PublicMAB(dim, dim_in, dim, heads), PublicMAB(dim_in, dim, dim, heads)

    def forward(self, x):
        return self.mab1(x, self.mab0(self.I.repeat(len(x), 1, 1), x))


class PublicPMA(nn.Module):
    def __init__(self, dim, heads, seeds):
        super().__init__()
        self.S = nn.Parameter(torch.randn(1, seeds, dim))
        self.mab = PublicMAB(dim, dim, dim, heads)

    def forward(self, x):
        return self.mab(self.S.repeat(len(x), 1, 1), x)


class PublicNetwork(nn.Module):
    """`enc` and `dec` as the two scripts of the public code build them."""

    def __init__(self, enc, dec):
        super().__init__()
        self.enc, self.dec = nn.Sequential(*enc), nn.Sequential(*dec)

    def forward(self, x):
        return self.dec(self.enc(x))


def public_mixture(dim=16, heads=4, inducing=5, inputs=2, components=3, outputs=None):
    """`outputs`: numbers a component; the public script has 2 * inputs, the network here 1 + 2 * inputs."""
    return PublicNetwork(
        [PublicISAB(inputs, dim, heads, inducing), PublicISAB(dim, dim, heads, inducing)],
        [
            PublicPMA(dim, heads, components),
            PublicSAB(dim, dim, heads),
            PublicSAB(dim, dim, heads),
            nn.Linear(dim, 1 + 2 * inputs if outputs is None else outputs),
        ],
    ).eval()


def public_parse(raw, inputs):
    """Weights, means and deviations as the public code reads them: the rest of a row is the deviation, broadcast."""
    weights = torch.softmax(raw[..., 0], -1)
    means = raw[..., 1 : 1 + inputs]
    return weights, means, nn.functional.softplus(raw[..., 1 + inputs :]).expand_as(means)


def public_classifier(dim=16, heads=4, inducing=5, classes=7):
    return PublicNetwork(
        [PublicISAB(3, dim, heads, inducing), PublicISAB(dim, dim, heads, inducing)],
        [nn.Dropout(), PublicPMA(dim, heads, 1), nn.Dropout(), nn.Linear(dim, classes)],
    ).eval()
