"""Describe a pack as text: counts, classes, extents, and one shape drawn from three sides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ..support.printable import printable
from .errors import DataError
from .pack import Pack
from .per_point import width
from .quantise import POINT_SCALE

# A Braille character has 2 x 4 dots; these are the bits of the dots, row by row.
DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
SHADES = " .:*#"
VIEWS = (("x right, y up", 0, 1), ("x right, z up", 0, 2), ("y right, z up", 1, 2))


def draw(across: np.ndarray, up: np.ndarray, columns: int, braille: bool) -> list[str]:
    """Draw points of [-1, 1] x [-1, 1] as text: `columns` wide and half as many lines high, which looks square."""
    rows = columns // 2
    x = ((across + 1) / 2 * (2 * columns - 1)).round().astype(int).clip(0, 2 * columns - 1)
    y = ((1 - up) / 2 * (4 * rows - 1)).round().astype(int).clip(0, 4 * rows - 1)
    cells = np.zeros((rows, columns), int)
    np.bitwise_or.at(cells, (y // 4, x // 2), DOTS[y % 4, x % 2])
    if braille:
        return ["".join(chr(0x2800 + cell) for cell in row) for row in cells.tolist()]
    shade = (np.bitwise_count(cells) + 1) // 2
    return ["".join(SHADES[value] for value in row) for row in shade.tolist()]


def three_views(points: np.ndarray, columns: int = 24, braille: bool = True) -> str:
    """Draw points (n, 3) from three sides, side by side, each under its title."""
    pictures = [draw(points[:, across], points[:, up], columns, braille) for _, across, up in VIEWS]
    title = "  ".join(name.ljust(columns) for name, _, _ in VIEWS)
    return "\n".join([title.rstrip(), *("  ".join(line) for line in zip(*pictures, strict=True))])


def describe(packs: Mapping[str, Pack], shape: int = 0, braille: bool = True) -> str:
    """The text that `data info` prints for the splits of a data set."""
    first_split, first = next(iter(packs.items()))
    if not 0 <= shape < len(first):
        raise DataError(f"shape: expected 0 to {len(first) - 1}, got {shape}")
    parts = [_summary(packs), _class_table(packs), _point_table(packs), _number_table(packs), _figures(packs)]
    name = "" if first.names is None else f" {printable(first.names[shape])}"
    category = "" if first.labels is None or not first.classes else f", {printable(first.classes[first.labels[shape]])}"
    if first.has_numbers:
        category = f", {printable(first.target_name or 'label')} {first.labels[shape]:.6g}"  # type: ignore[index]
    extras = "".join(
        f", {printable(key)} {printable(str(values[shape]))}"
        for key, values in first.extras.items()
        if values.ndim == 1
    )
    start = int(first.counts()[:shape].sum())
    points = first.points.reshape(-1, 3)[start : start + int(first.counts()[shape])] / POINT_SCALE
    parts.append(f"shape {shape} of {first_split}:{name}{category}{extras}\n{three_views(points, braille=braille)}")
    return "\n\n".join(part for part in parts if part)


def _summary(packs: Mapping[str, Pack]) -> str:
    lines = []
    for split, pack in packs.items():
        counts = pack.counts()
        size = f"{counts[0]}" if pack.ptr is None else f"{counts.min()} to {counts.max()}"
        arrays = ["normals"] * (pack.normals is not None) + ["labels"] * (pack.labels is not None)
        arrays += [f"labels of points in {len(pack.point_classes)} classes"] * pack.has_point_labels
        arrays += [_feature(name, width(values, pack.points)) for name, values in pack.features.items()]
        arrays += ["their size"] * (pack.scale is not None) + [printable(key) for key in pack.extras]
        up = f"; {pack.up} is up" if pack.up else ""
        lines.append(f"{split:6}{len(pack):7} shapes of {size} points, with {', '.join(arrays) or 'nothing else'}{up}")
    return "\n".join(lines)


def _class_table(packs: Mapping[str, Pack]) -> str:
    classes = [printable(name) for name in next(iter(packs.values())).classes]
    width = max([len(name) for name in classes], default=0)
    rows = [f"{'class':{max(width, 5)}}" + "".join(f"{split:>8}" for split in packs)]
    for label, name in enumerate(classes):
        counts = [0 if pack.labels is None else int((pack.labels == label).sum()) for pack in packs.values()]
        rows.append(f"{name:{max(width, 5)}}" + "".join(f"{count:8}" for count in counts))
    return "\n".join(rows) if classes else ""


def _feature(name: str, columns: int) -> str:
    return f"feature {name} ({columns} column{'s' * (columns > 1)})"


def _point_table(packs: Mapping[str, Pack]) -> str:
    """The share of the points of each class, in per cent of all points, and of the points to ignore."""
    labelled = {split: pack for split, pack in packs.items() if pack.has_point_labels and len(pack)}
    if not labelled:
        return ""
    classes = next(iter(labelled.values())).point_classes
    name_width = max(len(printable(name)) for name in (*classes, "class of points"))
    rows = [f"{'class of points':{name_width}}" + "".join(f"{split:>9}" for split in labelled)]
    shares = [_shares(pack) for pack in labelled.values()]
    for number, name in enumerate(classes):
        rows.append(f"{printable(name):{name_width}}" + "".join(f"{_at(share, number):7.2f} %" for share in shares))
    if any(share[-1] for share in shares):
        rows.append(f"{'(ignored)':{name_width}}" + "".join(f"{share[-1]:7.2f} %" for share in shares))
    return "\n".join(rows)


def _shares(pack: Pack) -> np.ndarray:
    """Per cent of the points in each class; the last number is that of the points to ignore."""
    assert pack.point_labels is not None
    counts = np.bincount(pack.point_labels.ravel() + 1, minlength=len(pack.point_classes) + 1)
    shares: np.ndarray = 100 * np.roll(counts, -1) / pack.point_labels.size
    return shares


def _at(shares: np.ndarray, number: int) -> float:
    """One share; 0 for classes that a split does not know."""
    return float(shares[number]) if number < len(shares) - 1 else 0.0


def _number_table(packs: Mapping[str, Pack]) -> str:
    """Mean, deviation and range of float labels."""
    measured = {split: pack for split, pack in packs.items() if pack.has_numbers and len(pack)}
    if not measured:
        return ""
    name = next(iter(measured.values())).target_name or "label"
    name = printable(name)
    rows = [f"{name}\n{'':8}{'mean':>12}{'deviation':>12}{'smallest':>12}{'largest':>12}"]
    for split, pack in measured.items():
        values = pack.labels
        assert values is not None
        cells = (values.mean(), values.std(), values.min(), values.max())
        rows.append(f"{split:8}" + "".join(f"{cell:12.6g}" for cell in cells))
    return "\n".join(rows)


def _figures(packs: Mapping[str, Pack]) -> str:
    """Table of the shapes' extents along the axes, their radii and the distance of their centroids from the origin."""
    rows = [f"{'':8}{'x':>18}{'y':>18}{'z':>18}{'radius':>18}{'off centre':>12}"]
    for split, pack in packs.items():
        extent, radius, offset = (np.concatenate(values) for values in zip(*_measure(pack), strict=True))
        columns = [*extent.T, radius]
        spread = "".join(f"{f'{c.mean():.2f} ({c.min():.2f}-{c.max():.2f})':>18}" for c in columns)
        rows.append(f"{split:8}{spread}{offset.max():12.4f}")
    return "extents: mean (min-max)\n" + "\n".join(rows)


def _measure(pack: Pack, step: int = 1024) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield extent (sets, 3), largest norm and norm of the mean, for `step` sets at a time to save memory."""
    counts = pack.counts()
    ends = np.cumsum(counts)
    for first in range(0, len(pack), step):
        count = counts[first : first + step]
        start = np.cumsum(count) - count
        row = int(ends[first] - counts[first])
        points = pack.points.reshape(-1, 3)[row : row + int(count.sum())].astype(np.float32) / POINT_SCALE
        extent = np.maximum.reduceat(points, start) - np.minimum.reduceat(points, start)
        radius = np.sqrt(np.maximum.reduceat(np.square(points).sum(1), start))
        centre = np.add.reduceat(points, start) / count[:, None]
        yield extent, radius, np.sqrt(np.square(centre).sum(1))
