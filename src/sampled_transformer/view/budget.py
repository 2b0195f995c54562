"""How many points one browser is given to draw, while the camera moves and at rest, by how fast it draws them.

The browser tells us about a movement of the camera once per frame, so the time between two movements is that of a
frame. We begin with few points. As long as frames come faster than an eye needs them, the browser gets twice as many;
as soon as they come too slowly, it gets fewer.
"""

from __future__ import annotations

from statistics import median

FEWEST, FIRST = 2_500, 20_000  # points while the camera moves: at least, and before anything is known
FEWEST_AT_REST, FIRST_AT_REST = 40_000, 320_000  # the same at rest
FLUID = 1 / 24  # seconds of a frame that looks fluid
SPARE = 0.6  # of that time: a browser this fast may draw twice the points
FRAMES = 5  # whose median decides
LAG = 0.6  # seconds that a movement may wait for the frame that draws all points at rest
RETRY = 10.0  # seconds after which a number of points that was too large may be tried again
REST, LONGEST_REST = 0.35, 3.0  # seconds without a movement that count as rest: in a fast browser, and in a slow one


class Budget:
    """The points that one browser may draw. Moments are in seconds, on a clock that never goes back."""

    def __init__(self) -> None:
        self.moving, self.resting = FIRST, FIRST_AT_REST
        self.moved: float | None = None  # when the camera last moved
        self.pace = 0.0  # seconds of a slow frame lately
        self.frames: list[float] | None = None  # seconds of the latest ones; None before the first of a movement
        self.too_many: tuple[float, float] = (float("inf"), 0.0)  # a number of points, and when it was too large

    def move(self, now: float, most: int) -> None:
        """Learn from a movement of the camera around a cloud of `most` points."""
        gap = LONGEST_REST if self.moved is None else now - self.moved
        paused, begun = gap >= self.patience(), self.frames is None
        self.moved = now
        if gap >= LONGEST_REST or (paused and not begun):  # it has rested: nobody knows when this frame began
            self.frames = None
        if gap >= LONGEST_REST:
            return
        self.pace = max(gap, 0.7 * self.pace)
        if begun:  # the first frame of a movement draws what was there at rest, and may take as long as a pause
            self.frames = []
            self._learn_at_rest(gap, most)
        elif self.frames is not None:
            self.frames.append(gap)
            if len(self.frames) == FRAMES:
                self._learn(median(self.frames), now, most)
                self.frames = []

    def patience(self) -> float:
        """Seconds without a movement that count as rest: longer where frames take long, or every frame would."""
        return min(max(3 * self.pace, REST), LONGEST_REST)

    def _learn(self, frame: float, now: float, most: int) -> None:
        number, since = self.too_many
        if frame > FLUID:
            self.too_many = (min(self.moving, most), now)
            self.moving = max(FEWEST, int(self.too_many[0] * max(FLUID / frame, 1 / 8)))
        elif frame < SPARE * FLUID and self.moving < most and (2 * self.moving < number or now - since > RETRY):
            self.moving *= 2

    def _learn_at_rest(self, frame: float, most: int) -> None:
        if frame > LAG:
            self.resting = max(FEWEST_AT_REST, min(self.resting, most) // 2)
        elif frame < LAG / 6 and self.resting < most:
            self.resting *= 2
