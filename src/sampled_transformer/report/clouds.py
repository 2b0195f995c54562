"""Point clouds on pages: flat drawings, and clouds that can be turned."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from .page import COLOURS, graph_objects

SIDE = 160  # pixels; side length of a flat drawing
MOST_POINTS = 1024  # of a cloud that can be turned
DECISIVE = COLOURS[1]
DIAGONAL = 1.55  # of a box, as plotly measures it: what the camera below sees on a phone, from all sides


class Turnable(NamedTuple):
    """A cloud that can be turned."""

    title: str  # may have two lines
    parts: Sequence[tuple[str, np.ndarray, str]]  # name, points (n, 3) with z up, and colour


def drawing(points: np.ndarray, normals: np.ndarray | None = None, shares: np.ndarray | None = None) -> str:
    """Draw points as SVG, seen from the front right and slightly above; z is up.

    With normals, we omit points that face away and shade the others, so that they look like a surface. Without
    normals, nearer points are darker. With shares (n,), the points that decided are larger and have their own colour.
    """
    turn, tilt = np.radians(35), np.radians(25)
    right = np.array([np.cos(turn), -np.sin(turn), 0])
    away = np.array([np.sin(turn) * np.cos(tilt), np.cos(turn) * np.cos(tilt), -np.sin(tilt)])
    up = np.cross(right, away)
    flat, depth = points @ np.stack([right, -up], 1), points @ away
    low, high = flat.min(0), flat.max(0)
    scale = 0.92 * SIDE / max(float((high - low).max()), 1e-9)
    flat = (flat - (low + high) / 2) * scale + SIDE / 2
    light = (depth - depth.min()) / max(float(np.ptp(depth)), 1e-9)
    order = np.argsort(-depth)
    if normals is not None:
        light = (normals @ (up + right / 2 - away) / 1.5).clip(0, 1)
        order = order[(normals @ away <= 0.1)[order]]
    dots = [
        f'<circle cx="{flat[i, 0]:.1f}" cy="{flat[i, 1]:.1f}" r="2" fill="hsl(210 45% {28 + 52 * light[i]:.0f}%)"/>'
        for i in order
    ]
    if shares is not None:
        dots += [
            f'<circle cx="{flat[i, 0]:.1f}" cy="{flat[i, 1]:.1f}" r="{2 + 3 * size:.1f}" fill="{DECISIVE}"/>'
            for i, size in _decisive(shares)
        ]
    return f'<svg viewBox="0 0 {SIDE} {SIDE}" role="img">{"".join(dots)}</svg>'


def _decisive(shares: np.ndarray, half: float = 0.5) -> list[tuple[int, float]]:
    """The fewest points that together hold half of the shares, and their size from 0 to 1."""
    order = np.argsort(-shares, kind="stable")
    count = int(np.searchsorted(np.cumsum(shares[order]), half * shares.sum())) + 1
    most = max(float(shares.max()), 1e-12)
    return [(int(i), float(shares[i] / most)) for i in order[:count]]


def _sides(cloud: Turnable) -> list[float]:
    """The sides of the box in which plotly draws a cloud. All boxes have one diagonal, so that no cloud leaves its half
    of the picture, however long it is and however somebody turns it."""
    parts = [points for _, points, _ in cloud.parts if len(points)]
    if not parts:
        return [1.0, 1.0, 1.0]
    extent = np.ptp(np.concatenate(parts), axis=0).astype(float)
    extent = extent / max(float(extent.max()), 1e-12)
    extent = extent.clip(0.02)  # plotly draws no flat box
    sides: list[float] = (DIAGONAL * extent / np.linalg.norm(extent)).tolist()
    return sides


def side_by_side(clouds: Sequence[Turnable], most: int = MOST_POINTS) -> Any:
    """Clouds that can be turned, side by side, with at most `most` points per part.

    A browser draws few of them at a time, so a page has few.
    """
    page = graph_objects().Figure()
    width = 1 / len(clouds)
    shown: set[str] = set()
    for number, cloud in enumerate(clouds):
        scene = "scene" if number == 0 else f"scene{number + 1}"
        for name, points, colour in cloud.parts:
            some = points[:: max(1, -(-len(points) // most))].astype(np.float32)
            page.add_scatter3d(
                **dict(zip("xyz", some.T, strict=True)),
                mode="markers",
                marker={"size": 2.6, "color": colour},
                name=name,
                legendgroup=name,
                showlegend=name not in shown,
                hoverinfo="skip",
                scene=scene,
            )
            shown.add(name)
        low, high = number * width + 0.01, (number + 1) * width - 0.01
        sides = dict(zip("xyz", _sides(cloud), strict=True))
        hidden = {"visible": False}
        page.update_layout(
            {
                scene: {
                    **{f"{axis}axis": hidden for axis in "xyz"},
                    "aspectmode": "manual",
                    "aspectratio": sides,
                    "domain": {"x": [low, high], "y": [0, 0.88]},
                    "camera": {"eye": {"x": 1.0, "y": -1.5, "z": 0.7}},
                    "dragmode": "orbit",
                }
            }
        )
        page.add_annotation(
            text=escape(cloud.title).replace("\n", "<br>"),
            font={"size": 12},
            x=(low + high) / 2,
            y=1,
            xref="paper",
            yref="paper",
            showarrow=False,
            xanchor="center",
            yanchor="top",
        )
    legend = {"orientation": "h", "y": -0.02, "itemsizing": "constant"}
    page.update_layout(margin={"l": 0, "r": 0, "t": 10, "b": 10}, legend=legend, showlegend=len(shown) > 1)
    return page
