"""k nearest neighbours: a k-d tree for large sets on the CPU, chunked distances otherwise."""

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..sets import Integers, buckets, check_pair, check_points, pad_sets
from .precision import result_dtype, wide_dtype
from .tracing import exporting, never_compiled

CPU_CHUNK = 1 << 17  # distances per chunk: 1 MB in float64, which fits in the cache
DEVICE_CHUNK = 1 << 22  # larger chunks suit other devices, and give a compiled graph fewer steps
TREE_POINTS, TREE_QUERIES = 512, 64  # for smaller sets a tree is not worth building
TREE_DIMENSION = 8  # in more dimensions a tree visits almost every point


@torch.no_grad()
def nearest_neighbours(
    points: Tensor,
    k: int,
    *,
    queries: Tensor | None = None,
    mask: Tensor | None = None,
    ptr: Integers | None = None,
    batch: Integers | None = None,
    query_mask: Tensor | None = None,
    query_ptr: Integers | None = None,
    query_batch: Integers | None = None,
) -> tuple[Tensor, Tensor]:
    """Find the `k` nearest points to each query within its set, nearest first.

    Without `queries` the points themselves are the queries. Each point is then its own first neighbour, even if other
    points coincide with it. The order of other points at equal distance is undefined. Distances carry no gradient.

    On the CPU, scipy's cKDTree searches sets with at least 512 points, at least 64 queries and at most 8 coordinates,
    on as many threads as torch uses. In all other cases we compute every distance, one chunk at a time: in float64 on
    the CPU, elsewhere in at least float32. An exported graph computes them all at once.
    We sum squared differences, because |a|² + |b|² - 2ab is too inaccurate for points close to each other.

    Args:
        points: (batch, n, dimension), or packed (total, dimension) together with `ptr` or `batch`.
        k: Neighbours per query.
        queries: (batch, m, dimension), or packed (total queries, dimension) together with `query_ptr`.
        mask, query_mask: (batch, n) and (batch, m), True where a point or query is real.
        ptr, query_ptr: (sets + 1,), the start and end of each packed set.
        batch, query_batch: (total,), the number of the set of each point or query, instead of ptr and query_ptr.

    Returns:
        Indices and squared distances, (batch, m, k), or packed (total queries, k) with row indices into `points`.
        They are -1 and infinity for padded queries, and where a set has fewer than k points.
    """
    if k < 1:
        raise ValueError(f"k: expected at least 1, got {k}")
    points, ptr = check_points(points, "points", mask, ptr, batch=batch)
    own = queries is None
    if queries is None:
        if any(given is not None for given in (query_mask, query_ptr, query_batch)):
            raise ValueError("queries: expected queries with query_mask, query_ptr or query_batch, got none")
        queries, query_mask, query_ptr = points, mask, ptr
    else:
        queries, query_ptr = check_points(queries, "queries", query_mask, query_ptr, "query_", query_batch)
        check_pair(points, queries, ptr, query_ptr, ("points", "queries", "", "query_"))
    indices, squared = find_neighbours(points, queries, k, mask, query_mask, ptr, query_ptr, own)
    return indices, squared.to(result_dtype(points, queries))


def find_neighbours(
    points: Tensor,
    queries: Tensor,
    k: int,
    mask: Tensor | None,
    query_mask: Tensor | None,
    ptr: Tensor | None,
    query_ptr: Tensor | None,
    own: bool,
) -> tuple[Tensor, Tensor]:
    """`nearest_neighbours` without the checks; `own` means that query i is point i."""
    if ptr is None or query_ptr is None:
        return _padded(points, queries, k, mask, query_mask, own)
    return _packed(points, queries, k, ptr, query_ptr, own)


