"""Take the pictures of the documentation: `make pictures`. They need chromium and no data but the embedded parts.

    python .ci/pictures.py [--scenes RUN]

The picture of a labelled scene needs a network that was trained on scenes, which does not ship. With RUN, the folder of
such a training (`segment train --data brick-scenes --data.part crop`), only this picture is taken.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))  # the browser is that of the tests
OUT = ROOT / "docs" / "pictures"
LARGEST = 300_000  # bytes
LABELLED = "4275b"  # a test part with studs, tubes and a hinge
TOGETHER, ROW = 12, 4  # parts of the labelled scan, and how many stand in a row
SCENE = ("--points", "30000", "--split", "test", "--layout", "strewn")  # of the labelled scene

import numpy as np  # noqa: E402
from helpers.browser import DESKTOP, PHONE, browser, picture, said, wait_for  # noqa: E402
from PIL import Image  # noqa: E402

from sampled_transformer.cli import main  # noqa: E402
from sampled_transformer.data import load_data  # noqa: E402
from sampled_transformer.inference.segmentation import Segmentation, point_view_of  # noqa: E402
from sampled_transformer.report.segment_page import label_set  # noqa: E402
from sampled_transformer.view.camera import ASIDE  # noqa: E402
from sampled_transformer.view.colours import by_class  # noqa: E402
from sampled_transformer.view.page import open_page  # noqa: E402
from sampled_transformer.view.texts import paragraph  # noqa: E402
from sampled_transformer.view.visits import Visits  # noqa: E402


def keep(driver: Any, name: str) -> None:
    """Save what the browser shows, without viser's advice about graphics cards."""
    hide = "one => one.style.display = 'none'"  # the page crashes if somebody removes its elements
    driver.execute_script(f"document.querySelectorAll('.mantine-Notification-root').forEach({hide})")
    time.sleep(1)
    path = picture(driver, OUT / f"{name}.png")
    Image.open(path).convert("RGB").save(path, optimize=True)
    size = path.stat().st_size
    assert size < LARGEST, f"{path}: expected at most {LARGEST} bytes, got {size}"
    print(f"{path.relative_to(ROOT)}: {size // 1000} kB")


def live(
    shown: str | None,
    name: str,
    size: tuple[int, int],
    what: str,
    change: Any = None,
    weights: str | None = None,
) -> None:
    """One picture of the live page."""
    visits = Visits(open_page(shown, weights), port=0)
    try:
        with browser(size) as driver:
            driver.get(visits.address)
            wait_for(lambda: said(driver, what), 120)
            visitor = wait_for(lambda: list(visits.visitors.values()))[0]
            time.sleep(3)
            if change is not None:
                with visitor.lock:
                    change(visitor)
                time.sleep(3)
            keep(driver, name)
    finally:
        visits.stop()


def choose(visitor: Any) -> None:
    """Show a wheel, whose shape one recognises, and a clicked point."""
    shelf = visitor.page.shelf
    place = next(place for place in range(len(shelf)) if shelf.item(place).truth == "Wheel")
    visitor.picker.value = visitor.picker.options[place]
    visitor._pick()


def click(visitor: Any) -> None:
    choose(visitor)
    visitor.attention.select(40)


def field(visitor: Any) -> None:
    choose(visitor)
    visitor.attention.select(40)
    visitor.attention.depth.value = 5
    visitor.attention._show_field()


def labelled(visitor: Any) -> None:
    """Show a part of the test split from nearby, so that its studs and its hinge are seen."""
    shelf = visitor.page.shelf
    place = next(place for place in range(len(shelf)) if shelf.item(place).name == LABELLED)
    visitor.picker.value = visitor.picker.options[place]
    visitor._pick()
    visitor.look(1.2 * ASIDE, 0.68 * np.array([1.1, -1.7, 1.5]))


def four(visitor: Any) -> None:
    """Draw points until the network finds as many clusters as it knows; a first set may have fewer."""
    panel = visitor.mixture
    while panel.table.content.count("weight") < 4 and panel.seed < 30:
        panel.draw_points()


