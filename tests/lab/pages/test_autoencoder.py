"""What pre-training is worth: gains over training from scratch, sampled against dense, and the bars."""

from __future__ import annotations

import pytest

from sampled_transformer_lab.pages.autoencoder import autoencoder_section, judged, tasks
from sampled_transformer_lab.pages.measured import Measured
from sampled_transformer_lab.study import Row, Study

BEST = "best epoch (chosen on test, not the headline)"


def few(*accuracies: float, way: int = 5, shot: int = 10, frozen: bool = False) -> dict:
    figures = {"accuracy": {"mean": sum(accuracies) / len(accuracies), "deviation": 0.02}}
    folds = [{"fold": number, "accuracy": value} for number, value in enumerate(accuracies)]
    how = {"way": way, "shot": shot, "epochs": 0 if frozen else 50, "frozen": frozen, "data": "modelnet40"}
    return {**how, "figures": figures, "folds": folds, "seconds": 5.0, "command": "sampled-transformer fewshot"}


def trained(accuracy: float, epochs: int = 3) -> dict:
    right = round(2468 * accuracy)
    last = {"test_accuracy": accuracy, "train_loss": 1.0}
    return {
        "figures": {"last epoch": last, BEST: last},
        "confusion": [[right, 2468 - right], [0, 0]],
        "data": "modelnet40",
        "epochs": epochs,
        "seconds": 6.0,
        "command": "sampled-transformer train",
    }


def probe(accuracy: float) -> dict:
    return {"test_accuracy": accuracy, "data": "modelnet40", "seconds": 4.0, "command": "sampled-transformer probe"}


def rows(results: dict[str, dict]) -> list[Measured]:
    return [Measured(label, Row(""), [one]) for label, one in results.items()]


LENDER = Measured("basic-a", Row(""), [trained(0.85), trained(0.86)])


def test_tables_and_bars() -> None:
    results = {
        "pretrain-sampled": {
            "figures": {"last epoch": {"train_loss": 0.0321, "probe_accuracy": 0.8}},
            "seconds": 3600.0,
        },
        "probe-sampled": probe(0.84),
        "probe-dense": probe(0.85),
        "fewshot-sampled": few(0.88, 0.92),
        "fewshot-sampled-scratch": few(0.83, 0.85),
        "finetune-sampled": trained(0.9),
        "finetune-dense": trained(0.92),
        "finetune-dense-scratch": trained(0.91),
    }
    text = autoencoder_section(Study("", {}), rows(results), [LENDER])
    assert "| sampled | 0.03210 | 80.00 | 3600 |" in text
    assert "| sampled | 84.00 |  |  | 4 |" in text
    assert "| sampled | 90.00 ± 2.00 | 97.0 ± 2.3 | 84.00 ± 2.00 | +6.00 | 5 and 5 |" in text
    assert "| dense | 92.00 | 93.6 | 91.00 | +1.00 | 6 and 6 |" in text
    assert not any(line.startswith("## Transfer to bricks") for line in text)
    assert text[text.index("## Fine-tuning on ModelNet40, 3 epochs") + 8] == "sampled-transformer train"
    assert "| Linear probe on ModelNet40, sampled | 84.00 | at least 85 % | **missed** |" in text
    assert "| Linear probe on ModelNet40, dense | 85.00 | at least 85 % | met |" in text
    shots = "Few-shot, 5-way 10-shot on ModelNet40, 50 epochs"
    assert f"| {shots}, sampled: pre-trained above scratch | 6.00 | at least 3 points | met |" in text
    missed = "| Fine-tuning on ModelNet40, 3 epochs: sampled above dense | -2.00 ± "
    (line,) = (line for line in text if line.startswith(missed))
    assert line.endswith(" | at least -1.5 points | **missed**, but within its error |")
    met = "| Linear probe on ModelNet40: sampled above dense | -1.00 ± "
    (line,) = (line for line in text if line.startswith(met))
    assert line.endswith(" | at least -1.5 points | met, but within its error |")


def test_sampled_against_dense_has_an_error_and_a_verdict() -> None:
    results = {"finetune-sampled": trained(0.80), "finetune-dense": trained(0.92)}
    (one,) = judged(tasks(rows(results)), [LENDER])
    assert one.here.value == pytest.approx(-12)
    assert one.here.seeds == pytest.approx(0.5**0.5 * 2**0.5)  # 85 and 86 % deviate by sqrt(1/2)
    assert one.paper is not None
    assert one.paper.value == pytest.approx(0.1)
    (unknown,) = judged(tasks(rows(results)), [])
    assert unknown.verdict.words() == "undecided (no row has a second seed)"


def test_one_pretraining_says_nothing_about_the_mechanism() -> None:
    results = {"finetune-sampled": trained(0.80), "finetune-dense": trained(0.92)}
    (once,) = judged(tasks(rows(results)), [LENDER], {"sampled": 2, "dense": 1})
    assert once.verdict.order == "worse"
    assert once.words().startswith("open for the mechanisms: one pre-training each; these two networks: sampled behind")
    (twice,) = judged(tasks(rows(results)), [LENDER], {"sampled": 2, "dense": 2})
    assert twice.words() == twice.verdict.words()
    page = "\n".join(autoencoder_section(Study("", {}), rows(results)))
    assert "It compares two networks, and nothing follows" in page


def test_few_shots_are_compared_fold_by_fold() -> None:
    results = {"fewshot-sampled": few(0.8, 0.9, 0.7), "fewshot-dense": few(0.81, 0.91, 0.74)}
    (one,) = judged(tasks(rows(results)), [])
    assert one.here.value == pytest.approx(-2)
    assert one.here.seeds == pytest.approx(1)  # of -1, -1 and -4 points
    assert one.here.freedom == 2
    assert one.paper is not None
    assert one.paper.seeds == pytest.approx(((2.3**2 + 3.1**2) / 10) ** 0.5)


def test_the_form_of_the_paper_comes_first_and_tasks_are_named_by_their_runs() -> None:
    results = {
        "frozen-10way-20shot-paper": few(0.8, 0.9, way=10, shot=20, frozen=True),
        "frozen-10way-20shot-dense": few(0.8, 0.8, way=10, shot=20, frozen=True),
        "frozen-10way-20shot-ours": few(0.7, 0.8, way=10, shot=20, frozen=True),
        "finetune-paper": trained(0.9, 15),
    }
    found = judged(tasks(rows(results)), [])
    title = "Few-shot, 10-way 20-shot on ModelNet40, frozen features and a logistic regression"
    assert [(one.task.title, one.name, one.paper) for one in found] == [(title, "paper", None), (title, "ours", None)]
    text = autoencoder_section(Study("", {}), rows(results))
    assert "## Fine-tuning on ModelNet40, 15 epochs" in text  # nothing to compare it with, but shown
    assert "| paper | 90.00 |  |  |  | 6 |" in text
