"""docs/results/, written from the files under results/ and from nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sampled_transformer.support.printable import printable

from ..reproduce import read_json, read_result, result_file
from ..studies import STUDIES
from ..study import Study
from .agreement import agreement_section
from .autoencoder import autoencoder_section
from .calibration import calibration_section
from .classification import classification_section
from .clustering import clustering_section
from .measured import Measured, made_with
from .monte_carlo import monte_carlo_section
from .parts import parts_section
from .peers import peers_section
from .point_order import point_order_section
from .practice import practice_section
from .recipe import recipe_section
from .robustness import robustness_section
from .search import search_section
from .segmentation import segmentation_section
from .shipped import shipped_section
from .softened import softened_section
from .speed import speed_section
from .strange_files import files_section
from .summary import Rows, lenders, readme_table, summary_table
from .surer_answer import surer_section

SECTIONS: dict[str, Callable[[Study, list[Measured]], list[str]]] = {
    "calibration": calibration_section,
    "search": search_section,
    "segmentation": segmentation_section,
}
# Pages with verdicts; they take the rows that lend their deviation between seeds as well.
JUDGING: dict[str, Callable[[Study, list[Measured], Iterable[Measured]], list[str]]] = {
    "classification": classification_section,
    "clustering": clustering_section,
    "autoencoder": autoencoder_section,
}
# The pages in the order of the first page's list, with their short titles.
TITLES = {
    "basic-modelnet40": "One layer on ModelNet40",
    "ordered-modelnet40": "Sparse against sampled",
    "points-modelnet40": "Other numbers of points",
    "basic-bricks": "One layer on bricks",
    "hierarchical-modelnet40": "Hierarchical network",
    "hierarchical-recipe": "Hierarchical recipe",
    "set-transformer-modelnet40": "Set Transformer",
    "autoencoder-small": "Masked autoencoder",
    "cluster": "Clustering",
    "cluster-short": "Clustering, 10,000 steps",
    "cluster-forms": "Clustering, other forms",
    "variants-bricks": "Variants on bricks",
    "variants-modelnet40": "Variants on ModelNet40",
    "deep-bricks": "Six blocks on bricks",
    "cycles-bricks": "A cycle per layer or network",
    "pyramid-modelnet40": "Attention in the pyramid",
    "pyramid-places": "Places for attention",
    "segment-brick-parts": "Attention in the segmenter",
    "parts": "Labels beside PointNet++",
    "peers": "Beside its peers",
    "calibration": "Calibration",
    "robustness": "What the weights withstand",
    "predict": "Imperfect files",
    "surer-answer": "How sure predict is",
    "point-order": "Order of the points",
    "agreement": "Shapes that networks share",
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
- ModelNet40 is used as published: some of its meshes occur in both official splits.
- Times are wall times of whole runs with an evaluation after every epoch, on a machine that did other work as well.
- The paper prints a number of epochs only for pre-training (300). The other scales here are our own choice.
- The paper's proof is checked [as a program](../theory.md), not by measurement.

## Verdicts

A difference between two rows has a standard error, the ±. It joins two parts. Seeds: deviation * sqrt(1/k1 + 1/k2) for
k1 and k2 runs, with the deviation of one run between seeds pooled over the rows of the study; a study with fewer than
four degrees of freedom borrows from the studies of the same data set. Pooling takes all rows to scatter alike; a page
says where the rows' own deviations would decide otherwise. Test split: sqrt(0.12 (p1 (1 - p1) + p2 (1 - p2)) / N) for
two accuracies on the same N shapes; the factor is 0.12, and not 1, because networks err mostly [on the same
shapes](agreement.md), and 0.12 is more than any pair that we measured has. The paper prints one accuracy per row, so
its difference has the error of one run each; for few shots and for clustering it prints a deviation, which we take. The
mean over several pairs has less error from the seeds, but not from the test split, which they share.

All intervals are Student's 95 %. With e for half the interval of the difference between ours and the paper's:

- **confirmed to ± e**: ours differs from zero with the paper's sign, and from the paper's by at most e, where e is less
  than half of the paper's difference. Agreement within a larger error would be little.
- **confirmed, and level** or **ahead**: the paper claims no lead (its difference is zero or less), ours exceeds it by
  more than e, and is not below zero.
- **same sign but another size**: ours differs from zero with the paper's sign, and from the paper's by more than e.
- **refuted**: ours differs from the paper's by more than e otherwise: it has the opposite sign or cannot be told from
  zero.
- **undecided**: anything else. "Would resolve x points" means that a true difference of x would have been found with a
  chance of 80 %: a difference from zero, or, where a sign is named, from the paper's difference.

All verdicts hold for the scale they were measured at. Each comes from an interval of its own: of twenty true
differences of zero, one is expected to be called "better" or "worse" by chance. A study of six rivals makes six such
calls, so read a single one that is close to its bound with that in mind.

Times have rules of their own. n^x ± e is the slope of log time over log points, with half its 95 % interval. Linear
growth is **confirmed** if x + e is at most 1.1, **refuted** if x - e is above 1.1, else **undecided**. A whole network
with a part that seems to grow faster is undecided at best: in larger clouds that part will dominate. One mechanism is
cheaper than another if their ratio is outside the noise: the file holds layers that do all the work of `sampled` and
more, and the smallest ratio that one of them reaches to it can only be noise.
"""
README = ("<!-- claims: written by `sampled-transformer tables page` -->\n", "<!-- end of claims -->")


