"""From what a user has (arrays, files, meshes) to what a trained network reads: one path for all of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from ..data.axes import AXES, check_up, standard_up, turn, turn_raw
from ..data.errors import DataError
from ..data.files import Draw, Normals, check_raw, draw_shape, named_errors, read_all_draws, read_draws
from ..data.formats.meshes import Mesh
from ..data.formats.point_files import Cloud, split_columns
from ..data.formats.scenes import from_trimesh
from ..data.limits import enough_memory
from ..data.quantise import check_coordinates
from ..data.transforms import Transform
from ..support.printable import printable
from ..training.loading import View
from .answers import ESTIMATED

Form = Literal["one", "array", "list"]  # one set, an array of sets of one size, a list of sets
KINDS = "an array, a list of sets, a file or a trimesh"


@dataclass(frozen=True)
class Prepared:
    """One set as a network reads it: drawn, normalised and transformed."""

    name: str  # of the file or the argument
    view: View  # of the network
    points: Tensor  # (n, 3) float32
    normals: Tensor | None  # (n, 3) float32, if the network reads them
    notes: tuple[str, ...]  # what is worth knowing about the way there
    draw: Draw  # where the points come from
    order: np.ndarray  # (n,), which point of the draw each point is
    up: str | None = None  # the axis of the input that was taken for up; None if the axes stayed as they are

    def __repr__(self) -> str:
        normals = "no normals" if self.normals is None else "normals"
        return f"Prepared({self.name!r}, {len(self.points)} points, {normals}{''.join(f'; {n}' for n in self.notes)})"


def prepare_sets(
    view: View, points: Any, normals: Any = None, name: str | None = None, up: str | None = None
) -> tuple[list[Prepared], Form]:
    """Prepare every set, and say in which form they came; the arguments are those of `prepare_sides`."""
    check_up(up)
    sides, form = prepare_sides(view, points, normals, name, up)
    return [own[0] for own in sides], form


def prepare_sides(
    view: View, points: Any, normals: Any = None, name: str | None = None, up: str | None = None
) -> tuple[list[list[Prepared]], Form]:
    """Prepare every set once, or once per axis that may be up, and say in which form the sets came.

    Args:
        view: How the network sees shapes.
        points: One set: an array (n, 3), or (n, 6) with unit normals, a file, or a trimesh. Several sets: an array
            (batch, n, 3) or (batch, n, 6), or a list of any of these. Arrays may be numpy's or torch's. What `read_raw`
            gives is one set, too.
        normals: Normals of the points in the same form, if points are arrays.
        name: Text that seeds the draw instead of the points themselves, see `read_shape`.
        up: The axis that is up in the sets, which are turned as the network expects them (default: what the format of
            a file prescribes, or else the axes stay as they are); "auto" prepares every set with each of the six.
    """
    check_up(up, auto=True)
    sets, form = _split(points)
    if not sets:
        raise DataError("points: expected at least one set, got none")
    return [
        _prepare(view, one, own, "points" if form == "one" else f"points[{number}]", name, up)
        for number, (one, own) in enumerate(zip(sets, _split_normals(normals, len(sets), form), strict=True))
    ], form


def prepare_files(
    view: View, paths: Sequence[Path], up: str | None = None
) -> Generator[list[Prepared] | DataError, None, None]:
    """`prepare_sides` for many files at once; a file that cannot be read gives the error instead.

    Where another process reads (data/guard.py), it reads the next file while this one prepares the last.
    """
    check_up(up, auto=True)
    transform = view.transforms()[1]
    requests = [(path, _axes(path, up)) for path in paths]
    found = read_all_draws(requests, view.up or "z", view.points, _normals(view))
    for (path, axes), draws in zip(requests, found, strict=True):
        answer: list[Prepared] | DataError
        try:
            with enough_memory(printable(path)):
                answer = draws if isinstance(draws, DataError) else _sides(view, transform, path, axes, draws, up)
        except DataError as error:
            answer = error
        yield answer


def _axes(path: Path, up: str | None) -> Sequence[str | None]:
    """The axes that may be up in a file."""
    return AXES if up == "auto" else (up or standard_up(path),)


def _sides(
    view: View, transform: Transform, path: Path, axes: Sequence[str | None], draws: Sequence[Draw], up: str | None
) -> list[Prepared]:
    """What was drawn from a file as the network reads it, once per axis."""
    where = printable(path)
    with named_errors(where):
        sides = [_seen(view, transform, draw, where, axis) for axis, draw in zip(axes, draws, strict=True)]
    if up is None and axes[0] is not None:
        return [replace(one, notes=(*one.notes, f"{axes[0]} is up, as in every glTF file")) for one in sides]
    return sides


def _split(points: Any) -> tuple[list[Any], Form]:
    if isinstance(points, Mesh | Cloud):  # tuples themselves
        return [points], "one"
    if isinstance(points, Tensor) and points.is_nested:
        return list(points.unbind()), "list"
    if isinstance(points, list | tuple):
        return list(points), "list"
    if isinstance(points, np.ndarray | Tensor) and points.ndim == 3:
        return list(points), "array"
    return [points], "one"


def _split_normals(normals: Any, count: int, form: Form) -> Sequence[Any]:
    if normals is None or form == "one":
        return [normals] * count
    sets, own_form = _split(normals)
    if own_form == "one" or len(sets) != count:
        got = "one array" if own_form == "one" else f"{len(sets)}"
        raise DataError(f"normals: expected those of {count} sets, as many as points has, got {got}")
    return sets


def _prepare(view: View, one: Any, normals: Any, where: str, name: str | None, up: str | None) -> list[Prepared]:
    if isinstance(one, Prepared):
        if one.view != view:
            raise DataError(f"{where}: expected a set prepared for {view}, got one for {one.view}")
        if up not in (None, one.up):
            raise DataError(f"up: expected none for a set that is prepared, got {up}")
        return [one]
    transform = view.transforms()[1]
    if isinstance(one, str | os.PathLike):
        path = Path(one)
        _refuse_normals(normals, "a file")
        axes = _axes(path, up)
        draws = read_draws(path, axes, view.up or "z", name, view.points, _normals(view))
        return _sides(view, transform, path, axes, draws, up)
    if isinstance(one, Mesh | Cloud):
        _refuse_normals(normals, "a mesh or cloud that was read")
        raw = one
    elif _is_trimesh(one):
        _refuse_normals(normals, "a trimesh")
        with named_errors(where):
            raw = check_raw(from_trimesh(one))
    else:
        raw = _cloud(one, normals, where)
    with named_errors(where):
        return [_side(view, transform, raw, where, name, axis) for axis in (AXES if up == "auto" else (up,))]


def _side(
    view: View, transform: Transform, raw: Mesh | Cloud, where: str, name: str | None, up: str | None
) -> Prepared:
    """A set as the network reads it if `up` is up in it."""
    turned = turn_raw(raw, up, view.up or "z")
    draw = draw_shape(turned, name, points=view.points, normals=_normals(view))
    return _seen(view, transform, draw, where, up)


def _seen(view: View, transform: Transform, draw: Draw, where: str, up: str | None) -> Prepared:
    """What was drawn as the network reads it; `up` was up in the input."""
    seen = _transformed(view, transform, draw, where, _notes(view, draw))
    if up is None:
        return seen
    return replace(seen, up=up, draw=draw._replace(places=turn(draw.places, view.up or "z", up)))


def seen_by(view: View, one: Prepared) -> Prepared:
    """The same draw as another network reads it, one for as many points."""
    return replace(_transformed(view, view.transforms()[1], one.draw, one.name, one.notes), up=one.up)


def repeats_points(draw: Draw) -> bool:
    """Whether some of the points that were drawn repeat others in the file itself."""
    return draw.rows is not None and len(np.unique(draw.rows)) > draw.shape.distinct


def repetition_note(draw: Draw, count: int) -> str | None:
    """What to say if some of the `count` points that a network reads are repeated; None if none are."""
    distinct = draw.shape.distinct
    if distinct >= count:
        return None
    if repeats_points(draw):
        return f"only {distinct} of the {count} points the network reads differ; the file repeats points"
    return f"only {distinct} points; repeated some to get the {count} the network reads"


def _normals(view: View) -> Normals:
    return "estimate" if view.normals else "none"


def _notes(view: View, draw: Draw) -> tuple[str, ...]:
    notes = []
    if draw.shape.estimated:
        notes.append(ESTIMATED)
    few = repetition_note(draw, view.points)
    if few is not None:
        notes.append(few)
    if draw.shape.unused:
        notes.append(f"{draw.shape.unused} not used")
    return tuple(notes)


def _transformed(view: View, transform: Transform, draw: Draw, where: str, notes: tuple[str, ...]) -> Prepared:
    drawn, own = torch.from_numpy(draw.shape.points)[None], draw.shape.normals
    # A transform may put points in another order, and takes what comes as normals along: their numbers as well.
    numbers = torch.arange(drawn.shape[1], dtype=torch.float64)[None, :, None].expand(drawn.shape)
    points, moved = transform(drawn, numbers)
    normals = None if own is None else transform(drawn, torch.from_numpy(own)[None])[1]
    assert moved is not None
    order = moved[0, :, 0].long().numpy()
    return Prepared(where, view, points[0], None if normals is None else normals[0], notes, draw, order)


def _is_trimesh(thing: Any) -> bool:
    trimesh = sys.modules.get("trimesh")  # whoever has one has loaded it
    return trimesh is not None and isinstance(thing, trimesh.Trimesh | trimesh.PointCloud | trimesh.Scene)


def _refuse_normals(normals: Any, kind: str) -> None:
    if normals is not None:
        raise DataError(f"normals: expected None for {kind}, which has its own, got {type(normals).__name__}")


def _cloud(one: Any, normals: Any, where: str) -> Cloud:
    """Points, and normals if there are any, of one array."""
    table = _array(one, where)
    if table.ndim != 2 or table.shape[1] not in (3, 6):
        batches = " or (batch, n, 3)" if where == "points" else ""
        raise DataError(f"{where}: expected the shape (n, 3){batches}, or six columns with normals, got {table.shape}")
    points = check_coordinates(table[:, :3], where)
    if normals is not None:
        given = _array(normals, "normals")
        if given.shape != points.shape:
            raise DataError(f"normals: expected {points.shape}, the shape of {where}, got {given.shape}")
        return Cloud(points, check_coordinates(given, "normals"))
    if table.shape[1] == 3:
        return Cloud(points)
    found = split_columns(table).normals
    if found is None:
        others = "got others; give positions and normals= apart"
        raise DataError(f"{where}: expected unit normals in the last three of six columns, {others}")
    return Cloud(points, check_coordinates(found, "normals"))


def _array(values: Any, where: str) -> np.ndarray:
    if isinstance(values, Tensor):
        values = values.detach().cpu()
        if values.dtype in (torch.bfloat16, torch.float16):
            values = values.float()
        return np.asarray(values.numpy())
    try:
        array = np.asarray(values)
    except ValueError:
        raise DataError(f"{where}: expected {KINDS}, got rows of different lengths") from None
    if array.dtype == object:
        raise DataError(f"{where}: expected {KINDS}, got {type(values).__name__}")
    return array
