"""Attention written straight from the equations, one point at a time: slow, obvious, and what the layers must equal.

Every function takes one set, (n, dim); `each_set` cuts batches, padded batches and packed sets into such.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from sampled_transformer.attention import (
    Attention,
    DenseAttention,
    EstimatedAttention,
    InducedAttention,
    KNNAttention,
    LinearAttention,
    NoAttention,
    RotaryAttention,
    SampledAttention,
    SparseAttention,
    StratifiedAttention,
    SummedAttention,
)
from sampled_transformer.attention.attended import Points
from sampled_transformer.attention.cyclic import CyclicAttention
from sampled_transformer.cycles import Cycle

Pattern = list[list[int]]  # for every point, the points to which it attends


def each_set(x: Tensor, mask: Tensor | None, ptr: Tensor | None) -> Iterator[tuple[int, Tensor]]:
    """Number and row indices of every set; the indices address the flattened points."""
    if ptr is not None:
        for i in range(len(ptr) - 1):
            yield i, torch.arange(int(ptr[i]), int(ptr[i + 1]))
        return
    batch, n = x.shape[:2]
    for i in range(batch):
        index = torch.arange(i * n, (i + 1) * n)
        yield i, index if mask is None else index[mask[i]]


def reference(
    layer: Attention, x: Tensor, positions: Tensor, mask=None, ptr=None, cycle: Cycle | None = None
) -> Tensor:
    """What the layer must answer, set by set."""
    rows, places = [], []
    for i, index in each_set(x, mask, ptr):
        if len(index) == 0:
            continue
        orders = _orders(layer, len(index), index, i, cycle)
        points, where = x.flatten(0, -2)[index], positions.flatten(0, -2)[index]
        answers = [attend(layer, points, where, order) for order in orders]
        rows.append(sum(answers) / len(answers))
        places.append(index)
    out = torch.zeros_like(x.flatten(0, -2))
    if rows:
        out = out.index_put((torch.cat(places),), torch.cat(rows))
    return out.view_as(x)


def reference_across(
    layer: Attention,
    x: Tensor,
    positions: Tensor,
    context: Tensor,
    context_positions: Tensor,
    mask=None,
    ptr=None,
    context_mask=None,
    context_ptr=None,
) -> Tensor:
    """What the layer must answer to queries that read a context, set by set; zeros where there is nothing to read."""
    rows, places = [], []
    others = dict(each_set(context, context_mask, context_ptr))
    for i, index in each_set(x, mask, ptr):
        if len(index) == 0 or len(others[i]) == 0:
            continue
        points, where = x.flatten(0, -2)[index], positions.flatten(0, -2)[index]
        read, there = context.flatten(0, -2)[others[i]], context_positions.flatten(0, -2)[others[i]]
        rows.append(attend_across(layer, points, where, read, there))
        places.append(index)
    out = torch.zeros_like(x.flatten(0, -2))
    if rows:
        out = out.index_put((torch.cat(places),), torch.cat(rows))
    return out.view_as(x)


def attend_across(layer: Attention, x: Tensor, positions: Tensor, context: Tensor, there: Tensor) -> Tensor:
    n = len(context)
    if isinstance(layer, SampledAttention):
        draws = layer.draw_rows(Points(x[None], None, None), Points(context[None], None, None))
        answers = []
        for drawn in draws:  # (1, heads, queries, 2)
            patterns = [[[j for j in pair if j >= 0] for pair in rows] for rows in drawn[0].tolist()]
            answers.append(multi_head(layer, x, patterns, context))
        return sum(answers) / len(answers)
    if isinstance(layer, SummedAttention):
        return weighted(layer, x, sums(layer, context), context)
    if isinstance(layer, LinearAttention):
        return weighted(layer, x, lambda h, k, j, query, key: (phi(query) * phi(key)).sum(), context)
    if isinstance(layer, RotaryAttention):
        return rotary(layer, x, positions, context, there)
    if isinstance(layer, DenseAttention):
        return multi_head(layer, x, [[list(range(n))] * len(x)] * layer.heads, context)
    if isinstance(layer, KNNAttention):
        pattern = nearest(positions, layer.k, there)
        if layer.vector:
            return vector_attention(layer, x, positions, pattern, context, there)
        return multi_head(layer, x, [pattern] * layer.heads, context)
    assert isinstance(layer, InducedAttention)
    return induced(layer, x, context)


def _orders(layer: Attention, n: int, index: Tensor, number: int, cycle: Cycle | None) -> list[list[list[int]] | None]:
    """The cycles of one set, for every head written out in the set's own numbering."""
    if not isinstance(layer, CyclicAttention) or not layer.is_random:
        return [None]
    if cycle is not None:
        order = cycle.order[number] if cycle.order.dim() == 3 else cycle.order
        first = 0 if cycle.ptr is None else int(cycle.ptr[number])
        if cycle.ptr is not None:
            rows = [[int(k) - first for k in row[first : first + n]] for row in order]
        elif cycle.order.dim() == 3:
            local = {int(k) % cycle.n: place for place, k in enumerate(index)}
            rows = [[local[int(k)] for k in row if k >= 0] for row in order]
        else:
            rows = order.tolist()
        return [rows * (layer.heads // len(rows))]
    heads = layer.heads if layer.cycles == "per-head" else 1
    drawn = [Cycle.from_seed((layer.seed, layer.layer, m), n, heads).order.tolist() for m in range(layer.samples)]
    return [rows * (layer.heads // len(rows)) for rows in drawn]


def attend(layer: Attention, x: Tensor, positions: Tensor, orders: list[list[int]] | None) -> Tensor:
    n = len(x)
    if isinstance(layer, NoAttention):
        return torch.zeros_like(x)
    if isinstance(layer, SampledAttention):
        assert orders is not None
        if layer.composition == "sequential":
            return in_turn(layer, x, subsets(orders[0], layer.subset))
        return multi_head(layer, x, [sampled_pattern(layer, order) for order in orders])
    if isinstance(layer, EstimatedAttention):
        assert orders is not None
        return weighted(layer, x, few_weights(layer, n, orders))
    if isinstance(layer, SummedAttention):
        return weighted(layer, x, sums(layer, x))
    if isinstance(layer, LinearAttention):
        return linear(layer, x)
    if isinstance(layer, RotaryAttention):
        return rotary(layer, x, positions)
    if isinstance(layer, DenseAttention):
        return multi_head(layer, x, [[list(range(n))] * n] * layer.heads)
    if isinstance(layer, SparseAttention):
        return multi_head(layer, x, [[[k, (k + 1) % n] for k in range(n)]] * layer.heads)
    if isinstance(layer, KNNAttention):
        pattern = nearest(positions, layer.k)
        return (
            vector_attention(layer, x, positions, pattern)
            if layer.vector
            else multi_head(layer, x, [pattern] * layer.heads)
        )
    if isinstance(layer, StratifiedAttention):
        return multi_head(layer, x, [stratified(positions, layer.window, layer.layer % 2 == 1)] * layer.heads)
    assert isinstance(layer, InducedAttention)
    return induced(layer, x)


def head(query: Tensor, keys: list[Tensor], values: list[Tensor], scale: float) -> Tensor:
    """One head of one point: (W_V X_A) softmax[(W_K X_A)^T W_Q x_k], Eq. 1a and 5a."""
    weights = [torch.exp(scale * (query * key).sum()) for key in keys]
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)


def multi_head(layer: Attention, x: Tensor, patterns: list[Pattern], context: Tensor | None = None) -> Tensor:
    """W_O [Head^1; ...; Head^h] for every point, each head with its own pattern."""
    query, key, value = project(layer, x, context)
    rows = []
    for k in range(len(x)):
        heads = []
        for h in range(layer.heads):
            attended = patterns[h][k]
            heads.append(head(query[k, h], [key[j, h] for j in attended], [value[j, h] for j in attended], layer.scale))
        rows.append(layer.output(torch.cat(heads)))
    return torch.stack(rows)


def phi(x: Tensor) -> Tensor:
    return torch.where(x > 0, x + 1, torch.exp(x.clamp(max=0)))


def project(layer: Attention, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, ...]:
    """Queries of x, keys and values of x or of the context, (n, heads, head_dim)."""
    source = x if context is None else context
    parts = ((layer.query, x), (layer.key, source), (layer.value, source))
    return tuple(part(points).view(len(points), layer.heads, layer.head_dim) for part, points in parts)


def weighted(layer: Attention, x: Tensor, weight, context: Tensor | None = None) -> Tensor:
    """Every point reads every point j of its set, or of its context, with weight(head, k, j), normalised."""
    query, key, value = project(layer, x, context)
    rows = []
    for k in range(len(x)):
        heads = []
        for h in range(layer.heads):
            weights = [weight(h, k, j, query[k, h], key[j, h]) for j in range(len(key))]
            heads.append(sum(w * value[j, h] for j, w in enumerate(weights)) / sum(weights))
        rows.append(layer.output(torch.cat(heads)))
    return torch.stack(rows)


def linear(layer: LinearAttention, x: Tensor) -> Tensor:
    return weighted(layer, x, lambda h, k, j, query, key: (phi(query) * phi(key)).sum())


def rotary(
    layer: RotaryAttention, x: Tensor, positions: Tensor, context: Tensor | None = None, there: Tensor | None = None
) -> Tensor:
    """Every pair of points, with the features of the key turned by the angles of their difference."""
    query, key, value = (phi(part) if number < 2 else part for number, part in enumerate(project(layer, x, context)))
    there = positions if there is None else there
    pairs = layer.head_dim // 2
    rows = []
    for k in range(len(x)):
        heads = []
        for h in range(layer.heads):
            total, q = torch.zeros_like(value[0, h]), query[k, h]
            for j in range(len(key)):
                for f in range(pairs):
                    angle = (layer.frequencies[h, f] * (there[j] - positions[k])).sum()
                    first, second = key[j, h, f], key[j, h, f + pairs]
                    turned = first * angle.cos() - second * angle.sin(), first * angle.sin() + second * angle.cos()
                    total = total + (q[f] * turned[0] + q[f + pairs] * turned[1]) * value[j, h]
            heads.append(total / (q * key[:, h].sum(0)).sum())
        rows.append(layer.output(torch.cat(heads)))
    return torch.stack(rows)


def few_weights(layer: EstimatedAttention, n: int, orders: list[list[int]]):
    """The own key, the R points that follow in the cycle, and the rest of the set, ignored or through features."""

    def weight(h: int, k: int, j: int, query: Tensor, key: Tensor) -> Tensor:
        order = orders[h]
        ahead = (order.index(j) - order.index(k)) % n
        exponential = torch.exp(layer.scale * (query * key).sum())
        if ahead == 0:
            return exponential
        if ahead <= layer.rounds:
            read = min(layer.rounds, n - 1)
            return exponential * ((n - 1) / read if layer.estimator == "consistent" else 1)
        if layer.rest == "ignored":
            return exponential * 0
        return (phi(query) * phi(key)).sum() / layer.head_dim

    return weight


def sums(layer: SummedAttention, x: Tensor):
    """Every head reads all points: a feature f of the query chooses among shares of the points, softmax_j(k_jf)."""
    shares = torch.softmax(project(layer, x)[1], 0)
    return lambda h, k, j, query, key: (torch.softmax(query, 0) * shares[j, h]).sum()


def subsets(order: list[int], size: int) -> list[list[int]]:
    """Eq. 3: R^i joined with the first element of the next R, as sets: what is there already is not joined again."""
    parts = [order[i : i + size - 1] for i in range(0, len(order), size - 1)]
    windows = []
    for i, part in enumerate(parts):
        link = parts[(i + 1) % len(parts)][0]
        windows.append(part if link in part else [*part, link])
    return windows


def sampled_pattern(layer: SampledAttention, order: list[int]) -> Pattern:
    n = len(order)
    pattern: Pattern = [[] for _ in range(n)]
    if layer.inner == "hamiltonian":
        for place, k in enumerate(order):
            pattern[k] = [k, order[(place + 1) % n]]
        return pattern
    for i, window in enumerate(subsets(order, layer.subset)):
        for k in order[i * (layer.subset - 1) : (i + 1) * (layer.subset - 1)]:
            pattern[k] = window
    return pattern


def in_turn(layer: SampledAttention, x: Tensor, windows: list[list[int]]) -> Tensor:
    """Eq. 5c: g^l o ... o g^1, each on the columns as the one before has left them."""
    columns = list(x)
    for window in windows:
        subset = torch.stack([columns[k] for k in window])
        size = len(window)
        if layer.inner == "hamiltonian":
            pattern = [[k, k + 1] if k + 1 < size else [k] for k in range(size)]  # Eq. 4
            if len(windows) == 1:  # one subset holds the set: its path closes on its own first point
                pattern[-1] = [size - 1, 0] if size > 1 else [0]
        else:
            pattern = [list(range(size))] * size
        updated = subset + multi_head(layer, subset, [pattern] * layer.heads)  # Eq. 5b
        for place, k in enumerate(window):
            columns[k] = updated[place]
    return torch.stack(columns) - x


def nearest(positions: Tensor, k: int, there: Tensor | None = None) -> Pattern:
    here = positions.detach()
    there = here if there is None else there.detach()
    distance = [[float((one - other).square().sum()) for other in there] for one in here]
    return [sorted(range(len(there)), key=lambda j: distance[i][j])[:k] for i in range(len(here))]


def vector_attention(
    layer: KNNAttention,
    x: Tensor,
    positions: Tensor,
    pattern: Pattern,
    context: Tensor | None = None,
    there: Tensor | None = None,
) -> Tensor:
    """Point Transformer's Eq. 3: sum_j rho(gamma(phi(x_i) - psi(x_j) + delta)) * (alpha(x_j) + delta)."""
    source, there = (x, positions) if context is None or there is None else (context, there)
    rows = []
    for i, attended in enumerate(pattern):
        offsets = [layer.offset(positions[i] - there[j]) for j in attended]
        scores = [
            layer.relation(layer.query(x[i]) - layer.key(source[j]) + o) for j, o in zip(attended, offsets, strict=True)
        ]
        weights = torch.softmax(torch.stack(scores), 0)
        values = torch.stack([layer.value(source[j]) + o for j, o in zip(attended, offsets, strict=True)])
        rows.append(layer.output((weights * values).sum(0)))
    return torch.stack(rows)


def stratified(positions: Tensor, window: float, shifted: bool) -> Pattern:
    """Every point of the small window, and the farthest-point subset in the large one but not in the small one."""
    n = len(positions)
    points = positions.detach().tolist()
    shift = window / 2 if shifted else 0.0

    def cell(p: list[float], side: float, by: float) -> tuple[int, ...]:
        return tuple(int((c + by) // side) for c in p)

    middle = [sum(p[a] for p in points) / n for a in range(len(points[0]))]
    gap = [[sum((a - b) ** 2 for a, b in zip(p, q, strict=True)) for q in points] for p in points]
    chosen = [max(range(n), key=lambda i: sum((a - b) ** 2 for a, b in zip(points[i], middle, strict=True)))]
    while len(chosen) < n // 8 + 1:
        chosen.append(max(range(n), key=lambda i: min(gap[i][j] for j in chosen)))
    pattern = []
    for p in points:
        near = [j for j in range(n) if cell(points[j], window, shift) == cell(p, window, shift)]
        wide = [j for j in chosen if cell(points[j], 2 * window, 2 * shift) == cell(p, 2 * window, 2 * shift)]
        pattern.append(near + [j for j in wide if j not in near])
    return pattern


def induced(layer: InducedAttention, x: Tensor, context: Tensor | None = None) -> Tensor:
    """MAB(X, MAB(I, X)) without the outer residual and feed-forward layer, which belong to the block."""
    shape, source = (layer.heads, layer.head_dim), x if context is None else context
    key, value = layer.summary_key(source).view(-1, *shape), layer.summary_value(source).view(-1, *shape)
    read = list(range(len(source)))
    pairs = layer.draw(source[None], None)[0, 0].view(2, -1).tolist() if layer.sampled else None
    rows = []
    for i, point in enumerate(layer.inducing):
        query = layer.summary_query(point).view(shape)
        seen = read if pairs is None else [pairs[0][i], pairs[1][i]]
        heads = [
            head(query[h], [key[j, h] for j in seen], [value[j, h] for j in seen], layer.scale)
            for h in range(layer.heads)
        ]
        rows.append(point + layer.summary_output(torch.cat(heads)))
    summary = torch.stack(rows)
    feed_forward = layer.summary_feed_forward
    summary = summary + feed_forward.contract(torch.relu(feed_forward.expand(summary)))
    key, value = layer.key(summary).view(-1, *shape), layer.value(summary).view(-1, *shape)
    rows = []
    for point in x:
        query = layer.query(point).view(shape)
        heads = [head(query[h], list(key[:, h]), list(value[:, h]), layer.scale) for h in range(layer.heads)]
        rows.append(layer.output(torch.cat(heads)))
    return torch.stack(rows)