@never_compiled
def _packed(
    points: Tensor, queries: Tensor, k: int, ptr: Tensor, query_ptr: Tensor, own: bool
) -> tuple[Tensor, Tensor]:
    if len(ptr) == 2:  # one set needs no padding, and may be a scan of millions of points
        found, distance = _padded(points.unsqueeze(0), queries.unsqueeze(0), k, None, None, own)
        return found[0], distance[0].to(wide_dtype(points, queries))
    indices = points.new_full((len(queries), k), -1, dtype=torch.int64)
    squared = points.new_full((len(queries), k), torch.inf, dtype=wide_dtype(points, queries))
    for sets in buckets(ptr, query_ptr):
        padded, mask = pad_sets(points, ptr, sets)
        padded_queries, query_mask = pad_sets(queries, query_ptr, sets)
        found, distance = _padded(padded, padded_queries, k, mask, query_mask, own)
        rows = (query_ptr[sets].unsqueeze(1) + torch.arange(query_mask.shape[1], device=points.device))[query_mask]
        found = torch.where(found < 0, -1, found + ptr[sets].view(-1, 1, 1))
        indices[rows], squared[rows] = found[query_mask], distance[query_mask]
    return indices, squared


def _padded(
    points: Tensor, queries: Tensor, k: int, mask: Tensor | None, query_mask: Tensor | None, own: bool
) -> tuple[Tensor, Tensor]:
    if exporting():
        indices, squared = _at_once(points, queries, k, mask, own)
    elif (
        points.device.type == "cpu"
        and points.shape[1] >= TREE_POINTS
        and queries.shape[1] >= TREE_QUERIES
        and points.shape[2] <= TREE_DIMENSION
    ):
        return _tree(points, queries, k, mask, query_mask, own)
    else:
        indices, squared = _chunked(points, queries, k, mask, own)
    indices = indices.masked_fill(squared.isinf(), -1)
    if query_mask is not None:
        padding = ~query_mask.unsqueeze(-1)
        indices, squared = indices.masked_fill(padding, -1), squared.masked_fill(padding, torch.inf)
    return indices, squared


def _at_once(points: Tensor, queries: Tensor, k: int, mask: Tensor | None, own: bool) -> tuple[Tensor, Tensor]:
    """Compute all distances in one step, so that an exported graph works for any number of sets and points.

    The k columns of infinity spare the graph a case of its own for sets of fewer than k points.
    """
    dtype = wide_dtype(points, queries)
    axes = zip(queries.to(dtype).unbind(-1), points.to(dtype).unbind(-1), strict=True)
    distance = sum(
        ((one.unsqueeze(2) - other.unsqueeze(1)).square() for one, other in axes), start=points.new_zeros(())
    )
    if mask is not None:
        distance = distance.masked_fill(~mask.unsqueeze(1), torch.inf)
    if own:  # -1 puts a point before all points that coincide with it
        place = torch.arange(points.shape[1], device=points.device)
        distance = distance.masked_fill(place == place.unsqueeze(1), -1.0)
    squared, indices = pad(distance, (0, k), value=torch.inf).topk(k, largest=False)
    return indices, squared.clamp(min=0.0)


