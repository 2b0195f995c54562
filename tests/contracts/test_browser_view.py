"""The live page in a real browser: a click, uploads, two visitors, a phone, and the token."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from helpers.browser import (
    DESKTOP,
    PHONE,
    browser,
    button,
    click_canvas,
    complaints,
    drag,
    frames,
    requests,
    said,
    upload,
    wait_for,
    watch_frames,
)

from sampled_transformer.cycles import Cycle
from sampled_transformer.inference.trained_network import load
from sampled_transformer.view import budget
from sampled_transformer.view.attending import receptive_fields
from sampled_transformer.view.page import open_page
from sampled_transformer.view.visitor import Visitor
from sampled_transformer.view.visits import Visits

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def visits() -> Iterator[Visits]:
    running = Visits(open_page(), port=0)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def desktop() -> Iterator[Any]:
    with browser(DESKTOP) as driver:
        yield driver


def enter(driver: Any, visits: Visits) -> Visitor:
    """Open the page; returns the visitor that the server sees."""
    known = set(visits.visitors)
    driver.get(visits.address)
    new = wait_for(lambda: set(visits.visitors) - known)
    wait_for(lambda: said(driver, "answer"))
    visitor = visits.visitors[new.pop()]
    with visitor.lock:  # until all of the first shape has been shown, which stops a play
        return visitor


def on_screen(visitor: Visitor, place: np.ndarray) -> tuple[int, int]:
    """Where a place of the scene is on the screen, in pixels from its middle."""
    from viser.transforms import SO3

    camera = visitor.client.camera
    seen = SO3(np.asarray(camera.wxyz)).inverse().apply(place - np.asarray(camera.position))
    scale = camera.image_height / 2 / np.tan(camera.fov / 2)
    return round(seen[0] / seen[2] * scale), round(seen[1] / seen[2] * scale)


def pixels(driver: Any) -> np.ndarray:
    import io

    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")).astype(int)


def test_a_click_on_a_point_lights_up_its_successor(visits: Visits, desktop: Any) -> None:
    visitor = enter(desktop, visits)
    time.sleep(2)  # the camera and the first frames
    assert visitor.prepared is not None
    points = visitor.drawn(visitor.prepared.points.numpy())
    toward = points - np.asarray(visitor.client.camera.position)
    target = int(np.linalg.norm(toward, axis=1).argmin())  # nothing hides the nearest
    before = pixels(desktop)
    click_canvas(desktop, *on_screen(visitor, points[target]))
    wait_for(lambda: f"Point {target} reads" in said(desktop, "reading"))
    successor = int(Cycle.from_points((0, 0, 0), visitor.prepared.points[None]).successor.reshape(-1)[target])
    assert f"point {successor}" in said(desktop, "reading")
    time.sleep(2)
    after = pixels(desktop)
    x, y = on_screen(visitor, points[successor])
    row, column = y + before.shape[0] // 2, x + before.shape[1] // 2
    spot = slice(row - 8, row + 9), slice(column - 8, column + 9)
    assert np.abs(after[spot] - before[spot]).max() > 40


def test_nothing_is_asked_of_the_outside_and_nothing_goes_wrong(visits: Visits, desktop: Any) -> None:
    complaints(desktop), requests(desktop)
    enter(desktop, visits)
    time.sleep(2)
    place = urlsplit(visits.address).netloc
    assert {urlsplit(one).netloc for one in requests(desktop)} == {place}
    assert complaints(desktop) == []


def test_an_upload_is_classified_as_predict_does(visits: Visits, desktop: Any, tmp_path: Path) -> None:
    enter(desktop, visits)
    cloud = np.random.default_rng(0).normal(size=(600, 3)) * [1, 0.4, 0.2]
    np.savetxt(tmp_path / "cloud.xyz", cloud)
    upload(desktop, tmp_path / "cloud.xyz")
    wait_for(lambda: "cloud.xyz: 600 points" in said(desktop, "shape"))
    best = load("bricks").predict(tmp_path / "cloud.xyz", top=1)[0]
    text = wait_for(lambda: "Truth" not in said(desktop, "answer") and said(desktop, "answer"))
    assert str(text).split("\n")[:2] == [best.name, f"{100 * best.probability:.1f} % ± {100 * best.spread:.1f}"]


def test_a_broken_upload_shows_a_message_and_the_page_lives_on(visits: Visits, desktop: Any, tmp_path: Path) -> None:
    enter(desktop, visits)
    before = said(desktop, "shape")
    (tmp_path / "broken.ply").write_text("ply\nformat ascii 1.0\nelement vertex 100\n")
    upload(desktop, tmp_path / "broken.ply")
    assert "broken.ply: expected" in str(wait_for(lambda: said(desktop, "problem")))
    assert said(desktop, "shape") == before
    button(desktop, "Next").click()
    wait_for(lambda: said(desktop, "shape") not in ("", before))
    assert said(desktop, "problem") == ""


def test_two_visitors_are_apart(visits: Visits, desktop: Any, tmp_path: Path) -> None:
    enter(desktop, visits)
    first = desktop.current_window_handle
    mine = said(desktop, "shape")
    desktop.switch_to.new_window("tab")
    enter(desktop, visits)
    np.savetxt(tmp_path / "secret.xyz", np.random.default_rng(1).normal(size=(50, 3)))
    upload(desktop, tmp_path / "secret.xyz")
    wait_for(lambda: "secret.xyz" in said(desktop, "shape"))
    desktop.switch_to.window(first)
    time.sleep(1)
    assert said(desktop, "shape") == mine
    assert "secret" not in desktop.page_source


def shown_field(driver: Any) -> tuple[int, int] | None:
    """The layers of one cycle that the page shows now, and how many points reach the clicked one through them."""
    found = re.search(r"(\d+) layers?, 1 cycle: (\d+) of 256 points", said(driver, "field"))
    return None if found is None or found[1] == "0" else (int(found[1]), int(found[2]))


def test_the_receptive_field_plays(visits: Visits, desktop: Any) -> None:
    visitor = enter(desktop, visits)
    assert visitor.prepared is not None
    desktop.find_element("xpath", "//*[text()='Receptive field']").click()
    time.sleep(1)  # the folder unfolds, and its button moves
    button(desktop, "Play").click()
    depth, count = wait_for(lambda: shown_field(desktop))  # a busy browser does not show every step
    later, more = wait_for(lambda: (now := shown_field(desktop)) and now[0] > depth and now)
    fields = receptive_fields(visitor.prepared.points, 0, later, 1).sum(1)
    assert (count, more) == (fields[depth], fields[later])
    assert count <= more


def fewest_while_turning(driver: Any) -> float:
    frames(driver)
    drag(driver, 4)
    return min((points for _, points in frames(driver)), default=math.inf)


def test_a_large_cloud_has_fewer_points_while_it_turns_and_all_of_them_at_rest(
    visits: Visits, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "FIRST", 5_000)  # of the visitor to come
    monkeypatch.setattr(budget, "FEWEST", 5_000)
    monkeypatch.setattr(budget, "FEWEST_AT_REST", 50_000)  # however slow this machine is
    with browser(DESKTOP) as driver:
        watch_frames(driver)
        visitor = enter(driver, visits)
        cloud = np.random.default_rng(0).uniform(-0.5, 0.5, (50_000, 3))
        with visitor.lock:
            visitor.drawing.cloud("large", cloud, np.full((50_000, 3), 90, np.uint8), 0.01)
        wait_for(lambda: any(points >= 50_000 for _, points in frames(driver)))
        time.sleep(1)
        # The first parts, and the shape of the page. A busy machine draws so few frames that one drag may be too short.
        wait_for(lambda: fewest_while_turning(driver) < 6_000, 120)
        wait_for(lambda: any(points >= 50_000 for _, points in frames(driver)), 120)  # at rest


@pytest.mark.parametrize(
    ("weights", "kind"),
    [("brick-parts", "segmentation"), ("modelnet40-mae", "reconstruction"), ("mixtures", "clusters")],
)
def test_other_networks_have_pages_of_their_own(weights: str, kind: str, desktop: Any) -> None:
    running = Visits(open_page(weights), port=0)
    complaints(desktop), requests(desktop)
    try:
        desktop.get(running.address)
        wait_for(lambda: said(desktop, kind), 120)
        time.sleep(2)
        assert len(np.unique(pixels(desktop).reshape(-1, 3), axis=0)) > 50  # something is drawn
        assert complaints(desktop) == []
        assert {urlsplit(one).netloc for one in requests(desktop)} == {urlsplit(running.address).netloc}
        if kind == "segmentation":
            assert "labelled correctly" in said(desktop, kind)  # the shapes of the pack have labels
            before = pixels(desktop)
            visitor = next(iter(running.visitors.values()))
            assert visitor.segment is not None
            desktop.find_element("xpath", "//*[text()='Classes']").click()
            name = said(desktop, "legend").split("\n")[0].rsplit(" ", 1)[0]  # of the most points
            switch = wait_for(lambda: desktop.find_elements("xpath", f"//label[text()='{name}']"))[0]
            desktop.execute_script("arguments[0].scrollIntoView(); arguments[0].click()", switch)
            wait_for(lambda: not all(one.value for one in visitor.segment.switches))
            time.sleep(2)
            assert (np.abs(pixels(desktop) - before).max(-1) > 40).mean() > 0.01  # their points are gone
    finally:
        running.stop()


def test_it_works_on_a_phone(visits: Visits) -> None:
    with browser(PHONE) as driver:
        enter(driver, visits)
        time.sleep(2)
        assert complaints(driver) == []
        width = driver.execute_script("return document.scrollingElement.scrollWidth")
        assert width <= PHONE[0]
        assert len(np.unique(pixels(driver).reshape(-1, 3), axis=0)) > 50  # something is drawn


def test_from_elsewhere_the_page_asks_for_its_token(visits: Visits, desktop: Any) -> None:
    public = Visits(visits.page, "0.0.0.0", 0)
    try:
        place = f"http://127.0.0.1:{public.server.get_port()}/"
        desktop.get(place)
        assert "with its token" in desktop.page_source
        desktop.get(f"{place}?token={public.server.token}")
        wait_for(lambda: said(desktop, "answer"))
        assert desktop.current_url == place  # the token is in no history
    finally:
        public.stop()
