"""Differences of rows, where their errors come from, and rows that are not compared."""

from __future__ import annotations

import math

import pytest

from sampled_transformer_lab.pages.comparison import (
    Seeds,
    averages,
    comparisons,
    difference,
    lent_deviation,
    seed_deviation,
)
from sampled_transformer_lab.pages.measured import Measured
from sampled_transformer_lab.pages.verdict import split_error
from sampled_transformer_lab.studies import STUDIES
from sampled_transformer_lab.study import Row, Study

BEST = "best epoch (chosen on test, not the headline)"


def run(accuracy: float, data: str = "x", once: float = 1.0) -> dict:
    right = round(100 * accuracy)
    row = {"test_accuracy": accuracy, "test_mean_class_accuracy": accuracy, "train_loss": 1.0}
    figures = {"last epoch": row, BEST: {**row, "train_loss": once}}
    return {"figures": figures, "confusion": [[right, 100 - right], [0, 0]], "seconds": 1.0, "data": data}


def measured(name: str, *values: float, data: str = "x", once: float = 1.0) -> Measured:
    return Measured(name, Row(""), [run(value, data, once) for value in values])


def test_the_deviation_between_seeds_is_that_of_all_rows() -> None:
    rows = [measured("a", 0.5), measured("b", 0.5, 0.6, 0.7), measured("c", 0.3, 0.34)]
    pooled = ((100 + 0 + 100 + 4 + 4) / 3) ** 0.5
    assert seed_deviation(rows) == Seeds(pytest.approx(pooled), 3)
    assert seed_deviation(rows[:1]) == Seeds(None, 0)
    assert seed_deviation([measured("b", 0.5, 0.7, once=0.5)]) == Seeds(None, 0)  # diverged


def test_a_study_with_single_seeds_borrows_from_the_same_data_set() -> None:
    others = [measured("b", 0.5, 0.7), measured("c", 0.1, 0.9, data="y")]
    assert seed_deviation([measured("a", 0.5)], others) == Seeds(
        pytest.approx(200**0.5), 1, "the rows of other studies of x"
    )
    assert lent_deviation("z", others) == Seeds(None, 0)


def test_pairs_at_several_sizes_have_a_mean_per_rival() -> None:
    names = [f"s-{mechanism}-{size}" for size in (1, 2) for mechanism in ("a", "b", "c")]
    rows = {name: Row("", paper={} if "c" in name else {"accuracy": 60.0}) for name in names}
    study = Study("", rows, ours="s-a-", rival="s-b-", versus=[("s-a-1", "s-c-1"), ("s-a-2", "s-c-2")])
    values = {"a": 0.6, "b": 0.5, "c": 0.4}
    found = [Measured(name, row, [run(values[name[2]] + 0.1 * (name == "s-a-2"))]) for name, row in rows.items()]
    compared = comparisons(study, found, Seeds(1.0, 9))
    one, other = averages(study, compared)
    assert (one.rival, other.rival, one.pairs) == ("b, mean of 2", "c, mean of 2", 2)
    assert (one.here.value, other.here.value) == pytest.approx((15.0, 25.0))
    assert one.paper is not None
    assert one.paper.value == 0
    assert other.paper is None
    assert averages(study, compared[:1]) == []
    assert averages(Study("", rows, ours="s-a-1"), compared) == []


def test_a_study_with_a_single_second_seed_borrows_too() -> None:
    """Two equal runs would otherwise make every difference certain."""
    few = [measured("a", 0.5, 0.5), measured("b", 0.6)]
    whose = "the rows here, which are too few alone, and those of other studies of x"
    assert seed_deviation(few, [measured("c", 0.5, 0.7)]) == Seeds(pytest.approx(10.0), 2, whose)
    assert seed_deviation(few) == Seeds(0.0, 1)
    enough = [measured("a", 0.5, 0.6), *(measured(name, 0.5, 0.5) for name in "bcd")]
    assert seed_deviation(enough, [measured("e", 0.1, 0.9)]) == Seeds(pytest.approx((50 / 4) ** 0.5), 4)


def test_seeds_and_split_stand_side_by_side() -> None:
    found = difference((60.0, 50.0), (3, 1), 100, Seeds(2.0, 6))
    assert found.value == pytest.approx(10)
    assert found.seeds == pytest.approx(2 * math.sqrt(1 / 3 + 1))
    assert found.split == pytest.approx(split_error(60, 50, 100))
    assert found.freedom == 6
    assert difference((60.0, 50.0), (1, 1), 100, Seeds(None, 0)).seeds is None


def test_the_papers_difference_has_the_error_of_one_run_each() -> None:
    rows = {name: Row("", 3, paper={"accuracy": paper}) for name, paper in (("m-a", 70.0), ("m-b", 60.0))}
    found = [Measured(name, row, [run(0.5), run(0.52), run(0.54)]) for name, row in rows.items()]
    (one,) = comparisons(Study("", rows, ours="m-a"), found, seed_deviation(found))
    assert (one.rival, one.labels, one.diverged) == ("b", ("m-a", "m-b"), False)
    assert one.paper is not None
    assert one.paper.value == pytest.approx(10)
    assert one.paper.seeds == pytest.approx(2 * math.sqrt(2))
    assert one.here.seeds == pytest.approx(2 * math.sqrt(2 / 3))
    assert one.words == "**refuted**"


def test_a_run_that_diverged_says_nothing() -> None:
    rows = {"m-a": Row(""), "m-b": Row("")}
    found = [measured("m-a", 0.8, 0.82), measured("m-b", 0.2, once=0.5)]
    (one,) = comparisons(Study("", rows, ours="m-a"), found, seed_deviation(found))
    assert (one.order, one.words) == ("diverged", "says nothing: diverged")


def test_sparse_attention_in_a_random_order_is_not_compared_with_sampled() -> None:
    for name in ("basic-modelnet40", "basic-bricks"):
        study = STUDIES[name]
        assert ("basic-sampled", "basic-sparse") not in study.pairs()
        shown = Measured("basic-sparse", study.rows["basic-sparse"], []).name
        assert shown == "sparse, points in a fresh random order = sampled"
        assert not study.rows["basic-sparse"].paper
    ordered = STUDIES["ordered-modelnet40"]
    assert ordered.pairs() == [("basic-sampled", "basic-sparse")]
    assert ordered.rows["basic-sparse"].paper == {"accuracy": 87.09}


def test_further_pairs_are_compared_too() -> None:
    study = Study("", {"a": Row(""), "b": Row("")}, versus=[("a", "b")])
    assert study.pairs() == [("a", "b")]
