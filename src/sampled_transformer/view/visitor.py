"""One visitor of the live page: the shape that he looks at, and his panels. Nothing here is shared with others."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import viser

from ..data.axes import AXES, turn
from ..data.formats.meshes import Mesh
from ..inference.prepared import Prepared
from ..inference.segmentation import point_view_of
from . import texts
from .attention_panel import AttentionPanel
from .camera import ABOVE, ASIDE, BESIDE, NEAR, PHONE, WIDE, above_the_panel
from .colours import FADED, all_the_same
from .drawing import Drawing
from .mixture_panel import MixturePanel
from .page import Page
from .picking import clicked_point
from .reader import MOST_POINTS, read_upload
from .reconstruction_panel import ReconstructionPanel
from .segment_panel import SegmentPanel
from .shapes import UNITS, UNKNOWN, Item, from_reading, written_size

AS_IT_IS, AUTO = "as in the file", "auto"
SAMPLES = 8  # cycles per answer
TOP = 5  # classes of an answer
MOST_DRAWN_FACES = 300_000
PREVIOUS, NEXT, RANDOM = "Previous", "Next", "Random"


class Visitor:
    """The panels and the scene of one browser.

    Args:
        page: What all visitors share.
        client: viser's handle of the browser.
    """

    def __init__(self, page: Page, client: viser.ClientHandle) -> None:
        self.page, self.client = page, client
        self.item: Item | None = None
        self.prepared: Prepared | None = None
        self.lock = threading.RLock()
        self.gone = threading.Event()
        self.drawing = Drawing(client, self._say_what_is_missing)
        self.up = _network_up(page)
        self._look()
        with self.lock:
            self._build()

    def begin(self) -> None:
        """Show the first shape."""
        self.safely(lambda _: self._begin())(None)

    def icon(self, name: str) -> Any:
        """One of viser's icons."""
        return getattr(viser.Icon, name)

    def is_gone(self) -> bool:
        """Whether the visitor has left."""
        return self.gone.is_set()

    def leave(self) -> None:
        """Stop whatever is under way for this visitor."""
        self.gone.set()
        self.drawing.stop()

    def drawn(self, points: np.ndarray) -> np.ndarray:
        """Points (n, 3), or normals, as they are drawn: with z up, whatever is up for the network."""
        return turn(points, self.up)

    def safely(self, work: Callable[[Any], object]) -> Callable[[Any], None]:
        """Run for this visitor, one thing at a time; what goes wrong becomes a message, and the page lives on.

        A control that the program has moved makes an event without a client. Whoever moved it draws, too.
        """

        def run(event: Any) -> None:
            if event is not None and event.client is None:
                return
            with self.lock:
                if self.is_gone():
                    return
                try:
                    work(event)
                except (ValueError, OSError) as error:  # DataError is a ValueError
                    self.tell(str(error))
                except Exception as error:  # a mistake of ours must not end the page for all
                    traceback.print_exc(file=sys.stderr)
                    self.tell(f"this did not work ({type(error).__name__}); the terminal says more")

        return run

    def tell(self, message: str) -> None:
        """Show what went wrong."""
        message = " ".join(message.split())
        self.status.content = texts.problem(message)
        self.client.add_notification("Sorry", message, color="red", auto_close_seconds=12)

    def _say_what_is_missing(self, text: str) -> None:
        if self.missing.content != (said := texts.paragraph(text, kind="missing") if text else ""):
            self.missing.content = said

    def unit(self) -> str:
        """The unit of length of the file, as the visitor says."""
        return str(self.units.value)

    def chosen_up(self) -> str | None:
        """The axis that the visitor takes for up; None if he leaves it to the file."""
        return None if self.ups.value == AS_IT_IS else str(self.ups.value)

    def show(self, item: Item) -> None:
        """Show a shape, and all that the network says about it."""
        before = self.item
        self.item = item
        try:
            self._show()
        except Exception:
            self.item = before  # a shape that cannot be shown leaves the last one as it is
            raise

    def upload(self, name: str, content: bytes) -> None:
        """Read a file of the visitor's and show it."""
        self.status.content = texts.paragraph(f"Reading {name} ...")
        reading = read_upload(name, content, MOST_POINTS, self.page.dimension, scan=self.segment is not None)
        self.show(from_reading(name, reading))

    def _take(self, button: Any) -> None:
        """Read what was uploaded. viser would keep it until the visitor leaves, so we let it forget the file.

        Of two files that came before the first was read, viser has only the second.
        """
        file, button._impl.value = button.value, None
        if file is not None:
            self.upload(file.name, file.content)

    def _build(self) -> None:
        gui: Any = self.client.gui
        page = self.page
        self.status = gui.add_html("")
        with gui.add_folder("Shape"):
            self._build_shape()
        self.answer: Any = None
        if page.kind in ("classes", "number"):
            with gui.add_folder("Answer"):
                self.answer = gui.add_html(texts.paragraph("..."))
        self.segment = SegmentPanel(self) if page.kind == "labels" else None
        self.mixture = MixturePanel(self) if page.kind == "clusters" else None
        self.rebuilt = ReconstructionPanel(self) if page.kind == "features" else None
        self.attention = AttentionPanel(self) if page.kind in ("classes", "number", "features") else None
        with gui.add_folder("Page", expand_by_default=False):
            dark = gui.add_checkbox("Dark", False)
            gui.add_html(texts.paragraph(repr(page.trained), f"weights: {page.weights}"))
        dark.on_update(lambda _: self._theme(bool(dark.value)))
        if self.attention is not None:
            self.client.scene.on_click()(self.safely(self._clicked))

    def _build_shape(self) -> None:
        gui: Any = self.client.gui
        shelf = self.page.shelf
        self.picker: Any = None
        if shelf is not None:
            titles = tuple(shelf.titles())
            self.picker = gui.add_dropdown("Shape", titles, initial_value=titles[0])
            step = gui.add_button_group("Go to", (PREVIOUS, NEXT, RANDOM))
            self.picker.on_update(self.safely(lambda _: self._pick()))
            step.on_click(self.safely(lambda _: self._go(str(step.value))))
        file = gui.add_upload_button("Upload a file", icon=self.icon("UPLOAD"), hint="A mesh or a point cloud.")
        file.on_upload(self.safely(lambda _: self._take(file)))
        ups = (AS_IT_IS, *AXES, *([AUTO] if self.page.kind == "classes" else []))
        self.ups = gui.add_dropdown("Up", ups, hint="The axis of the file that points up.")
        self.units = gui.add_dropdown("Unit", (UNKNOWN, *UNITS), hint="The unit of length of the file.")
        self.whole = gui.add_checkbox("Show the file itself", False)
        self.about = gui.add_html("")
        self.missing = gui.add_html("")
        plain = self.page.kind != "clusters"
        for control in (self.ups, self.units):
            control.visible = plain
        self.whole.visible = self.page.kind not in ("clusters", "labels")  # where all points are drawn anyway
        self.ups.on_update(self.safely(lambda _: self._again()))
        self.units.on_update(self.safely(lambda _: self._again() if self.segment else self._describe()))
        self.whole.on_update(self.safely(lambda _: self._draw_file()))

    def _begin(self) -> None:
        if self.page.first is not None:
            self.show(self.page.first)
        elif self.page.shelf is not None:
            self.show(self.page.shelf.item(0))
        elif self.mixture is not None:
            self.mixture.draw_points()
        else:
            self.status.content = texts.paragraph("Upload a file to begin.")

    def _pick(self) -> None:
        assert self.picker is not None
        assert self.page.shelf is not None
        self.show(self.page.shelf.item(list(self.picker.options).index(self.picker.value)))

    def _go(self, where: str) -> None:
        assert self.picker is not None
        options = list(self.picker.options)
        place = options.index(self.picker.value)
        chosen = {PREVIOUS: place - 1, NEXT: place + 1}.get(where, int(np.random.default_rng().integers(len(options))))
        self.picker.value = options[chosen % len(options)]
        self._pick()

    def _again(self) -> None:
        if self.item is not None:
            self.show(self.item)

    def _show(self) -> None:
        """Ask first and draw then: a shape that the network refuses must not spoil the picture."""
        assert self.item is not None
        if self.mixture is not None:
            self.mixture.show()
        elif self.segment is not None:
            self.segment.show()
        else:
            up = self.chosen_up() or self.item.up
            with self.page.asking():
                self.prepared = self.page.trained.prepare(self.item.raw, up=up, samples=SAMPLES)
                self._answer()
        self.status.content = ""
        self._describe()
        if self.attention is not None:
            self.attention.show()
            self._draw_file()
        if self.rebuilt is not None:
            self.rebuilt.show()

    def _answer(self) -> None:
        if self.answer is None:
            return
        trained, truth = self.page.trained, None if self.item is None else self.item.truth
        if self.page.kind == "number":
            self.answer.content = texts.number(trained.values(self.prepared, samples=SAMPLES), truth)
            return
        found = trained.probabilities(self.prepared, samples=SAMPLES)
        self.answer.content = texts.answer(found.top(TOP), truth, found.familiar)

    def _describe(self) -> None:
        item = self.item
        if item is None or self.mixture is not None:
            return
        count = len(item.vertices)
        kind = f"a mesh of {len(item.raw.faces):,} triangles" if isinstance(item.raw, Mesh) else f"{count:,} points"
        notes = item.notes if self.prepared is None else (*item.notes, *self.prepared.notes)
        lines = [f"{item.name}: {kind}", written_size(item.extent, self.unit()), *notes]
        self.about.content = texts.paragraph(*lines, kind="shape")

    def _draw_file(self) -> None:
        """The mesh or all points of the file, behind what the network reads of it."""
        self.drawing.remove("file")
        if not self.whole.value or self.item is None or self.prepared is None:
            return
        vertices = self.drawn(self._placed(self.item.vertices))
        raw = self.item.raw
        if isinstance(raw, Mesh) and len(raw.faces) <= MOST_DRAWN_FACES:
            self.drawing.mesh("file", vertices, raw.faces, FADED)
        else:
            self.drawing.cloud("file", vertices, all_the_same(len(vertices), FADED), 0.006)

    def _placed(self, vertices: np.ndarray) -> np.ndarray:
        """Points of the file where the network sees them: turned, and scaled as the points that it drew."""
        seen = self.prepared
        assert seen is not None
        places, read = seen.draw.places[seen.order], seen.points.double().numpy()
        if seen.up is not None:
            places, vertices = turn(places, seen.up, self.up), turn(vertices, seen.up, self.up)
        centre, own = places.mean(0), read.mean(0)
        spread = np.linalg.norm(places - centre) or 1.0
        placed: np.ndarray = (vertices - centre) * (np.linalg.norm(read - own) / spread) + own
        return placed

    def _clicked(self, event: Any) -> None:
        if self.prepared is None or self.attention is None:
            return
        origin, direction = np.array(event.ray_origin), np.array(event.ray_direction)
        point = clicked_point(self.drawn(self.prepared.points.numpy()), origin, direction)
        if point is not None:
            self.attention.select(point)

    def _look(self) -> None:
        """Show the whole of what will be drawn."""
        if self.page.kind == "features":  # the rebuilt shape is beside it
            self.look_at_two()
        else:
            self.look(np.zeros(3) if self._is_phone() else ASIDE, ABOVE if self.page.kind == "clusters" else NEAR)

    def look_at_two(self) -> None:
        """Show two shapes side by side: left of the panel, or above it on a phone."""
        self.look(BESIDE / 2 if self._is_phone() else np.zeros(3), WIDE)

    def look(self, at: np.ndarray, eye: np.ndarray) -> None:
        """Turn the camera to a place, as seen from `eye` beside that place."""
        camera = self.client.camera
        if self._is_phone():
            at, eye = above_the_panel(at, eye, camera.fov)
        camera.up_direction, camera.position, camera.look_at = (0.0, 0.0, 1.0), at + eye, at

    def _is_phone(self) -> bool:
        return self.client.camera.image_width < PHONE

    def _theme(self, dark: bool) -> None:
        self.client.gui.configure_theme(dark_mode=dark, show_logo=False, show_share_button=False)


def _network_up(page: Page) -> str:
    """The axis that is up for the network."""
    if page.kind == "clusters":
        return "z"
    trained = page.trained
    view = point_view_of(trained.description, trained.name) if page.kind == "labels" else trained.view
    return view.up or "z"
