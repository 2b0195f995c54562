"""Cluster the points in a file: a trained network predicts the mixture, EM steps may refine it.

`fit` does the work, `write_clusters` writes JSON, CSV or an SVG picture.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
import torch

from ..data.errors import DataError
from ..models.mixture import Mixture, MixtureNetwork
from ..randomness import is_random
from ..support.atomic import atomic_write
from ..support.palette import hexadecimal
from ..support.printable import printable
from .evaluation import best_of, load_mixture_network
from .files import read_table_of_points
from .likelihood import assign, em_step, log_likelihood
from .number import AUTO, check_number, with_clusters
from .settings import MixtureOptions

COLOURS = tuple(hexadecimal(number) for number in range(10))
MOST_DRAWN = 5000  # points in a picture; more would only make it slow
SHARES = (1.0, 0.8, 0.63, 0.5, 0.4)  # we scale the points to these shares of the largest extent of a training set
SMALLEST_BOX = 1e-6  # relative to the scale of all points; differences below this are rounding errors
MOST_AT_ONCE = 1_000_000  # points per batch, unless a single set has more


@dataclass(frozen=True)
class Clusters:
    """The mixture found for one file, in the units of the file."""

    file: str
    points: np.ndarray  # (n, D)
    weights: np.ndarray  # (K,)
    means: np.ndarray  # (K, D)
    deviations: np.ndarray  # (K, D)
    assignments: np.ndarray  # (n,), the likeliest cluster of each point, from 0
    log_likelihood: float  # per point
    columns: tuple[str, ...] = ()  # names of the coordinates; x1, x2 and so on if the file has none

    @property
    def names(self) -> list[str]:
        """A name for every coordinate."""
        return list(self.columns) or [f"x{axis + 1}" for axis in range(self.points.shape[1])]

    def summary(self) -> dict[str, Any]:
        """The content of the JSON file."""
        counts = np.bincount(self.assignments, minlength=len(self.weights))
        clusters = [
            {"weight": weight, "mean": mean, "deviation": deviation, "points": count}
            for weight, mean, deviation, count in zip(
                self.weights.tolist(), self.means.tolist(), self.deviations.tolist(), counts.tolist(), strict=True
            )
        ]
        return {
            "file": self.file,
            "columns": self.names,
            "points": len(self.points),
            "log_likelihood": self.log_likelihood,
            "clusters": clusters,
            "assignments": self.assignments.tolist(),
        }


def fit(
    path: str | Path,
    weights: Path,
    *,
    clusters: int | str = AUTO,
    refine: int = 0,
    samples: int = 1,
    device: str | None = None,
) -> Clusters:
    """Read the points in a file and find their mixture.

    Args:
        path: File of points: one row per point with as many numbers as the network has dimensions. A network for
            3-D points reads every known file format.
        weights: Weights file from `cluster train`.
        clusters: Number of clusters, up to those that the network predicts; "auto" chooses it, see `with_clusters`.
        refine: Number of EM steps after the prediction.
        samples: Predict this many times and keep the likeliest mixture.
        device: Device (default: GPU if available).
    """
    if refine < 0:
        raise ValueError(f"refine: expected at least 0 EM steps, got {refine}")
    if samples < 1:
        raise ValueError(f"samples: expected at least 1, got {samples}")
    network, _, trained_on = load_mixture_network(weights, device)
    check_number(clusters, network.components)
    points, columns = read_table_of_points(path, network.inputs)
    settings: Any = {"refine": refine, "samples": samples, "clusters": clusters, "columns": columns}
    return fit_points(network, trained_on, points, str(path), **settings)


def fit_points(
    network: MixtureNetwork,
    trained_on: MixtureOptions,
    points: np.ndarray,
    name: str,
    *,
    refine: int = 0,
    samples: int = 1,
    clusters: int | str = AUTO,
    columns: tuple[str, ...] = (),
) -> Clusters:
    """`fit` for points (n, D) in memory.

    `trained_on` says what sets the network knows, `name` is for messages, and `columns` are the names of the axes.
    """
    check_clusters(points, 1 if clusters == AUTO else int(clusters), printable(name))
    central = central_points(points)
    frame, mixture = likeliest(network, points, central, trained_on.spread + trained_on.deviation, samples)
    scaled = torch.from_numpy(frame.into(points))[None]  # float64, because float32 is too coarse for map coordinates
    mixture = with_clusters(torch.from_numpy(frame.into(central))[None], mixture, clusters)
    for _ in range(refine):
        mixture = em_step(scaled, mixture)
    return Clusters(
        name,
        points,
        mixture.log_weights[0].exp().numpy(),
        mixture.means[0].numpy() * frame.scale + frame.centre,
        mixture.deviations[0].numpy() * frame.scale,
        assign(scaled, mixture)[0].numpy(),
        frame.log_likelihood(scaled, mixture).item(),
        columns,
    )


@dataclass(frozen=True)
class Frame:
    """The network's coordinate system: its origin and its unit of length, in the units of the file."""

    centre: np.ndarray  # (D,)
    scale: float

    def into(self, points: np.ndarray) -> np.ndarray:
        """Convert points of the file to the network's coordinates."""
        converted: np.ndarray = (points - self.centre) / self.scale
        return converted

    def log_likelihood(self, scaled: torch.Tensor, mixture: Mixture) -> torch.Tensor:
        """Log-likelihood per point in the units of the file, so that results in different frames are comparable."""
        return log_likelihood(scaled, mixture) - scaled.shape[-1] * float(np.log(self.scale))


