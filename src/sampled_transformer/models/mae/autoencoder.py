"""The masked autoencoder of section 5.1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor, nn

from ...attention import number_layers
from ...blocks import as_block_options
from ...geometry import chamfer_distance
from ...randomness import settle_keys
from ..inputs import check_normals
from ..tokens import Groups, group_points
from .encoder import CentreEmbedding, Encoder, Stack, check_groups
from .mask import draw_mask, masked_count

# Point-MAE (https://arxiv.org/abs/2203.06604) in our options. Its query, key and value have no biases, ours have them
# with `bias`.
POINT_MAE: dict[str, Any] = {
    "attention": "dense",
    "dim": 384,
    "heads": 6,
    "hidden": 1536,
    "decoder_depth": 4,
    "mask_ratio": 0.6,
    "activation": "gelu",
    "bias": True,
    "drop_path": 0.1,
}
MASK_SEED = 0  # seed of the masks in evaluation


class Reconstruction(NamedTuple):
    """What the autoencoder made of a batch: the visible groups, the masked groups, and these as rebuilt."""

    visible: Groups
    masked: Groups
    rebuilt: Tensor  # (batch, masked groups, size, 3), relative to the centres of `masked`

    def loss(self) -> Tensor:
        """The mean Chamfer-L2 distance of each cloud's masked groups A to the rebuilt groups B, (batch,).

            CD(A, B) = 1/|A| sum_{a in A} min_{b in B} |a - b|^2 + 1/|B| sum_{b in B} min_{a in A} |a - b|^2

        Both are relative to the centre of the group.
        """
        shape = self.rebuilt.shape
        distances = chamfer_distance(self.rebuilt.flatten(0, 1).float(), self.masked.points.flatten(0, 1).float())
        return distances.view(shape[:2]).mean(1)


class MaskedAutoencoder(nn.Module):
    """Rebuild the masked groups of a cloud from the visible ones: MAE-dense and MAE-sampled of section 5.1.

        T = Encoder(visible groups)
        D = Decoder([T, mask tokens], CentreEmbedding(all centres))
        rebuilt = W D_masked + b,    loss = mean over the masked groups of CD(masked, rebuilt)

    After Point-MAE (https://arxiv.org/abs/2203.06604); the sizes come from "Sampled Transformer for Point Sets"
    (https://openreview.net/forum?id=F7f4BYnDAIc), whose Tables 1 to 3 fine-tune the encoder. `POINT_MAE` holds
    Point-MAE's own.

    Only visible groups are embedded. Masked groups never reach the encoder, so that this changes nothing except the
    batch statistics of the embedding. The decoder knows the centres of the masked groups, as in Point-MAE.

    Args:
        attention: name of the mechanism, see `list_attention`.
        decoder_attention: name of the decoder's mechanism (default: the same).
        groups, group_size: number of groups (tokens) per cloud, and of points per group.
        mask_ratio: share of the groups that is masked, rounded down to whole groups.
        dim, heads, hidden, depth: width, number of heads, r and number of the encoder's blocks.
        decoder_depth: number of the decoder's blocks.
        embedding: width of the first layer of the mini-PointNet.
        norm: LayerNorm before attention and feed-forward layers, and after the last block. The paper writes none.
        activation, bias: of the blocks; "relu" and no bias in the paper.
        drop_path: probability in the last block of the encoder, and of a decoder with several blocks; it rises
            linearly from 0.
        normals: must be False: tokens are made of positions alone.
        attention_options: further options of the mechanism.
    """

    def __init__(
        self,
        *,
        attention: str = "sampled",
        decoder_attention: str | None = None,
        groups: int = 64,
        group_size: int = 32,
        mask_ratio: float = 0.7,
        dim: int = 256,
        heads: int = 8,
        hidden: int = 256,
        depth: int = 12,
        decoder_depth: int = 1,
        embedding: int = 128,
        norm: bool = True,
        activation: str = "relu",
        bias: bool = False,
        drop_path: float = 0.0,
        normals: bool = False,
        attention_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        check_groups(groups, group_size, normals)
        masked_count(groups, mask_ratio)
        self.groups, self.group_size, self.mask_ratio = groups, group_size, mask_ratio
        blocks: dict[str, Any] = {
            "heads": heads,
            "hidden": hidden,
            "norm": norm,
            "activation": activation,
            "bias": bias,
        }
        self.keyed_by = settle_keys(None)
        self.encoder = Encoder(
            attention=attention,
            dim=dim,
            depth=depth,
            embedding=embedding,
            drop_path=drop_path,
            attention_options=attention_options,
            **blocks,
        )
        if decoder_attention in (None, attention):
            blocks |= as_block_options(attention_options)
        self.mask_token = nn.Parameter(nn.init.trunc_normal_(torch.empty(dim), std=0.02))
        self.decoder_position = CentreEmbedding(dim)
        decoding = decoder_attention or attention
        self.decoder = Stack(decoder_depth, dim, attention=decoding, drop_path=drop_path, **blocks)
        self.rebuild_head = nn.Linear(dim, 3 * group_size)
        number_layers(self)

    def forward(self, points: Tensor, normals: Tensor | None = None, generator: Generator | None = None) -> Tensor:
        """The loss of each cloud, (batch,)."""
        check_normals(normals, points, wanted=False)
        return self.reconstruct(points, generator).loss()

    def forward_features(self, points: Tensor, normals: Tensor | None = None) -> Tensor:
        """The largest and the mean value of every feature over the tokens of all groups, (batch, 2 dim)."""
        _, tokens = self.forward_points(points, normals)
        return torch.cat([tokens.amax(1), tokens.mean(1)], 1)

    def forward_points(self, points: Tensor, normals: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The centres of all groups, none of them masked, (batch, groups, 3), and their tokens (batch, groups, dim)."""
        check_normals(normals, points, wanted=False)
        groups = group_points(points, self.groups, self.group_size, self.in_any_order)
        return groups.centres, self.encoder(groups)

    @property
    def in_any_order(self) -> bool:
        """Whether groups do not depend on the order of the points: in evaluation, unless `key_by` says "places"."""
        return not self.training and self.keyed_by == "points"

    @property
    def feature_layers(self) -> list[str]:
        """The modules that give features per group, from the first to the last."""
        return [f"encoder.{name}" for name in self.encoder.feature_layers]

    def reconstruct(self, points: Tensor, generator: Generator | None = None) -> Reconstruction:
        """Mask and rebuild clouds (batch, n, 3).

        The generator draws the mask. Without one, training draws a fresh mask in every call, and evaluation draws the
        same mask for every batch of the same size.
        """
        if generator is None and not self.training:
            generator = torch.Generator().manual_seed(MASK_SEED)
        groups = group_points(points, self.groups, self.group_size, self.in_any_order)
        visible, masked = draw_mask(len(points), self.groups, self.mask_ratio, generator, points.device)
        return self.rebuild(groups.take(visible), groups.take(masked))

    def rebuild(self, visible: Groups, masked: Groups) -> Reconstruction:
        """Rebuild masked groups from the visible ones. Of the masked groups, only the centres are read."""
        tokens = self.encoder(visible)
        known = tokens.shape[1]
        centres = torch.cat([visible.centres, masked.centres], 1)
        hidden = self.mask_token.to(tokens.dtype).expand(*masked.centres.shape[:2], -1)
        decoded = self.decoder(torch.cat([tokens, hidden], 1), self.decoder_position(centres), centres)
        rebuilt = self.rebuild_head(decoded[:, known:]).unflatten(-1, (self.group_size, 3))
        return Reconstruction(visible, masked, rebuilt)