def _chunked(points: Tensor, queries: Tensor, k: int, mask: Tensor | None, own: bool) -> tuple[Tensor, Tensor]:
    """Compute the distances in chunks of some sets and some queries."""
    batch, n, m = points.shape[0], points.shape[1], queries.shape[1]
    indices = points.new_full((batch, m, k), -1, dtype=torch.int64)
    squared = points.new_full((batch, m, k), torch.inf, dtype=wide_dtype(points, queries))
    if batch == 0 or n == 0 or m == 0:
        return indices, squared
    eager_cpu = points.device.type == "cpu" and not torch.compiler.is_compiling()
    chunk = CPU_CHUNK if eager_cpu else DEVICE_CHUNK
    rows = max(1, min(m, chunk // n))
    sets = max(1, min(batch, chunk // (n * rows)))
    kept = min(k, n)
    scratch = squared.new_empty((2, sets * rows * n))  # allocating memory per chunk would cost more than the sums
    for set_begin in range(0, batch, sets):
        some = slice(set_begin, set_begin + sets)
        planes = _planes(points[some], squared.dtype)
        some_mask = None if mask is None else mask[some]
        for begin in range(0, m, rows):
            those = slice(begin, begin + rows)
            query_planes = _planes(queries[some, those], squared.dtype)
            found = _nearest(planes, query_planes, kept, some_mask, begin if own else None, scratch)
            indices[some, those, :kept], squared[some, those, :kept] = found
    return indices, squared


def _planes(points: Tensor, dtype: torch.dtype) -> Tensor:
    """One plane per coordinate, (dimension, sets, n), so that the sums read memory in order."""
    return points.permute(2, 0, 1).to(dtype, memory_format=torch.contiguous_format).contiguous()


def _nearest(
    points: Tensor, queries: Tensor, k: int, mask: Tensor | None, own_begin: int | None, scratch: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Neighbours from coordinate planes. Query i is point own_begin + i itself, unless own_begin is None."""
    distance = _distances(points, queries, scratch)
    if mask is not None:
        distance.masked_fill_(~mask.unsqueeze(1), torch.inf)
    if own_begin is not None:  # -1 puts a point before all points that coincide with it
        distance.diagonal(own_begin, 1, 2).fill_(-1.0)
    squared, indices = distance.min(2, keepdim=True) if k == 1 else distance.topk(k, largest=False)
    return indices, squared.clamp_(min=0.0)


def _distances(points: Tensor, queries: Tensor, scratch: Tensor | None) -> Tensor:
    """Squared distances (sets, m, n) between planes (dimension, sets, n) and (dimension, sets, m), in `scratch`."""
    sets, m, n = queries.shape[1], queries.shape[2], points.shape[2]
    if scratch is None:
        scratch = queries.new_empty((2, sets * m * n))
    squared, offset = scratch[:, : sets * m * n].view(2, sets, m, n).unbind()
    for axis, (point, query) in enumerate(zip(points, queries, strict=True)):
        torch.sub(query.unsqueeze(2), point.unsqueeze(1), out=offset)
        torch.mul(offset, offset, out=squared) if axis == 0 else squared.addcmul_(offset, offset)
    return squared


@never_compiled
def _tree(
    points: Tensor, queries: Tensor, k: int, mask: Tensor | None, query_mask: Tensor | None, own: bool
) -> tuple[Tensor, Tensor]:
    if len(points) == 1 and mask is None and query_mask is None and 0 < k <= points.shape[1]:
        found, distance = _tree_of_one(points[0], queries[0], k, own)  # which is all: millions of rows need no copy
        return found.unsqueeze(0), distance.unsqueeze(0)
    indices = points.new_full((*queries.shape[:2], k), -1, dtype=torch.int64)
    squared = points.new_full((*queries.shape[:2], k), torch.inf, dtype=torch.float64)
    every = torch.arange(points.shape[1])
    every_query = torch.arange(queries.shape[1])
    for number in range(len(points)):
        real = every if mask is None else every[mask[number]]
        asked = every_query if query_mask is None else every_query[query_mask[number]]
        if len(real) == 0 or len(asked) == 0:
            continue
        kept = min(k, len(real))
        found, distance = _tree_of_one(points[number, real], queries[number, asked], kept, own)
        indices[number, asked, :kept] = real[found]
        squared[number, asked, :kept] = distance
    return indices, squared


def _tree_of_one(points: Tensor, queries: Tensor, k: int, own: bool) -> tuple[Tensor, Tensor]:
    """Rows and squared distances, (queries, k) each, of one set that has at least k points."""
    from scipy.spatial import cKDTree

    tree = cKDTree(points.double().numpy())
    distance, found = tree.query(queries.double().numpy(), k=range(1, k + 1), workers=torch.get_num_threads())
    indices = torch.from_numpy(found)
    if own:
        _put_self_first(indices)
    return indices, torch.from_numpy(distance).square_()


def _put_self_first(found: Tensor) -> None:
    """Make each point its own first neighbour: if points coincide, the tree may put another first or drop the point."""
    own = torch.arange(len(found))
    rows = (found[:, 0] != own).nonzero().squeeze(1)
    others = found[rows]
    keep = others != own[rows].unsqueeze(1)
    keep[:, -1] &= ~keep.all(1)
    found[rows] = torch.cat([own[rows].unsqueeze(1), others[keep].view(len(rows), found.shape[1] - 1)], 1)
