"""What pre-training is worth: gains over training from scratch, and the bars."""

from __future__ import annotations

from sampled_transformer_lab.pages.autoencoder import autoencoder_section
from sampled_transformer_lab.pages.measured import Measured
from sampled_transformer_lab.studies import Row, Study


def few(mean: float) -> dict:
    figures = {"accuracy": {"mean": mean, "deviation": 0.02}}
    return {"figures": figures, "seconds": 5.0, "command": "sampled-transformer fewshot"}


def trained(accuracy: float) -> dict:
    figures = {"last epoch": {"test_accuracy": accuracy}}
    return {"figures": figures, "seconds": 6.0, "command": "sampled-transformer train"}


def test_tables_and_bars() -> None:
    results = {
        "pretrain-sampled": {
            "figures": {"last epoch": {"train_loss": 0.0321, "probe_accuracy": 0.8}},
            "seconds": 3600.0,
        },
        "probe-sampled": {"test_accuracy": 0.84, "seconds": 4.0, "command": "sampled-transformer probe"},
        "probe-dense": {"test_accuracy": 0.85, "seconds": 4.0, "command": "sampled-transformer probe"},
        "fewshot-sampled": few(0.9),
        "fewshot-sampled-scratch": few(0.84),
        "finetune-sampled": trained(0.9),
        "finetune-dense": trained(0.92),
        "finetune-dense-scratch": trained(0.91),
    }
    rows = [Measured(label, Row(""), [one]) for label, one in results.items()]
    text = autoencoder_section(Study("", {}), rows)
    assert "| sampled | 0.03210 | 80.00 | 3600 |" in text
    assert "| sampled | 84.00 |  |  | 4 |" in text
    assert "| sampled | 90.00 ± 2.00 | 97.0 ± 2.3 | 84.00 ± 2.00 | +6.00 | 5 and 5 |" in text
    assert "| dense | 92.00 | 93.6 | 91.00 | +1.00 | 6 and 6 |" in text
    assert not any(line.startswith("## Transfer to bricks") for line in text)
    assert text[text.index("## Fine-tuning on ModelNet40, 3 epochs") + 8] == "sampled-transformer train"
    assert "| linear probe on ModelNet40, sampled | 84.00 | at least 85 % | **missed** |" in text
    assert "| linear probe on ModelNet40, dense | 85.00 | at least 85 % | met |" in text
    assert "| few-shot, sampled: pre-trained above scratch | 6.00 | at least 3 points | met |" in text
    missed = "-2.00 | at least -1.5 points | **missed** |"
    assert f"| Fine-tuning on ModelNet40, 3 epochs: sampled above dense | {missed}" in text
    assert "| Linear probe on ModelNet40: sampled above dense | -1.00 | at least -1.5 points | met |" in text
