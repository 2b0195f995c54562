"""Draw points and lines in one visitor's scene. Of a large cloud a browser draws as much as it can."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .budget import Budget

PARTS = tuple(2_500 * 2**number for number in range(10))  # a large cloud is cut after so many points
LARGE = 5_000  # points up to which a cloud is one part
LARGEST_POINT = 3.0  # times its size at rest that a point may have while few are drawn


class Drawing:
    """The scene of one visitor.

    Args:
        client: viser's handle of the visitor.
        tell: Called with what to say about points that are not drawn, or with nothing.
    """

    def __init__(self, client: Any, tell: Callable[[str], None] = lambda _: None) -> None:
        self.client, self.tell = client, tell
        self.handles: dict[str, list[Any]] = {}
        self.large: dict[str, float] = {}  # clouds in parts, and the size of their points; their handles are the parts
        self.budget = Budget()
        self.points = self.budget.resting  # of a large cloud that are drawn now, at most
        self.turning = False  # whether the camera moves
        self.hidden: set[str] = set()
        self.lock = threading.RLock()
        self.timer: threading.Timer | None = None
        client.camera.on_update(lambda _: self._moved())

    def cloud(self, name: str, points: np.ndarray, colours: np.ndarray, size: float) -> None:
        """Draw points (n, 3) with colours (n, 3), in place of what was drawn under this name.

        Of a large cloud we draw as many random points as the browser draws fluently while the camera moves, and as many
        as it has time for at rest.
        """
        points = np.asarray(points, np.float32)
        with self.lock:
            order = np.arange(len(points))
            if len(points) > LARGE:
                order = np.random.default_rng(0).permutation(len(points))
            parts = [rows for rows in np.split(order, PARTS if len(points) > LARGE else ()) if len(rows)]
            self.remove(name)
            own = {"point_size": size, "point_shape": "circle", "precision": "float32"}
            add = self.client.scene.add_point_cloud
            self.handles[name] = [
                add(f"/{name}" if part == 0 else f"/{name}/{part}", points[rows], colours[rows], **own)
                for part, rows in enumerate(parts or [order])
            ]
            if len(parts) > 1:
                self.large[name] = size
            self._settle(name)
            self._tell()

    def lines(self, name: str, begin: np.ndarray, ends: np.ndarray, colours: np.ndarray, width: float) -> None:
        """Draw lines from one point (3,), or as many (n, 3), to others (n, 3), of one colour (n, 3) each."""
        with self.lock:
            self.remove(name)
            if not len(ends):
                return
            segments = np.stack([np.broadcast_to(begin, ends.shape), ends], 1).astype(np.float32)
            shades = np.repeat(_linear(colours)[:, None], 2, 1)
            add = self.client.scene.add_line_segments
            self.handles[name] = [add(f"/{name}", segments, shades, thickness=width, thickness_units="screen")]
            self._settle(name)

    def path(self, name: str, corners: np.ndarray, colours: np.ndarray, width: float) -> None:
        """Draw a line through corners (n, 3), each piece with a colour (n - 1, 3)."""
        self.lines(name, corners[:-1], corners[1:], colours, width)

    def labels(self, name: str, texts: Sequence[str], places: np.ndarray) -> None:
        """Write texts beside places (n, 3)."""
        with self.lock:
            self.remove(name)
            self.handles[name] = [
                self.client.scene.add_label(f"/{name}/{number}", text, position=place, anchor="bottom-center")
                for number, (text, place) in enumerate(zip(texts, places, strict=True))
            ]
            self._settle(name)

    def spheres(self, name: str, places: np.ndarray, colours: Sequence[tuple[int, int, int]], radius: float) -> None:
        """Draw a small sphere around each of some places (n, 3), which stands out from the points."""
        with self.lock:
            self.remove(name)
            add = self.client.scene.add_icosphere
            self.handles[name] = [
                add(f"/{name}/{number}", radius=radius, color=colour, position=place, subdivisions=2)
                for number, (place, colour) in enumerate(zip(places, colours, strict=True))
            ]
            self._settle(name)

    def mesh(self, name: str, vertices: np.ndarray, faces: np.ndarray, colour: tuple[int, int, int]) -> None:
        """Draw a mesh that one can look through."""
        with self.lock:
            self.remove(name)
            own = {"color": colour, "opacity": 0.35, "side": "double"}
            add = self.client.scene.add_mesh_simple
            self.handles[name] = [add(f"/{name}", np.asarray(vertices, np.float32), np.asarray(faces), **own)]
            self._settle(name)

    def show(self, name: str, visible: bool) -> None:
        """Show or hide what is drawn, or will be drawn, under a name."""
        with self.lock:
            (self.hidden.discard if visible else self.hidden.add)(name)
            self._settle(name)

    def remove(self, name: str) -> None:
        """Remove what was drawn under a name, if anything was."""
        with self.lock:
            self.large.pop(name, None)
            for handle in reversed(self.handles.pop(name, [])):
                handle.remove()

    def stop(self) -> None:
        """Draw no more: the visitor has left."""
        with self.lock:
            self.large.clear()
            if self.timer is not None:
                self.timer.cancel()

    def _settle(self, name: str) -> None:
        """Show the parts of a cloud that are within the budget, or everything else that has this name."""
        drawn = 0
        for part, handle in enumerate(self.handles.get(name, [])):
            drawn += len(handle.points) if name in self.large else 0
            handle.visible = name not in self.hidden and (part == 0 or name not in self.large or drawn <= self.points)
        if name in self.large:
            self._fill_gaps(name)

    def _count(self, name: str) -> int:
        return sum(len(handle.points) for handle in self.handles[name])

    def _fill_gaps(self, name: str) -> None:
        """Fewer points are larger, so that the cloud stays a surface; squares cost a browser less than circles."""
        shown = [handle for handle in self.handles[name] if handle.visible]
        drawn = max(sum(len(handle.points) for handle in shown), 1)
        share = drawn / self._count(name)
        grown = min(share**-0.5, LARGEST_POINT)
        for handle in shown:
            handle.point_size = self.large[name] * grown
            handle.point_shape = "square" if self.turning and share < 1 else "circle"

    def _moved(self) -> None:
        """Draw fewer points, and more again when the camera has rested for a while."""
        with self.lock:
            if not self.large:
                return
            self.budget.move(time.monotonic(), max(map(self._count, self.large)))
            self._draw(self.budget.moving, turning=True)
            if self.timer is not None:
                self.timer.cancel()
            self.timer = threading.Timer(self.budget.patience(), self._rested)
            self.timer.daemon = True
            self.timer.start()

    def _rested(self) -> None:
        with self.lock:
            self._draw(self.budget.resting, turning=False)
            self._tell()

    def _tell(self) -> None:
        """Say how many points this browser does not draw, even at rest."""
        for name in self.large:
            drawn, count = sum(len(one.points) for one in self.handles[name] if one.visible), self._count(name)
            if drawn < count and name not in self.hidden:
                self.tell(f"{drawn:,} of {count:,} points are drawn: so many this browser draws in time.")
                return
        self.tell("")

    def _draw(self, points: int, turning: bool) -> None:
        if (points, turning) != (self.points, self.turning):
            self.points, self.turning = points, turning
            for name in self.large:
                self._settle(name)


def _linear(colours: np.ndarray) -> np.ndarray:
    """Colours of lines: viser brightens them as if they were linear, other colours not."""
    linear: np.ndarray = (255 * (np.asarray(colours) / 255) ** 2.2).round().astype(np.uint8)
    return linear


def point_size(count: int) -> float:
    """The size of a point for so many points in the unit sphere: large enough to form a surface."""
    return float(np.clip(0.4 / max(count, 1) ** 0.5, 0.003, 0.04))
