"""Draw points and lines in one visitor's scene. Large clouds have levels of detail."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

# Points of a large cloud that are drawn. A slow browser, or one that has not yet shown that it is fast, is given the
# first number in movement and the last one at rest; a fast one the second number in movement, and all points at rest.
LEVELS = (20_000, 60_000, 300_000)
IN_MOVEMENT, AT_REST = {False: 0, True: 1}, {False: 2, True: 3}  # the last level that is drawn, by whether it is fast
FAST = 0.08  # seconds between two movements of the camera in a fast browser
REST = 0.35  # seconds without a movement after which all points are drawn
LONGEST_REST = 3.0  # the same for a browser that draws slowly, whose movements come seconds apart


class Drawing:
    """The scene of one visitor.

    Args:
        client: viser's handle of the visitor.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self.handles: dict[str, list[Any]] = {}
        self.large: set[str] = set()  # clouds with levels of detail; their handles are the levels
        self.level = AT_REST[False]  # the last level that is drawn
        self.hidden: set[str] = set()
        self.lock = threading.RLock()
        self.timer: threading.Timer | None = None
        self.moved = 0.0  # when the camera last moved
        self.pace: float | None = None  # seconds between its movements; None if nobody knows
        client.camera.on_update(lambda _: self._moved())

    def cloud(self, name: str, points: np.ndarray, colours: np.ndarray, size: float) -> None:
        """Draw points (n, 3) with colours (n, 3), in place of what was drawn under this name.

        Of a large cloud we draw a random part while the camera moves, more when it rests, and all of it if the browser
        has shown that it is fast.
        """
        points = np.asarray(points, np.float32)
        with self.lock:
            order = np.arange(len(points))
            if len(points) > LEVELS[0]:
                order = np.random.default_rng(0).permutation(len(points))
            levels = [rows for rows in np.split(order, LEVELS) if len(rows)]
            self.remove(name)
            own = {"point_size": size, "point_shape": "circle", "precision": "float32"}
            add = self.client.scene.add_point_cloud
            self.handles[name] = [
                add(f"/{name}" if level == 0 else f"/{name}/{level}", points[rows], colours[rows], **own)
                for level, rows in enumerate(levels or [order])
            ]
            if len(levels) > 1:
                self.large.add(name)
            self._settle(name)

    def colour(self, name: str, colours: np.ndarray) -> None:
        """Colour the points of a small cloud anew, without sending their places again."""
        with self.lock:
            self.handles[name][0].colors = np.asarray(colours, np.uint8)

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
            self.large.discard(name)
            for handle in reversed(self.handles.pop(name, [])):
                handle.remove()

    def stop(self) -> None:
        """Draw no more: the visitor has left."""
        with self.lock:
            self.large.clear()
            if self.timer is not None:
                self.timer.cancel()

    def _settle(self, name: str) -> None:
        for level, handle in enumerate(self.handles.get(name, [])):
            handle.visible = name not in self.hidden and (name not in self.large or level <= self.level)

    def _moved(self) -> None:
        """Hide the finer levels, and show them again when the camera has rested for a while."""
        with self.lock:
            patience = self._patience(time.monotonic())
            if not self.large:
                return
            self._draw_to(IN_MOVEMENT[self._is_fast()])
            if self.timer is not None:
                self.timer.cancel()
            self.timer = threading.Timer(patience, self._rested)
            self.timer.daemon = True
            self.timer.start()

    def _patience(self, now: float) -> float:
        """How long to wait for the next movement: longer where a frame takes long, or every pause would look like rest.

        Drawing all points between two movements would make the next frame slower still.
        """
        gap, self.moved = now - self.moved, now
        if gap < LONGEST_REST:  # else it is a new movement
            self.pace = gap if self.pace is None else max(gap, 0.7 * self.pace)
        return float(np.clip(3 * (self.pace or 0.0), REST, LONGEST_REST))

    def _rested(self) -> None:
        with self.lock:
            self._draw_to(AT_REST[self._is_fast()])

    def _is_fast(self) -> bool:
        return self.pace is not None and self.pace < FAST

    def _draw_to(self, level: int) -> None:
        if level != self.level:
            self.level = level
            for name in self.large:
                self._settle(name)


def _linear(colours: np.ndarray) -> np.ndarray:
    """Colours of lines: viser brightens them as if they were linear, other colours not."""
    linear: np.ndarray = (255 * (np.asarray(colours) / 255) ** 2.2).round().astype(np.uint8)
    return linear


def point_size(count: int) -> float:
    """The size of a point for so many points in the unit sphere: large enough to form a surface."""
    return float(np.clip(0.4 / max(count, 1) ** 0.5, 0.003, 0.04))