def results_pages(results: Path) -> dict[str, str]:
    """The text of each page, by the name of its file."""
    found = all_rows(results)
    bodies: dict[str, list[str]] = {}
    for name, rows in found.items():
        if rows:
            with naming(results / name):
                bodies[name] = study_section(name, rows, found)
    for name, place, from_result in (
        ("point-order", "order/bricks.json", point_order_section),
        ("monte-carlo", "theory/monte-carlo.json", monte_carlo_section),
        ("softened", "theory/softened.json", softened_section),
        ("practice", "theory/practice.json", practice_section),
        ("predict", "predict/files.json", files_section),
        ("surer-answer", "predict/surer.json", surer_section),
        ("peers", "peers/contest.json", peers_section),
        ("parts", "peers/parts.json", parts_section),
    ):
        if (results / place).is_file():
            with naming(results / place):
                bodies[name] = from_result(read_json(results / place))
    for name, place, from_folder in (
        ("speed", "bench", speed_section),
        ("agreement", "agreement", agreement_section),
        ("weights", "weights", shipped_section),
        ("robustness", "robustness", robustness_section),
        ("recipe-search", "recipe-search", recipe_section),
    ):
        if (results / place).is_dir():
            with naming(results / place):
                bodies[name] = from_folder(results / place)
    pages = {f"{name}.md": page(TITLES[name], bodies[name]) for name in TITLES if name in bodies}
    listed = [f"- [{TITLES[name]}]({name}.md){subtitle(name)}" for name in TITLES if name in bodies]
    first = [HEAD, *summary_table(results, found), "", "## All pages", "", *listed, "", READING]
    return {"index.md": "\n".join(first), **pages}


@contextmanager
def naming(place: Path) -> Iterator[None]:
    """Say which file or folder lacks a figure that its page shows."""
    try:
        yield
    except (KeyError, StopIteration) as error:
        what = f"without {error}" if isinstance(error, KeyError) else "without the figures of its page"
        raise ValueError(f"{printable(place)}: got a result {what}; expected one of this version") from None


def page(title: str, body: list[str]) -> str:
    return "\n".join([f"# {title}", "", *body]).rstrip("\n") + "\n"


def subtitle(name: str) -> str:
    """What the title of a study says beyond the short one."""
    return f": {STUDIES[name].title}" if name in STUDIES else ""


def write_pages(results: Path, folder: Path, remove: bool = True) -> list[Path]:
    """Write all pages into the folder, and remove pages of results that are gone, or refuse if it must not."""
    pages = results_pages(results)
    folder.mkdir(parents=True, exist_ok=True)
    gone = [path for path in folder.glob("*.md") if path.stem in TITLES and path.name not in pages]
    if gone and not remove:
        count = f"{len(gone)} page{'s' * (len(gone) > 1)}"
        lost = f"{printable(folder)} has {count} that {printable(results)} has no results for"
        raise ValueError(f"page: expected --page with the folder to write, because {lost}")
    for path in gone:
        path.unlink()
    for name, text in pages.items():
        (folder / name).write_text(text, "utf-8")
    return [folder / name for name in pages]


def all_rows(results: Path) -> Rows:
    return {name: read_rows(results, name, study) for name, study in STUDIES.items()}


def with_claims(readme: str, results: Path) -> str:
    """The text of the README with its table of claims as the results have it."""
    begin, end = README
    before, found, rest = readme.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        return readme
    lines = readme_table(results, all_rows(results))
    return "".join([before, begin, *(f"{line}\n" for line in lines), end, after])


def read_rows(results: Path, name: str, study: Study) -> list[Measured]:
    """The rows of a study with at least one run, and the rows that it borrows from other studies."""
    rows = []
    for place, label in (*((name, label) for label in study.rows), *study.borrowed):
        row = STUDIES[place].rows[label] if place != name else study.rows[label]
        paths = [result_file(results, place, label, seed) for seed in range(row.seeds)]
        runs = [read_result(path) for path in paths if path.is_file()]
        if runs:
            rows.append(Measured(label, row, runs))
    return rows if any(row.label in study.rows for row in rows) else []


def study_section(name: str, rows: list[Measured], found: Rows) -> list[str]:
    study = STUDIES[name]
    made, wanted = sum(len(row.runs) for row in rows if row.label in study.rows), len(study.runs())
    lines = [f"{study.title.removesuffix('.')}.", ""]  # one ends with "et al."
    if study.note:
        lines += [study.note, ""]
    if made < wanted:
        lines += [f"**{made} of {wanted} runs have been made; the tables show those.**", ""]
    if study.kind in JUDGING:
        lines += JUDGING[study.kind](study, rows, lenders(name, found))
    else:
        lines += SECTIONS[study.kind](study, rows)
    return [*lines, "", *made_with(name, study, rows)]
