"""Tables of calibration, bins and the spread over cycles."""

from __future__ import annotations

from sampled_transformer_lab.pages.calibration import calibration_section
from sampled_transformer_lab.pages.measured import Measured
from sampled_transformer_lab.study import Row, Study


def result(chance: float | None) -> dict:
    bins = [
        {"probability": 0.25, "accuracy": 0.5, "shapes": 3},
        {"probability": 0.85, "accuracy": 0.9, "shapes": 7},
    ]
    way = {"accuracy": 0.8, "probability": 0.7, "error": 0.1, "log_loss": 0.5, "bins": bins}
    fifths = [{"spread": 0.01 * place, "accuracy": 1 - 0.1 * place} for place in range(5)]
    spread = {"fifths": fifths, "finds_mistakes": {"spread": chance, "probability": 0.9}}
    return {"shapes": 10, "points": 16, "calibration": {"ways": {"one pass": way}, "spread": spread}}


def test_tables() -> None:
    text = calibration_section(Study("", {}), [Measured("bricks", Row(""), [result(0.7)])])
    assert "The weights `bricks` on 10 test shapes, 16 points:" in text
    assert "| one pass | 80.00 | 70.00 | 10.00 | 0.500 |" in text
    assert text[text.index("Bins, one pass:") + 2 :][:4] == [
        "| probability % | 25 | 85 |",
        "|---|---:|---:|",
        "| right % | 50 | 90 |",
        "| shapes | 3 | 7 |",
    ]
    assert "| right % | 100.0 | 90.0 | 80.0 | 70.0 | 60.0 |" in text
    assert "with a chance of 0.700, and a lower probability with a chance of 0.900." in text[-1]


def test_without_mistakes_there_is_no_chance() -> None:
    text = calibration_section(Study("", {}), [Measured("bricks", Row(""), [result(None)])])
    assert not any("A wrong answer" in line for line in text)


def test_a_temperature_has_its_own_rows() -> None:
    fitted = result(0.7)
    way = fitted["calibration"]["ways"]["one pass"]
    fitted["calibration"] |= {"temperature": 0.5, "before": {"one pass": {**way, "error": 0.2}}}
    text = calibration_section(Study("", {}), [Measured("bricks", Row(""), [fitted])])
    assert "| one pass | 80.00 | 70.00 | 10.00 | 0.500 |" in text
    assert "| one pass, without the temperature 0.500 | 80.00 | 70.00 | 20.00 | 0.500 |" in text
