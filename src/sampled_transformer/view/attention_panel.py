"""The part of the live page about attention: whom a clicked point reads, who is read, and receptive fields."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inference.critical import nearest
from . import texts
from .attending import LayerPairs, Pass, one_pass, receptive_fields
from .camera import BESIDE
from .colours import ASKING, FADED, PLAIN, READ, lightened, scaled, shaded
from .drawing import point_size

if TYPE_CHECKING:
    from .visitor import Visitor

MOST_KEYS = 24  # that are drawn of one point; dense attention reads all
LABELLED = 6  # that get a label
MEAN = "mean of the heads"
PLAINLY, RECEIVED, SHARE, FIELD = "plain", "attention received", "share of the pooled feature", "receptive field"
DEEPEST, MOST_CYCLES = 12, 8
STEP = 0.7  # seconds per step of the play
READING = ("reading", "weights", "asking")  # what is drawn about a clicked point
UP = np.array([0.0, 0.0, 1.0])
NOTHING = (
    "This network has no attention between points.",
    "With --weights modelnet40, which needs normals, there is some to see.",
)


class AttentionPanel:
    """Controls and pictures of one visitor.

    Args:
        visitor: Whose they are.
    """

    def __init__(self, visitor: Visitor) -> None:
        self.visitor, self.drawing = visitor, visitor.drawing
        self.seen: Pass | None = None
        self.point: int | None = None
        self.seed = 0
        self.playing = threading.Event()
        self.wide = False  # whether the camera shows both clouds
        gui: Any = visitor.client.gui
        with gui.add_folder("Attention"):
            self.said = gui.add_html(texts.paragraph("Click a point to see whom it reads."))
            self.number = gui.add_number("Point", 0, min=0, step=1, hint="Or click a point of the shape.")
            self.layer = gui.add_dropdown("Layer", ("-",))
            self.head = gui.add_dropdown("Head", (MEAN,))
            self.colour = gui.add_dropdown("Colour by", (PLAINLY, RECEIVED, SHARE, FIELD))
            self.scale = gui.add_html("")
            self.again = gui.add_button("Draw another cycle", icon=visitor.icon("REFRESH"))
        with gui.add_folder("Receptive field", expand_by_default=False):
            self.field = gui.add_html(texts.paragraph("Which points reach a point through several layers."))
            self.depth = gui.add_slider("Layers", 0, DEEPEST, 1, 1)
            self.cycles = gui.add_slider("Cycles", 1, MOST_CYCLES, 1, 1)
            self.beside = gui.add_checkbox("Dense attention beside it", True)
            self.play = gui.add_button("Play", icon=visitor.icon("PLAYER_PLAY"))
        safely = visitor.safely
        self.number.on_update(safely(lambda _: self.select(int(self.number.value))))
        for control in (self.layer, self.head, self.colour):
            control.on_update(safely(lambda _: self.draw()))
        self.again.on_click(safely(lambda _: self.draw_cycle()))
        for control in (self.depth, self.cycles, self.beside):
            control.on_update(safely(lambda _: self._show_field()))
        self.play.on_click(lambda _: self._play())

    def show(self) -> None:
        """Ask the network about the visitor's shape, and draw."""
        self.playing.clear()
        self.point = None
        prepared = self.visitor.prepared
        assert prepared is not None
        self.number.max = len(prepared.points) - 1
        self._ask()
        names = tuple(map(self._title, range(len(self._pass().layers)))) or ("-",)
        for control in (self.number, self.layer, self.head, self.again):
            control.visible = bool(self._pass().layers)
        if tuple(self.layer.options) != names:
            self.layer.options = names
        self.draw()

    def draw_cycle(self) -> None:
        """Ask again with the next cycle."""
        self.seed += 1
        self._ask()
        self.draw()

    def select(self, point: int) -> None:
        """Show whom a point of the shape reads."""
        prepared = self.visitor.prepared
        if prepared is None or not 0 <= point < len(prepared.points):
            return
        self.point = self.number.value = point
        self.draw()

    def draw(self) -> None:
        """Draw the shape with its colours, and the lines of the clicked point."""
        prepared = self.visitor.prepared
        if prepared is None or self.seen is None:
            return
        points = prepared.points.numpy()
        shown = self.visitor.drawn(points)
        self.drawing.cloud("points", shown, self._colours(points), point_size(len(points)))
        self._draw_beside(shown)
        self._draw_reading(points)

    def _ask(self) -> None:
        prepared, page = self.visitor.prepared, self.visitor.page
        assert prepared is not None
        trained = page.trained
        with page.asking():
            place = trained.device
            normals = None if prepared.normals is None else prepared.normals.to(place)
            self.seen = one_pass(
                trained.network, trained.description.model, prepared.points.to(place), normals, self.seed
            )

    def _pass(self) -> Pass:
        assert self.seen is not None
        return self.seen

    def _chosen_layer(self) -> LayerPairs | None:
        layers = self._pass().layers
        return next((layer for number, layer in enumerate(layers) if self._title(number) == self.layer.value), None)

    def _title(self, number: int) -> str:
        return f"{number + 1} ({self._pass().layers[number].name.removesuffix('.attention')})"

    def _chosen_head(self) -> int | None:
        return None if self.head.value == MEAN else int(self.head.value.removeprefix("head ")) - 1

    def _fit_heads(self, layer: LayerPairs) -> None:
        names = (MEAN, *(f"head {number + 1}" for number in range(layer.heads)))
        if tuple(self.head.options) != names:
            self.head.options = names

    def _colours(self, points: np.ndarray) -> np.ndarray:
        layer, seen = self._chosen_layer(), self._pass()
        self.scale.content = ""
        if self.colour.value == RECEIVED and layer is not None:
            received = layer.received(self._chosen_head())
            self._say_scale(f"{received.min():.2f}", f"{received.max():.2f}", "The sum of the weights it is read with.")
            return scaled(received[nearest(points, layer.positions)])
        if self.colour.value == SHARE and seen.shares is not None:
            shares = seen.shares
            self._say_scale(f"{100 * shares.min():.2f} %", f"{100 * shares.max():.2f} %", "What a point gave to it.")
            return scaled(np.sqrt(shares)[nearest(points, seen.centres)])  # most shares are small
        if self.colour.value == FIELD:
            return self._field_colours(points, self._fields()[int(self.depth.value)])
        normals = None if self.visitor.prepared is None else self.visitor.prepared.normals
        facing = None if normals is None else self.visitor.drawn(normals.numpy())
        plain = shaded(self.visitor.drawn(points), facing)
        return plain if self.point is None else lightened(plain)

    def _say_scale(self, least: str, most: str, what: str) -> None:
        self.scale.content = texts.scale(least, most, what)

    def _draw_reading(self, points: np.ndarray) -> None:
        layer = self._chosen_layer()
        if layer is None:
            self.said.content = texts.paragraph(*NOTHING, kind="reading")
            return
        self._fit_heads(layer)
        if self.point is None:
            for name in READING:
                self.drawing.remove(name)
            self.said.content = texts.paragraph("Click a point to see whom it reads.")
            return
        for name in READING:  # a field has colours and titles of its own
            self.drawing.show(name, self.colour.value != FIELD)
        token = int(nearest(points[[self.point]], layer.positions)[0])
        keys, weights = layer.read_by(token, self._chosen_head())
        keys, weights = keys[:MOST_KEYS], weights[:MOST_KEYS]
        self.said.content = texts.reading(
            token,
            zip(keys.tolist(), weights.tolist(), strict=True),
            f"layer {self.layer.value}",
            self.head.value,
            self.seed,
        )
        places, radius = self.visitor.drawn(layer.positions), 1.2 * point_size(len(points))
        ends, begin = places[keys], places[token]
        others = keys != token
        strength = np.abs(weights[others]) / max(float(np.abs(weights).max(initial=0)), 1e-9)
        shades = _faded(READ, strength)
        self.drawing.lines("reading", begin, ends[others], shades, 4)
        self.drawing.spheres(
            "asking", np.vstack([begin[None], ends[others]]), [ASKING, *map(tuple, shades.tolist())], radius
        )
        said = [f"{100 * weight:.0f} %" for weight in weights[:LABELLED]]
        self.drawing.labels("weights", said, ends[:LABELLED] + UP * 1.5 * radius)

    def _fields(self) -> np.ndarray:
        prepared = self.visitor.prepared
        assert prepared is not None
        return receptive_fields(prepared.points, self.point or 0, DEEPEST, int(self.cycles.value), self.seed)

    def _field_colours(self, points: np.ndarray, field: np.ndarray) -> np.ndarray:
        colours = np.where(field[:, None], np.array(READ), np.array(FADED)).astype(np.uint8)
        colours[self.point or 0] = ASKING
        return colours

    def _show_field(self) -> None:
        self.colour.value = FIELD
        self.draw()

    def _draw_beside(self, points: np.ndarray) -> None:
        shown = self.colour.value == FIELD
        if not (shown and self.beside.value):
            for name in ("dense", "dense title"):
                self.drawing.remove(name)
        if not shown:
            self.wide = False
            return
        depth, n = int(self.depth.value), len(points)
        count = int(self._fields()[depth].sum())
        if self.beside.value:
            field = np.full(n, depth > 0)
            self.drawing.cloud("dense", points + BESIDE, self._field_colours(points, field), point_size(n))
            titles = [f"sampled: {count} of {n}", f"dense: {n if depth else 1} of {n}"]
            self.drawing.labels("dense title", titles, np.stack([1.1 * UP, BESIDE + 1.1 * UP]))
            if not self.wide:
                self.visitor.look_at_two()
        self.wide = bool(self.beside.value)
        layers, cycles = (
            f"{count} {word}{'' if count == 1 else 's'}"
            for count, word in ((depth, "layer"), (int(self.cycles.value), "cycle"))
        )
        self.field.content = texts.paragraph(
            f"Point {self.point or 0}, {layers}, {cycles}: {count} of {n} points reach it "
            f"({100 * count / n:.0f} %). With dense attention, all do after one layer.",
            "A stack of layers of sampled attention, each with a cycle of its own.",
            kind="field",
        )

    def _play(self) -> None:
        """Let the field grow with the layers, then with the cycles; a second click stops it."""
        if self.playing.is_set():
            self.playing.clear()
            return
        self.playing.set()
        self.play.label = "Stop"
        try:
            self._step(depth=0, cycles=1)
            for depth in range(1, DEEPEST + 1):
                if not self._step(depth=depth):
                    return
            self._step(depth=3)
            for cycles in range(2, MOST_CYCLES + 1):
                if not self._step(cycles=cycles):
                    return
        finally:
            self.playing.clear()
            self.play.label = "Play"

    def _step(self, **values: int) -> bool:
        """Set the sliders and wait; False if somebody stopped the play or left."""
        if not self.playing.is_set() or self.visitor.is_gone():
            return False

        def change(_: Any) -> None:
            for name, value in values.items():
                getattr(self, name).value = value
            self._show_field()

        self.visitor.safely(change)(None)
        time.sleep(STEP)
        return True


def _faded(colour: tuple[int, int, int], strength: np.ndarray) -> np.ndarray:
    """A colour that fades to that of points as the strength (n,) falls from 1 to 0, (n, 3) uint8."""
    share = np.sqrt(strength)[:, None]
    faded: np.ndarray = (share * np.array(colour) + (1 - share) * np.array(PLAIN)).round().astype(np.uint8)
    return faded
