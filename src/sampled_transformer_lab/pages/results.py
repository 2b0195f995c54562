"""docs/results/, written from the files under results/ and from nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from ..reproduce import result_file
from ..studies import STUDIES, Study
from .autoencoder import autoencoder_section
from .calibration import calibration_section
from .classification import classification_section
from .clustering import clustering_section
from .measured import Measured, made_with
from .monte_carlo import monte_carlo_section
from .point_order import point_order_section
from .practice import practice_section
from .recipe import recipe_section
from .search import search_section
from .shipped import shipped_section
from .softened import softened_section
from .speed import speed_section
from .summary import summary_table

SECTIONS: dict[str, Callable[[Study, list[Measured]], list[str]]] = {
    "classification": classification_section,
    "clustering": clustering_section,
    "autoencoder": autoencoder_section,
    "calibration": calibration_section,
    "search": search_section,
}
# The pages in the order of the first page's list, with their short titles.
TITLES = {
    "basic-modelnet40": "One layer on ModelNet40",
    "basic-bricks": "One layer on bricks",
    "hierarchical-modelnet40": "Hierarchical network",
    "autoencoder-small": "Masked autoencoder",
    "cluster": "Clustering",
    "cluster-short": "Clustering, 10,000 steps",
    "cluster-forms": "Clustering, other forms",
    "variants-bricks": "Variants on bricks",
    "variants-modelnet40": "Variants on ModelNet40",
    "deep-bricks": "Six blocks on bricks",
    "calibration": "Calibration",
    "point-order": "Order of the points",
    "monte-carlo": "From sampled to dense",
    "softened": "The proof with softmax",
    "practice": "The theory in practice",
    "speed": "Speed and memory",
    "weights": "Shipped weights",
    "recipe-search": "Choice of the recipe",
}
HEAD = """# Results

`sampled-transformer tables page` writes these pages from the files under `results/`, and a test keeps the two
together. Every page names the commands that made it.
"""
READING = """## How to read the pages

- The headline is the accuracy on the official test split after the **last** epoch, in one pass. The column "best epoch"
  was chosen on the test split, as much of the literature does; it is for comparison only.
- Figures are mean ± standard deviation over seeds; a single seed has no deviation.
- The column "split" is what the finite test split adds: sqrt(p (1 - p) / N) for an accuracy p on N shapes.
- "Ties with" means that the difference is within the noise of the seeds that were run.
- ModelNet40 is used as published: 74 of its meshes occur in both official splits.
- Times are wall times of whole runs with an evaluation after every epoch, on a machine that did other work as well.
- The paper prints a number of epochs only for pre-training (300). The other scales here are our own choice.
- The paper's proof is checked [as a program](../theory.md), not by measurement.
"""


def results_pages(results: Path) -> dict[str, str]:
    """The text of each page, by the name of its file."""
    found = {name: read_rows(results, name, study) for name, study in STUDIES.items()}
    bodies = {name: study_section(name, STUDIES[name], rows) for name, rows in found.items() if rows}
    for name, place, from_result in (
        ("point-order", "order/bricks.json", point_order_section),
        ("monte-carlo", "theory/monte-carlo.json", monte_carlo_section),
        ("softened", "theory/softened.json", softened_section),
        ("practice", "theory/practice.json", practice_section),
    ):
        if (results / place).is_file():
            bodies[name] = from_result(json.loads((results / place).read_text("utf-8")))
    for name, place, from_folder in (
        ("speed", "bench", speed_section),
        ("weights", "weights", shipped_section),
        ("recipe-search", "recipe-search", recipe_section),
    ):
        if (results / place).is_dir():
            bodies[name] = from_folder(results / place)
    pages = {f"{name}.md": page(TITLES[name], bodies[name]) for name in TITLES if name in bodies}
    listed = [f"- [{TITLES[name]}]({name}.md){subtitle(name)}" for name in TITLES if name in bodies]
    first = [HEAD, *summary_table(results, found), "", "## All pages", "", *listed, "", READING]
    return {"index.md": "\n".join(first), **pages}


def page(title: str, body: list[str]) -> str:
    return "\n".join([f"# {title}", "", *body]).rstrip("\n") + "\n"


def subtitle(name: str) -> str:
    """What the title of a study says beyond the short one."""
    return f": {STUDIES[name].title}" if name in STUDIES else ""


def write_pages(results: Path, folder: Path) -> list[Path]:
    """Write all pages into the folder, and remove pages of results that are gone."""
    pages = results_pages(results)
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.md"):
        if path.stem in TITLES and path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        (folder / name).write_text(text, "utf-8")
    return [folder / name for name in pages]


def read_rows(results: Path, name: str, study: Study) -> list[Measured]:
    """The rows of a study with at least one run, and the rows that it borrows from other studies."""
    rows = []
    for place, label in (*((name, label) for label in study.rows), *study.borrowed):
        row = STUDIES[place].rows[label] if place != name else study.rows[label]
        paths = [result_file(results, place, label, seed) for seed in range(row.seeds)]
        runs = [json.loads(path.read_text("utf-8")) for path in paths if path.is_file()]
        if runs:
            rows.append(Measured(label, row, runs))
    return rows if any(row.label in study.rows for row in rows) else []


def study_section(name: str, study: Study, rows: list[Measured]) -> list[str]:
    made, wanted = sum(len(row.runs) for row in rows if row.label in study.rows), len(study.runs())
    lines = [f"{study.title}.", ""]
    if study.note:
        lines += [study.note, ""]
    if made < wanted:
        lines += [f"**{made} of {wanted} runs have been made; the tables show those.**", ""]
    lines += SECTIONS[study.kind](study, rows)
    return [*lines, "", *made_with(name, study, rows)]
