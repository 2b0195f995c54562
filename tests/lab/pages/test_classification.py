"""Tables of accuracies, and the sentences on who is ahead."""

from __future__ import annotations

from sampled_transformer_lab.pages.classification import classification_section, summary
from sampled_transformer_lab.pages.comparison import Comparison
from sampled_transformer_lab.pages.measured import Measured
from sampled_transformer_lab.pages.verdict import Difference, Verdict
from sampled_transformer_lab.study import Row, Study


def run(accuracy: float, shapes: int = 100) -> dict:
    right = round(shapes * accuracy)
    row = {"test_accuracy": accuracy, "test_mean_class_accuracy": accuracy, "train_loss": 1.0}
    figures = {"last epoch": row, "best epoch (chosen on test, not the headline)": row}
    return {"figures": figures, "confusion": [[right, shapes - right], [0, 0]], "seconds": 1.0, "data": "x"}


def test_rows_are_compared_in_pairs_with_a_deviation_that_others_lend() -> None:
    rows = {
        name: Row("", paper={"accuracy": paper}) for name, paper in (("s-1", 95), ("k-1", 57), ("s-2", 90), ("k-2", 95))
    }
    study = Study("", rows, ours="s-", rival="k-", paper_column="theirs")
    assert study.pairs() == [("s-1", "k-1"), ("s-2", "k-2")]
    values = {"s-1": 0.9, "k-1": 0.5, "s-2": 0.9, "k-2": 0.5}
    found = [Measured(name, row, [run(values[name])]) for name, row in rows.items()]
    lender = Measured("l", Row(""), [run(value) for value in (0.5, 0.51, 0.49, 0.5)])
    text = classification_section(study, found, [lender])
    assert "| 1 | +40.00 ± 2.33 | 6.6 | better | +38.00 ± 2.20 | confirmed to ± 6.5 points | 1 |" in text
    assert "| 2 | +40.00 ± 2.33 | 6.6 | better | -5.00 ± 1.73 | confirmed, and ahead | no number |" in text
    assert "Sampled beats 1 and 2. Against the paper: confirmed for 1 and 2." in text
    assert any(line.endswith("The paper's column is theirs.") for line in text)
    assert "pooled over the rows of other studies of x (0.82 points per run, 3 degrees of freedom)" in text[-1]


def test_without_any_second_seed_nothing_is_decided() -> None:
    rows = {"m-a": Row(""), "m-b": Row("")}
    found = [Measured(name, row, [run(value)]) for (name, row), value in zip(rows.items(), (0.9, 0.1), strict=True)]
    text = classification_section(Study("", rows, ours="m-a"), found)
    assert any(line.endswith("| undecided (no row has a second seed) |") for line in text)
    assert text[-1] == "No row here or elsewhere has a second seed, so no difference can be told from noise."


def test_rows_without_a_rival_are_only_shown() -> None:
    rows = {"m-a": Row(""), "m-b": Row("")}
    text = classification_section(Study("", rows, ours="m-a"), [Measured("m-a", rows["m-a"], [run(0.5)])])
    assert any(line.startswith("| a | 1 | 50.00 |") for line in text)
    assert not any("against" in line for line in text)


def test_seeds_that_the_papers_difference_would_take() -> None:
    rows = {"m-a": Row("", 3, paper={"accuracy": 87.34}), "m-b": Row("", 3, paper={"accuracy": 87.09})}
    found = [Measured(name, row, [run(0.5, 10_000), run(0.51, 10_000)]) for name, row in rows.items()]
    text = classification_section(Study("", rows, ours="m-a", paper_column="theirs"), found)
    # 2 (2.8 * 0.707 / 0.25)^2 = 126 seeds on any number of shapes; 10,000 of them hide 0.25 points
    assert any(line.startswith("| b | +0.00 ±") and line.endswith("| no number |") for line in text)


def test_rows_that_scatter_more_than_others_are_named() -> None:
    values = {"m-a": (0.50, 0.60, 0.70), "m-b": (0.90, 0.90, 0.90), "m-c": (0.40,) * 3, "m-d": (0.1,) * 3}
    rows = {name: Row("", 3) for name in values}
    found = [Measured(name, rows[name], [run(one, 10_000) for one in several]) for name, several in values.items()]
    text = classification_section(Study("", rows, ours="m-a"), found)
    # pooled, 5 points per run with 8 degrees of freedom; alone, 10 points and 2 degrees of freedom
    assert any(line.startswith("| c | +20.00 ± 4.09") and line.endswith("| better |") for line in text)
    assert "With the deviation of each row's own seeds in place of the pooled one: b -30.00 ± 5.7" not in text[-1]
    assert "With the deviation of each row's own seeds in place of the pooled one: c +20.00 ± 5.78, open." in text[-1]


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


def test_a_summary_is_a_sentence() -> None:
    orders = {"none": "better", "dense": "worse", "knn": "worse", "sparse": "open", "induced": "better"}
    compared = [
        Comparison(name, ("", ""), Difference(0.0, 1.0), None, Verdict(order, "", 1.0), name == "induced")
        for name, order in orders.items()
    ]
    assert summary("sampled", compared) == (
        "Sampled beats no attention, loses to dense and knn, and cannot be told from sparse. "
        "Runs of induced diverged, which says nothing."
    )
    assert summary("sampled", compared[:1]) == "Sampled beats no attention."
    assert summary("sampled", compared[:2]) == "Sampled beats no attention and loses to dense."
    assert summary("sampled", compared[1:4]) == "Sampled loses to dense and knn, and cannot be told from sparse."
    assert summary("none", compared[1:2]) == "The network without attention loses to dense."
    assert summary("sampled", compared[4:]) == "Runs of induced diverged, which says nothing."
