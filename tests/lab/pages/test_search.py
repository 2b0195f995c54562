"""A search shows what was held out, and the training loss."""

from __future__ import annotations

from sampled_transformer_lab.pages.measured import Measured
from sampled_transformer_lab.pages.search import search_section
from sampled_transformer_lab.study import Row, Study


def run(accuracy: float, loss: float, seconds: float) -> dict:
    return {"figures": {"last epoch": {"validation_accuracy": accuracy, "train_loss": loss}}, "seconds": seconds}


def test_rows() -> None:
    rows = [
        Measured("sampled", Row(""), [run(0.6, 1.2, 100.0)]),
        Measured("sampled-hilbert", Row("", 2), [run(0.7, 1.1, 150.0), run(0.72, 1.0, 150.0)]),
    ]
    text = search_section(Study("", {}), rows)
    assert "| sampled | 1 | 60.00 | 1.200 | 100 |" in text
    assert "| sampled-hilbert | 2 | 71.00 ± 1.41 | 1.050 | 150 |" in text


def test_pairs_with_several_seeds_have_a_difference_and_its_power() -> None:
    rows = {"a": Row("", 3), "b": Row("", 3), "c": Row("")}
    accuracies = {"a": (0.60, 0.62, 0.64), "b": (0.61, 0.63, 0.65), "c": (0.9,)}
    best = "best epoch (chosen on test, not the headline)"

    def measured(label: str) -> Measured:
        runs = [run(value, 1.0, 1.0) for value in accuracies[label]]
        for one in runs:
            one["figures"][best] = one["figures"]["last epoch"]
        return Measured(label, rows[label], runs)

    text = search_section(Study("", rows, ours="a"), [measured(label) for label in rows])
    # sqrt(2 / 3) * 2 points; Student's quantiles of 4 degrees of freedom are 2.776 and 0.941.
    assert "| a - b | -1.00 ± 1.63 | 6.1 | undecided |" in text
    assert not any(line.startswith("| a - c") for line in text)  # one seed says nothing
    assert "(2.00 points per run, pooled over the rows with several seeds, 4 degrees of freedom)" in text[-1]
