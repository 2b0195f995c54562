"""Means, deviations, seeds, and how a table was made."""

from __future__ import annotations

import pytest

from sampled_transformer_lab.pages.measured import Measured, counted, made_with, scale, spread
from sampled_transformer_lab.study import Row, Study

BEST = "best epoch (chosen on test, not the headline)"


def run(accuracy: float, loss: float = 1.0, command: str = "sampled-transformer train") -> dict:
    right = round(100 * accuracy)
    figures = {"last epoch": {"test_accuracy": accuracy, "train_loss": loss}, BEST: {"train_loss": 1.0}}
    machine = {"processor": "x", "cores": 2, "threads": 1}
    confusion = [[right, 100 - right], [0, 0]]
    return {"figures": figures, "confusion": confusion, "seconds": 4.0, "machine": machine, "command": command}


def test_figures_of_a_row() -> None:
    row = Measured("basic-sampled", Row(""), [run(0.5), run(0.7, loss=1.2)])
    assert row.name == "sampled"
    assert Measured("basic-sampled", Row("", shown="other"), []).name == "other"
    assert row.shapes() == 100
    assert row.accuracy() == pytest.approx(60)
    assert row.split_deviation() == pytest.approx((60 * 40 / 100) ** 0.5)
    assert row.diverged() == 1
    assert row.seconds() == 4


def test_a_single_value_has_no_deviation() -> None:
    assert spread([1.0]) == "1.00"
    assert spread([1.0, 3.0], 1) == "2.0 ± 1.4"


@pytest.mark.parametrize(("counts", "text"), [((1,), "1 seed"), ((3, 3), "3 seeds"), ((3, 1), "1 to 3 seeds")])
def test_counted(counts: tuple[int, ...], text: str) -> None:
    assert counted(list(counts), "seed") == text


def test_the_scale_names_points_epochs_and_seeds() -> None:
    rows = [Measured("a", Row(""), [{"points": 1024, "epochs": epochs}] * 2) for epochs in (30, 15)]
    assert scale(rows) == "1,024 points, 15 to 30 epochs, 2 seeds"
    assert scale([Measured("a", Row(""), [{"steps": 50_000}])]) == "50,000 steps, 1 seed"


def test_the_example_is_a_run_of_the_subject() -> None:
    study = Study("", {"basic-dense": Row("{root}"), "basic-sampled": Row("")}, ours="basic-sampled")
    rows = [Measured(name, row, [run(0.5, command=f"train {name}")]) for name, row in study.rows.items()]
    text = made_with("mine", study, rows)
    assert "sampled-transformer tables make mine --root ROOT" in text
    assert "train basic-sampled" in text
    assert text[-1] == "Machine: x, 2 cores, 1 thread per run."