def likeliest(
    network: MixtureNetwork, points: np.ndarray, central: np.ndarray, extent: float, samples: int = 1
) -> tuple[Frame, Mixture]:
    """Let the network predict in several frames; return the frame and the mixture with the highest likelihood.

    The network was trained on Gaussians of one deviation, in sets that fill at most +-extent. We do not know the right
    scale for the file's points before they are clustered, so we try several. We do this with all points, and with the
    central points only, because outliers would shrink everything else. The likelihood of the central points decides;
    otherwise, a mixture that explains one outlier and lumps all other points together could win. In the best frame we
    then predict `samples` times.
    """
    place = next(network.parameters()).device
    best: tuple[float, Frame, Mixture, torch.Tensor] | None = None
    inner = _trimmed(central)
    for seen, low, high in ((points, points.min(0), points.max(0)), (central, *inner)):
        half = float((high - low).max()) / 2
        if best is not None and half < SMALLEST_BOX * best[1].scale:
            continue  # most points coincide
        frames = [Frame((low + high) / 2, half / extent / share) for share in SHARES]
        for some in _batches(frames, len(seen)):
            shown = torch.from_numpy(np.stack([frame.into(seen) for frame in some])).float().to(place)
            found = Mixture(*(part.cpu().double() for part in best_of(network, shown)))
            for number, frame in enumerate(some):
                mixture = found.select(slice(number, number + 1))
                value = frame.log_likelihood(torch.from_numpy(frame.into(central))[None], mixture).item()
                if best is None or value > best[0]:
                    best = value, frame, mixture, shown[number : number + 1]
    assert best is not None  # we never skip the first frame
    _, frame, mixture, shown = best
    if samples > 1 and is_random(network):
        mixture = Mixture(*(part.cpu().double() for part in best_of(network, shown, samples)))
    return frame, mixture


def central_points(points: np.ndarray) -> np.ndarray:
    """Drop outliers: points whose distance from the centre exceeds the side of the cube that the middle 98 % fill."""
    low, high = _trimmed(points)
    side = (high - low).max()
    near = (abs(points - (low + high) / 2) <= side).all(1)
    return points[near] if side > 0 and 2 * near.sum() > len(points) else points


