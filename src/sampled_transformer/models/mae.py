"""The masked autoencoder of section 5.1 (MAE-dense and MAE-sampled), and the classifier made of its encoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor, nn

from ..attention import number_layers
from ..blocks import TransformerBlock
from ..geometry import chamfer_distance
from .tokens import GroupEmbedding, Groups, draw_mask, group_points, masked_count

# Point-MAE (Pang et al., 2022) in these options. Its query, key and value have no biases, ours have with `bias`.
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
MASK_SEED = 0  # of the masks in evaluation


class Stack(nn.Module):
    """Transformer blocks (Eq. 1 and 5) with the position embedding added before every one, as in Point-MAE.

    Args:
        depth: number of blocks.
        drop_path: probability of the last block; it rises linearly from 0.
        norm: LayerNorm in the blocks and after the last.
        options: of the blocks.
    """

    def __init__(self, depth: int, dim: int, *, drop_path: float = 0.0, norm: bool = True, **options: Any) -> None:
        super().__init__()
        if depth < 1:
            raise ValueError(f"depth, decoder_depth: expected at least 1, got {depth}")
        self.blocks = nn.ModuleList(
            TransformerBlock(dim, norm=norm, drop_path=drop_path * number / max(1, depth - 1), **options)
            for number in range(depth)
        )
        self.norm = nn.LayerNorm(dim) if norm else nn.Identity()

    def forward(self, x: Tensor, embedded: Tensor, positions: Tensor) -> Tensor:
        """Tokens (batch, n, dim) with embedded positions (batch, n, dim) and positions (batch, n, 3)."""
        for block in self.blocks:
            x = block(x + embedded, positions)
        return self.norm(x)


class CentreEmbedding(nn.Sequential):
    """The position embedding of a group, of its centre: 3-128-GELU-dim (Point-BERT, Point-MAE)."""

    def __init__(self, dim: int, hidden: int = 128) -> None:
        super().__init__(nn.Linear(3, hidden), nn.GELU(), nn.Linear(hidden, dim))


class Encoder(nn.Module):
    """Groups to tokens, and tokens through the blocks. Attention sees the groups it is given and no others.

    `shape` holds all that another encoder must have in common for its weights to mean the same here. The mechanism is
    not among it: dense, sparse, knn, stratified and sampled attention share their parameters.
    """

    FIXED = ("dim", "heads", "hidden", "depth", "embedding", "norm", "activation", "bias")

    def __init__(
        self,
        *,
        attention: str,
        dim: int,
        heads: int,
        hidden: int,
        depth: int,
        embedding: int,
        norm: bool,
        activation: str,
        bias: bool,
        drop_path: float,
        attention_options: Mapping[str, Any] | None,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.shape = dict(zip(self.FIXED, (dim, heads, hidden, depth, embedding, norm, activation, bias), strict=True))
        self.embedding = GroupEmbedding(dim, embedding)
        self.position = CentreEmbedding(dim)
        self.stack = Stack(
            depth,
            dim,
            heads=heads,
            attention=attention,
            hidden=hidden,
            norm=norm,
            activation=activation,
            bias=bias,
            drop_path=drop_path,
            **(attention_options or {}),
        )

    def forward(self, groups: Groups) -> Tensor:
        """Tokens (batch, groups, dim)."""
        return self.stack(self.embedding(groups.points), self.position(groups.centres), groups.centres)


class Reconstruction(NamedTuple):
    """What became of a batch: the groups left visible, and the masked ones as they are and as they were rebuilt."""

    visible: Groups
    masked: Groups
    rebuilt: Tensor  # (batch, masked groups, size, 3), relative to the centres of `masked`

    def loss(self) -> Tensor:
        """Mean over the masked groups of each cloud of Chamfer-L2 in local coordinates, (batch,)."""
        shape = self.rebuilt.shape
        distances = chamfer_distance(self.rebuilt.flatten(0, 1).float(), self.masked.points.flatten(0, 1).float())
        return distances.view(shape[:2]).mean(1)


class MaskedAutoencoder(nn.Module):
    """Rebuilds the masked groups of a cloud from the visible ones (section 5.1; sizes are the paper's).

    Only visible groups are embedded: masked ones never reach the encoder, so that but for the batch statistics of the
    embedding nothing changes. The position of a masked group is known to the decoder, as in Point-MAE.

    Args:
        attention: name of the mechanism.
        decoder_attention: that of the decoder, if it is to be another one.
        groups, group_size: tokens of a cloud, and points of each.
        mask_ratio: share of the groups that is masked, rounded down to whole groups.
        dim, heads, hidden, depth: width, heads, r and number of the encoder's blocks.
        decoder_depth: number of the decoder's blocks.
        embedding: width of the first layer of the mini-PointNet.
        norm: LayerNorm before attention and feed-forward layers, and after the last block. The paper writes none.
        activation, bias: of the blocks, "relu" and none in the paper.
        drop_path: in the last block of the encoder and of a decoder of several; it rises linearly from 0.
        normals: must be False; commands ask every network.
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
        _check(groups, group_size, normals)
        masked_count(groups, mask_ratio)
        self.groups, self.group_size, self.mask_ratio = groups, group_size, mask_ratio
        blocks: dict[str, Any] = {
            "heads": heads,
            "hidden": hidden,
            "norm": norm,
            "activation": activation,
            "bias": bias,
        }
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
            blocks |= attention_options or {}
        self.mask_token = nn.Parameter(nn.init.trunc_normal_(torch.empty(dim), std=0.02))
        self.decoder_position = CentreEmbedding(dim)
        decoding = decoder_attention or attention
        self.decoder = Stack(decoder_depth, dim, attention=decoding, drop_path=drop_path, **blocks)
        self.rebuild_head = nn.Linear(dim, 3 * group_size)
        number_layers(self)

    def forward(self, points: Tensor, normals: Tensor | None = None, generator: Generator | None = None) -> Tensor:
        """The loss of each cloud, (batch,)."""
        _check_normals(normals)
        return self.reconstruct(points, generator).loss()

    def reconstruct(self, points: Tensor, generator: Generator | None = None) -> Reconstruction:
        """Mask and rebuild clouds (batch, n, 3).

        The mask is drawn from the generator. Without one it is random in training, and in evaluation the same for each
        call of one size.
        """
        if generator is None and not self.training:
            generator = torch.Generator().manual_seed(MASK_SEED)
        groups = group_points(points, self.groups, self.group_size)
        visible, masked = draw_mask(len(points), self.groups, self.mask_ratio, generator, points.device)
        return self.rebuild(groups.take(visible), groups.take(masked))

    def rebuild(self, visible: Groups, masked: Groups) -> Reconstruction:
        """Rebuild masked groups, of which only the centres are looked at."""
        tokens = self.encoder(visible)
        known = tokens.shape[1]
        centres = torch.cat([visible.centres, masked.centres], 1)
        hidden = self.mask_token.to(tokens.dtype).expand(*masked.centres.shape[:2], -1)
        decoded = self.decoder(torch.cat([tokens, hidden], 1), self.decoder_position(centres), centres)
        rebuilt = self.rebuild_head(decoded[:, known:]).unflatten(-1, (self.group_size, 3))
        return Reconstruction(visible, masked, rebuilt)


class MaskedAutoencoderClassifier(nn.Module):
    """The encoder on all groups, pooling, and a fully connected head [256, 256, classes] (section 5.1).

    Args:
        classes: number of classes.
        pooling: "max", the paper's, or "cls-max", Point-MAE's: a token of its own beside the largest values.
        head_width: width of the two hidden layers of the head.
        head_dropout: behind each of them, which also have BatchNorm and ReLU, as in Point-MAE.
        attention, groups, group_size, dim, heads, hidden, depth, embedding, norm, activation, bias, drop_path,
            normals, attention_options: those of `MaskedAutoencoder`.
    """

    def __init__(
        self,
        classes: int,
        *,
        pooling: str = "max",
        head_width: int = 256,
        head_dropout: float = 0.5,
        attention: str = "sampled",
        groups: int = 64,
        group_size: int = 32,
        dim: int = 256,
        heads: int = 8,
        hidden: int = 256,
        depth: int = 12,
        embedding: int = 128,
        norm: bool = True,
        activation: str = "relu",
        bias: bool = False,
        drop_path: float = 0.0,
        normals: bool = False,
        attention_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        _check(groups, group_size, normals)
        if classes < 1 or head_width < 1:
            raise ValueError(f"classes, head_width: expected at least 1, got {classes} and {head_width}")
        if pooling not in ("max", "cls-max"):
            raise ValueError(f"pooling: expected 'max' or 'cls-max', got {pooling!r}")
        self.groups, self.group_size, self.pooling = groups, group_size, pooling
        self.encoder = Encoder(
            attention=attention,
            dim=dim,
            heads=heads,
            hidden=hidden,
            depth=depth,
            embedding=embedding,
            norm=norm,
            activation=activation,
            bias=bias,
            drop_path=drop_path,
            attention_options=attention_options,
        )
        if pooling == "cls-max":
            self.class_token = nn.Parameter(nn.init.trunc_normal_(torch.empty(dim), std=0.02))
            self.class_position_token = nn.Parameter(nn.init.trunc_normal_(torch.empty(dim), std=0.02))
        pooled = dim if pooling == "max" else 2 * dim
        self.head = nn.Sequential(
            *_hidden_layer(pooled, head_width, head_dropout),
            *_hidden_layer(head_width, head_width, head_dropout),
            nn.Linear(head_width, classes),
        )
        number_layers(self)

    def forward(self, points: Tensor, normals: Tensor | None = None) -> Tensor:
        """Logits (batch, classes) of clouds (batch, n, 3)."""
        _check_normals(normals)
        groups = group_points(points, self.groups, self.group_size)
        if self.pooling == "max":
            return self.head(self.encoder(groups).amax(1))
        tokens = self._encode_with_class_token(groups)
        return self.head(torch.cat([tokens[:, 0], tokens[:, 1:].amax(1)], 1))

    def _encode_with_class_token(self, groups: Groups) -> Tensor:
        """The token of the class comes first; for mechanisms that look at positions it lies at the origin."""
        first = self.class_token.expand(len(groups.centres), 1, -1)
        where = self.class_position_token.expand(len(groups.centres), 1, -1)
        tokens = torch.cat([first, self.encoder.embedding(groups.points)], 1)
        embedded = torch.cat([where, self.encoder.position(groups.centres)], 1)
        origin = groups.centres.new_zeros(len(groups.centres), 1, 3)
        return self.encoder.stack(tokens, embedded, torch.cat([origin, groups.centres], 1))


def _hidden_layer(inputs: int, outputs: int, dropout: float) -> list[nn.Module]:
    return [nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.ReLU(), nn.Dropout(dropout)]


def _check(groups: int, group_size: int, normals: bool) -> None:
    if groups < 1 or group_size < 1:
        raise ValueError(f"groups, group_size: expected at least 1, got {groups} and {group_size}")
    if normals:
        raise ValueError("normals: expected False, as tokens are made of positions alone, got True")


def _check_normals(normals: Tensor | None) -> None:
    if normals is not None:
        raise ValueError("normals: expected none, as tokens are made of positions alone")
