"""Differences of mechanisms, and what may be said of them."""

from __future__ import annotations

import pytest

from sampled_transformer_lab.pages.classification import (
    Comparison,
    classification_section,
    comparisons,
    decided,
    difference_deviation,
    seed_deviation,
    student,
    summary,
)
from sampled_transformer_lab.pages.measured import Measured
from sampled_transformer_lab.studies import Row, Study


def run(accuracy: float) -> dict:
    right = round(100 * accuracy)
    row = {"test_accuracy": accuracy, "test_mean_class_accuracy": accuracy, "train_loss": 1.0}
    figures = {"last epoch": row, "best epoch (chosen on test, not the headline)": row}
    return {"figures": figures, "confusion": [[right, 100 - right], [0, 0]], "seconds": 1.0}


def measured(name: str, *values: float) -> Measured:
    return Measured(name, Row(""), [run(value) for value in values])


def test_the_deviation_between_seeds_is_that_of_all_rows() -> None:
    rows = [measured("a", 0.5), measured("b", 0.5, 0.6, 0.7), measured("c", 0.3, 0.34)]
    pooled = ((100 + 0 + 100 + 4 + 4) / 3) ** 0.5
    assert seed_deviation(rows) == (pytest.approx(pooled), 3)
    assert difference_deviation(rows[0], rows[1], pooled) == pytest.approx(pooled * (1 + 1 / 3) ** 0.5)
    assert seed_deviation(rows[:1]) == (None, 0)
    assert [student(freedom) for freedom in (0, 1, 3, 7, 100)] == [2.0, 12.71, 3.18, 2.45, 2.04]
    assert difference_deviation(rows[0], rows[0], None) == pytest.approx(2**0.5 * 5)


def test_rows_are_compared_in_pairs() -> None:
    rows = {
        name: Row("", paper={"accuracy": paper}) for name, paper in (("s-1", 70), ("k-1", 60), ("s-2", 90), ("k-2", 95))
    }
    study = Study("", rows, ours="s-", rival="k-", paper_column="theirs")
    assert study.pairs() == [("s-1", "k-1"), ("s-2", "k-2")]
    values = {"s-1": 0.9, "k-1": 0.5, "s-2": 0.9, "k-2": 0.5}
    found = [Measured(name, row, [run(values[name])]) for name, row in rows.items()]
    text = classification_section(study, found)
    assert "| 1 | +40.00 ± 5.83 | +10.00 | better, as in the paper |" in text
    assert "| 2 | +40.00 ± 5.83 | -5.00 | better, **not** as in the paper |" in text
    assert "Sampled beats 1 and 2. The paper agrees on 1. The paper has the opposite order for 2." in text
    assert any(line.endswith("The paper's column is theirs.") for line in text)


def test_other_ways_to_ask_stand_apart() -> None:
    rows = {"basic-sampled": Row(""), "basic-sampled-averaged": Row("", 2, prints=True)}
    study = Study("", rows, ours="basic-sampled")
    assert study.pairs() == []
    answers = [
        {"figures": {"averaged over 8 cycles": {"accuracy": value, "mean_class_accuracy": 0.5}}} for value in (0.7, 0.8)
    ]
    found = [
        Measured("basic-sampled", rows["basic-sampled"], [run(0.7)]),
        Measured("basic-sampled-averaged", rows["basic-sampled-averaged"], answers),
    ]
    text = classification_section(study, found)
    assert text[-1] == "| sampled, averaged over 8 cycles | 2 | 75.00 ± 7.07 | 50.00 ± 0.00 |"
    assert sum(line.startswith("| sampled |") for line in text) == 1


def test_a_difference_within_the_interval_decides_nothing() -> None:
    assert [decided(difference, 1.2) for difference in (1.2, 1.3, -1.3)] == ["undecided", "better", "worse"]
    assert comparisons(Study("", {}, ours="a"), []) == []


def test_verdicts_name_the_paper_where_it_prints_both() -> None:
    found = [
        Comparison("x", 1.3, 0.5, claimed, outcome).verdict
        for claimed, outcome in ((0.1, "better"), (-0.1, "better"), (None, "worse"), (0.1, "undecided"))
    ]
    assert found == ["better, as in the paper", "better, **not** as in the paper", "worse", "undecided"]


def test_a_summary_is_a_sentence() -> None:
    outcomes = {"none": "better", "dense": "worse", "knn": "worse", "sparse": "undecided", "induced": "diverged"}
    compared = [Comparison(name, 0.0, 1.0, None, outcome) for name, outcome in outcomes.items()]
    assert summary("sampled", compared) == [
        "Sampled beats none, loses to dense and knn, and ties with sparse. "
        "Runs of induced diverged, which says nothing."
    ]
    assert summary("sampled", compared[:1]) == ["Sampled beats none."]
    assert summary("sampled", compared[:2]) == ["Sampled beats none and loses to dense."]
    assert summary("sampled", compared[1:4]) == ["Sampled loses to dense and knn, and ties with sparse."]
    assert summary("sampled", compared[4:]) == ["Runs of induced diverged, which says nothing."]
