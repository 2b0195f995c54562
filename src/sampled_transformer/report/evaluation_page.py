"""The page of one evaluation of a classifier: figures, classes, confusion, mistakes and calibration."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from ..inference.evaluation import Asked
from ..inference.review import Review
from ..support.atomic import atomic_write
from ..support.printable import printable
from .answers import sections
from .calibration import sections as calibration_sections
from .facts import facts
from .page import document, table


def write_page(path: Path, result: dict[str, Any], asked: Asked) -> None:
    """Write the page for a result of `evaluate`, and the answers of one pass."""
    page = evaluation_page(result, Review.again(asked))
    with atomic_write(path) as file:
        file.write(page.encode("utf-8"))


def evaluation_page(result: dict[str, Any], review: Review) -> str:
    """The page as HTML."""
    title = f"{printable(Path(result['weights']).name)} on {printable(Path(result['data']).name)}"
    rows = [
        (name, f"{100 * row['accuracy']:.2f} %", f"{100 * row['mean_class_accuracy']:.2f} %")
        for name, row in result["figures"].items()
    ]
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{result['shapes']} test shapes, {result['points']} points each.</p>",
        table(("answers", "accuracy", "mean over classes"), rows),
        *sections(review, script=True),
        *calibration_sections(result["calibration"]),
        *facts({title: result}, {}),
    ]
    return document(title, body)
