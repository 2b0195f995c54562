"""Does the live page stay fluid with a million points, in a browser that draws in software?

    python benchmarks/view.py [--points 1000 20000 60000 1000000] [--seconds 10] [--json results/bench/view.json]

Opens the live page in a headless chromium without a graphics card (SwiftShader), draws a labelled scene, turns it with
the mouse twice, and counts frames and the points in them the second time; once with as many points as the page gives
this browser, and once with all points all the time. Needs the extra `browser`, and chromium and chromedriver
(`make .venv/browser`).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the browser is that of the tests


def measure(visits: Any, points: int, whole: bool, seconds: float) -> dict[str, Any]:
    """Frames while the camera turns, and the points that are drawn; `whole` draws all points all the time."""
    from helpers.browser import browser, drag, frames, said, wait_for, watch_frames

    from sampled_transformer.view import drawing

    usual = drawing.LARGE
    if whole:
        drawing.LARGE = points
    asked, whole = whole, whole or points <= usual
    known = set(visits.visitors)
    try:
        with browser() as driver:
            watch_frames(driver)
            driver.get(visits.address)
            wait_for(lambda: said(driver, "answer"), 120)
            visitor = visits.visitors[wait_for(lambda: set(visits.visitors) - known).pop()]
            generator = np.random.default_rng(0)
            cloud = generator.normal(size=(points, 3))
            cloud /= 1.1 * np.linalg.norm(cloud, axis=1, keepdims=True)
            colours = generator.integers(0, 255, (points, 3)).astype(np.uint8)
            begin = time.perf_counter()
            with visitor.lock:
                visitor.drawing.cloud("large", cloud, colours, 0.004)

            def rest() -> int:
                """The points that are drawn at rest, at least: parts of a cloud are shown as a whole."""
                return points if whole else min(points, visitor.drawing.budget.resting // 2)

            wait_for(lambda: most_points(frames(driver)) >= rest(), 300)
            shown = time.perf_counter() - begin
            time.sleep(3)
            drag(driver, seconds)  # the page learns how fast this browser is
            frames(driver)
            drag(driver, seconds)
            moving = frames(driver)
            begin = time.perf_counter()
            seen: list[tuple[float, int]] = []
            wait_for(lambda: seen.extend(frames(driver)) or most_points(seen) >= rest(), 300)
            rested = time.perf_counter() - begin
            time.sleep(4)
            at_rest = most_points([*seen, *frames(driver)])
    finally:
        drawing.LARGE = usual
    gaps = np.diff([moment for moment, _ in moving]) / 1000
    return {
        "points": points,
        "level_of_detail": not asked,
        "seconds_until_drawn": shown,
        "frames_per_second_while_turning": (len(moving) - 1) / float(gaps.sum()),
        "longest_pause_while_turning": float(gaps.max()),
        "points_per_frame_while_turning": int(median(count for _, count in moving)),
        "seconds_from_rest_to_more_points": rested,
        "points_per_frame_at_rest": at_rest,
    }


def most_points(seen: list[tuple[float, int]]) -> int:
    return max((count for _, count in seen), default=0)


def main() -> None:
    from sampled_transformer.support.machine import machine
    from sampled_transformer.view.page import open_page
    from sampled_transformer.view.visits import Visits

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, nargs="+", default=[1000, 20_000, 60_000, 1_000_000])
    parser.add_argument("--seconds", type=float, default=10.0, help="how long the camera turns")
    parser.add_argument("--json", help="file for the figures")
    given = parser.parse_args()
    visits = Visits(open_page(), port=0)
    rows = []
    try:
        for points in given.points:
            for whole in (False, True):
                rows.append(measure(visits, points, whole, given.seconds))
                print(json.dumps(rows[-1]), flush=True)
    finally:
        visits.stop()
    if given.json:
        shown = " ".join(map(str, given.points))
        command = f"python benchmarks/view.py --points {shown} --seconds {given.seconds:g} --json {given.json}"
        result = {
            "command": command,
            "machine": {**machine(), "graphics": "SwiftShader", "load": os.getloadavg()[0]},
            "rows": rows,
        }
        Path(given.json).write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
