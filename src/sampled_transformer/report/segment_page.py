"""What report.html shows of `segment train`: mean IoU, IoU per class, confused classes, and labelled test sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..data import Pack
from ..data.axes import turn, turn_pack
from ..inference.segmentation import Segmentation, point_view_of
from ..inference.trained_network import TrainedNetwork, load
from ..support.palette import class_colour
from ..support.printable import printable
from ..training.point_loading import NORMALS, PointView, load_point_split
from ..weights import FILE
from .answers import confusion
from .clouds import Turnable, side_by_side
from .page import as_html, table
from .run_page import classes_beside, curves, figures_table

SHOWN = 3  # test sets: a browser draws few clouds that can be turned
MOST_POINTS = 100_000  # of a set that is labelled for the page
DRAWN = 4000  # points of a cloud
UNLABELLED = "#c4cbd4"
COLUMNS = {
    "test mean IoU": lambda row: f"{100 * row['test_mean_iou']:.2f} %",
    "points right": lambda row: f"{100 * row['test_accuracy']:.2f} %",
}


def sections(
    runs: Mapping[str, Path],
    results: Mapping[str, dict[str, Any]],
    metrics: Mapping[str, Sequence[Mapping[str, float]]],
    whose: str,
) -> list[str]:
    """The parts of the page from the table of figures to the test sets; all but the curves are of the first run."""
    name, folder = next(iter(runs.items()))
    result = results[name]
    classes = [printable(one) for one in result["classes"]]
    return [
        figures_table(results, COLUMNS),
        "<h2>Training</h2>",
        as_html(curves(metrics, "train_loss", "training loss"), script=True),
        as_html(curves(metrics, "test_mean_iou", "test mean IoU", percent=True)),
        *classes_beside(results, iou=True),
        f"<h2>Classes{whose}</h2>",
        class_table(result["confusion"], classes),
        f"<h2>Confusion matrix{whose}</h2>",
        '<p class="note">Each row is a true class and adds up to 100 %; the diagonal shows correct answers. The '
        "numbers are points.</p>",
        as_html(confusion(result["confusion"], classes, "points"), least_width=200 + 60 * len(classes)),
        *_test_sets(folder, whose),
    ]


def class_table(matrix: Sequence[Sequence[int]], classes: Sequence[str]) -> str:
    """One row per class: its points, IoU, how many of them are right, and how many answers of this class are."""
    counts = np.array(matrix)
    rows = []
    for number, name in enumerate(classes):
        right, points, answers = counts[number, number], counts[number].sum(), counts[:, number].sum()
        shares = (right, points + answers - right), (right, points), (right, answers)
        written = [f"{100 * part / whole:.1f} %" if points and whole else "-" for part, whole in shares]
        rows.append((name, f"{points:,}", *written))
    return table(("class", "test points", "IoU", "recognised", "right when answered"), rows)


def _test_sets(folder: Path, whose: str) -> list[str]:
    """A few test sets, each with its true classes beside those of the network."""
    trained = load(folder / FILE)
    view = point_view_of(trained.description, trained.name)
    data: Any = trained.description.notes.get("data", {})
    try:
        pack = load_point_split(data["source"], data.get("root"), "test", data.get("up_in_files"))
    except (ValueError, OSError, KeyError):  # the data is no longer there
        return []
    if pack.point_classes != trained.classes:
        return []
    if pack.up and view.up and pack.up != view.up:
        pack = turn_pack(pack, pack.up, view.up)
    body = []
    for number in chosen_sets(pack):
        points, truth, found = label_set(trained, view, pack, number)
        up = view.up or pack.up or "z"
        body.append(as_html(pair(turn(points, up), truth, found, _name(pack, number))))
    note = '<p class="note">Left the true classes, right those of the network. All points are labelled.</p>'
    return [f"<h2>Test sets{whose}</h2>", note, *body] if body else []


def chosen_sets(pack: Pack) -> list[int]:
    """The sets with the most classes of different kinds: each shows as many new classes as possible."""
    assert pack.point_labels is not None
    ptr = np.concatenate([[0], np.cumsum(pack.counts())])
    flat = pack.point_labels.reshape(-1)
    small = [number for number in range(len(pack)) if 0 < ptr[number + 1] - ptr[number] <= MOST_POINTS]
    has = {number: set(np.unique(flat[ptr[number] : ptr[number + 1]]).tolist()) - {-1} for number in small}
    seen: set[int] = set()
    found: list[int] = []
    while len(found) < min(SHOWN, len(small)):
        best = max((number for number in small if number not in found), key=lambda one: (len(has[one] - seen), -one))
        found.append(best)
        seen |= has[best]
    return found


def label_set(
    trained: TrainedNetwork, view: PointView, pack: Pack, number: int
) -> tuple[np.ndarray, np.ndarray, Segmentation]:
    """Points (n, 3) of a set, their true classes (n,), and what the network says."""
    batch = pack.batch([number])
    points = pack.coordinates(number)
    known = {name: one.reshape(len(points), -1).numpy() for name, one in (batch.features or {}).items()}
    if batch.normals is not None:
        known[NORMALS] = batch.normals.reshape(-1, 3).numpy()
    assert batch.point_labels is not None
    truth = batch.point_labels.reshape(-1).numpy()
    return points, truth, trained.segment(points, {name: one for name, one in known.items() if name in view.features})


def pair(points: np.ndarray, truth: np.ndarray, found: Segmentation, name: str) -> Any:
    """True and predicted classes of one set, side by side, with the same colours."""
    rows = np.arange(len(points))
    if len(points) > DRAWN:
        rows = np.sort(np.random.default_rng(0).choice(len(points), DRAWN, replace=False))
    known = truth >= 0
    right = f"{100 * (truth == found.labels)[known].mean():.1f} % of the points right" if known.any() else "no labels"
    names = [printable(one) for one in found.classes]
    return side_by_side(
        [
            Turnable(f"{printable(name)}\ntruth", class_parts(points[rows], truth[rows], names)),
            Turnable(f"prediction\n{right}", class_parts(points[rows], found.labels[rows], names)),
        ],
        most=DRAWN,
    )


def class_parts(points: np.ndarray, labels: np.ndarray, names: Sequence[str]) -> list[tuple[str, np.ndarray, str]]:
    return [
        ("no label", points[labels == number], UNLABELLED)
        if number < 0
        else (names[number], points[labels == number], class_colour(number))
        for number in np.unique(labels).tolist()
    ]


def _name(pack: Pack, number: int) -> str:
    return f"test set {number}" if pack.names is None else str(pack.names[number])