def parts_together(visitor: Any) -> None:
    """Lay test parts with many true classes side by side, each labelled on its own.

    The network knows parts, not scenes. The parts are chosen by their true classes, whatever the network says.
    """
    trained, panel = visitor.page.trained, visitor.segment
    pack = load_data("brick-parts", "test")
    labels = pack.point_labels.reshape(len(pack), -1)
    variety = [len(np.unique(row[row >= 0])) for row in labels]
    chosen = np.argsort(-np.array(variety), kind="stable")[:TOGETHER].tolist()
    view = point_view_of(trained.description, trained.name)
    sets = [label_set(trained, view, pack, number) for number in chosen]
    places = []
    for number, (points, _, _) in enumerate(sets):
        stood = visitor.drawn(points - points.mean(0)) / np.linalg.norm(points - points.mean(0), axis=1).max()
        stood[:, 2] -= stood[:, 2].min()  # on the table
        places.append(stood + 2.05 * np.array([number % ROW - (ROW - 1) / 2, number // ROW - 1, 0.0]))
    panel.points = np.concatenate(places) / ROW
    panel.truth = np.concatenate([truth for _, truth, _ in sets])
    found = [one for _, _, one in sets]
    panel.found = Segmentation(
        np.concatenate([one.labels for one in found]),
        np.concatenate([one.confidence for one in found]),
        pack.point_classes,
    )
    visitor.about.content = paragraph(f"{TOGETHER} parts of the test split, each labelled on its own", kind="shape")
    panel.draw()
    visitor.drawing.cloud("points", panel.points, by_class(panel.found.labels), 0.0085)
    visitor.look(1.1 * ASIDE, 0.72 * np.array([0.1, -1.9, 2.4]))


def from_above(visitor: Any) -> None:
    """Look at a whole scene."""
    visitor.look(1.1 * ASIDE, 0.85 * np.array([0.5, -1.6, 1.5]))


def scene(weights: str) -> None:
    """A whole scene of test parts, labelled in one pass by a network of scenes."""
    with tempfile.TemporaryDirectory() as place:
        file = str(Path(place) / "scene.ply")
        assert main(["data", "scene", *SCENE, "--out", file]) == 0
        live(file, "labelled-scene", DESKTOP, "segmentation", from_above, weights)


def report(folder: Path) -> None:
    """The page about the shipped network for bricks."""
    page = folder / "evaluation.html"
    assert main(["evaluate", "bricks", "--samples", "8", "--page", str(page)]) == 0
    for name, size, dark in (("report", DESKTOP, False), ("report-phone", PHONE, True)):
        with browser(size, dark) as driver:
            driver.get(page.as_uri())
            wait_for(lambda driver=driver: driver.execute_script("return document.querySelector('.main-svg') !== null"))
            keep(driver, name)
    with browser(DESKTOP) as driver:
        driver.get(page.as_uri())
        wait_for(lambda: driver.execute_script("return document.querySelectorAll('.js-plotly-plot').length > 3"))
        find = "[...document.querySelectorAll('h2')].find(one => one.innerText.startsWith('Most')).scrollIntoView()"
        driver.execute_script(find)
        time.sleep(3)
        keep(driver, "report-confused")


def all_but_the_scene() -> None:
    live(None, "view", DESKTOP, "answer", click)
    live(None, "view-field", DESKTOP, "answer", field)
    live(None, "view-phone", PHONE, "answer", choose)
    live("modelnet40-mae", "view-rebuilt", DESKTOP, "reconstruction", choose)
    live("mixtures", "view-clusters", DESKTOP, "clusters", four)
    live("brick-parts", "labelled-part", DESKTOP, "segmentation", labelled)
    live("brick-parts", "labelled-scan", DESKTOP, "segmentation", parts_together)
    with tempfile.TemporaryDirectory() as place:
        report(Path(place))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", help="the folder of a run, or a weights file, of a network of scenes")
    given = parser.parse_args()
    if given.scenes is None:
        all_but_the_scene()
    else:
        scene(given.scenes)