def _trimmed(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The 1 % and 99 % quantiles of every coordinate; they leave out at least one point at either end."""
    ordered = np.sort(points, 0)
    left_out = max(1, len(points) // 100) if len(points) > 2 else 0
    return ordered[left_out], ordered[-1 - left_out]


def _batches(frames: list[Frame], n: int) -> Iterator[list[Frame]]:
    """Group the frames into batches that fit into memory."""
    count = max(1, MOST_AT_ONCE // n)
    for start in range(0, len(frames), count):
        yield frames[start : start + count]


def check_clusters(points: np.ndarray, components: int, where: str) -> None:
    """Raise a DataError unless there are at least two different points, and as many as there are clusters."""
    if len(points) < components:
        raise DataError(f"{where}: expected at least {components} points for {components} clusters, got {len(points)}")
    if (points == points[0]).all():
        raise DataError(f"{where}: expected different points, got {len(points)} equal ones")
    different = len(np.unique(points, axis=0))
    if different < components:
        raise DataError(f"{where}: expected at least {components} different points, got {different}")


def write_clusters(clusters: Clusters, path: str | Path) -> None:
    """Write .json (the mixture and the assignments), .csv (one line per point) or .svg (a picture), by file ending."""
    write = {".json": _json, ".csv": _csv, ".svg": picture}[Path(path).suffix.lower()]
    with atomic_write(path) as file:
        file.write(write(clusters).encode("utf-8"))


def _json(clusters: Clusters) -> str:
    return json.dumps(clusters.summary(), indent=1) + "\n"


def _csv(clusters: Clusters) -> str:
    """One line per point: its coordinates, its cluster, and the weight, mean and deviation of the cluster."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    axes = clusters.names
    names = ["cluster", "weight", *(f"{what}_{axis}" for what in ("mean", "deviation") for axis in axes)]
    writer.writerow([*axes, *(f"{name}_found" if name in axes else name for name in names)])
    for point, own in zip(clusters.points.tolist(), clusters.assignments.tolist(), strict=True):
        found = [clusters.weights[own], *clusters.means[own], *clusters.deviations[own]]
        writer.writerow([*point, own, *(float(value) for value in found)])
    return text.getvalue()


def picture(clusters: Clusters, size: int = 640, bare: bool = False) -> str:
    """An SVG picture of the first two coordinates: points coloured by cluster, and ellipses of two deviations.

    A bare one is a small part of a page in any colour: it has no paper, no ranges, and is as wide as its place.
    """
    points = clusters.points[:, :2] if clusters.points.shape[1] > 1 else np.pad(clusters.points, ((0, 0), (0, 1)))
    means, deviations = (np.pad(part, ((0, 0), (0, 1)))[:, :2] for part in (clusters.means, clusters.deviations))
    low, high = points.min(0), points.max(0)
    scale = 0.9 * size / ((high - low).max() or 1)  # all points may agree in the first two coordinates

    def place(where: np.ndarray) -> np.ndarray:
        pixels: np.ndarray = size / 2 + (where - (low + high) / 2) * scale * (1, -1)  # in SVG, y points down
        return pixels

    shown = np.linspace(0, len(points) - 1, min(len(points), MOST_DRAWN)).round().astype(int)
    marks = [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="{COLOURS[own % len(COLOURS)]}" fill-opacity="0.6"/>'
        for (x, y), own in zip(place(points[shown]).tolist(), clusters.assignments[shown].tolist(), strict=True)
    ]
    marks += [
        f'<ellipse cx="{x:.1f}" cy="{y:.1f}" rx="{2 * a * scale:.1f}" ry="{2 * b * scale:.1f}" fill="none" '
        f'stroke="{COLOURS[own % len(COLOURS)]}" stroke-width="2"><title>cluster {own}, weight {weight:.3f}</title>'
        "</ellipse>"
        for own, ((x, y), (a, b), weight) in enumerate(
            zip(place(means).tolist(), deviations.tolist(), clusters.weights.tolist(), strict=True)
        )
    ]
    if bare:
        box = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" role="img">'
        return "\n".join([box, *marks, "</svg>", ""])
    marks += [
        f'<text x="{x:.1f}" y="{y:.1f}" font-family="sans-serif" font-size="16" text-anchor="middle" '
        f'dominant-baseline="central" stroke="white" stroke-width="4" paint-order="stroke">{own}</text>'
        for own, (x, y) in enumerate(place(means).tolist())
    ]
    ranges = zip(clusters.names, low.tolist(), high.tolist(), strict=False)
    reach = escape(", ".join(f"{name} {least:.4g} to {most:.4g}" for name, least, most in ranges))
    marks.append(f'<text x="8" y="{size - 8}" font-family="sans-serif" font-size="12" fill="#555">{reach}</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" viewBox="0 0 {size} {size}">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *marks, "</svg>", ""])
