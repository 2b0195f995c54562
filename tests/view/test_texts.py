from __future__ import annotations

from sampled_transformer.inference.trained_network import Candidate, Values
from sampled_transformer.view import texts

EVIL = "<img src=x onerror=alert(1)>"


def test_names_of_strangers_are_escaped() -> None:
    pages = [
        texts.paragraph(EVIL),
        texts.problem(EVIL),
        texts.answer([Candidate(EVIL, 0.5, 0.1)], EVIL, None),
        texts.number(Values(1.0, 0.1, EVIL), EVIL),
        texts.reading(0, [(1, 0.5)], EVIL, EVIL, 0),
        texts.legend([EVIL], [3], ["#000000"]),
    ]
    for page in pages:
        assert "<img" not in page
        assert "&lt;img" in page


def test_an_answer_has_probabilities_and_spread() -> None:
    page = texts.answer([Candidate("chair", 0.931, 0.02), Candidate("sofa", 0.04, 0.05)], "chair", None)
    assert "93.1 % ± 2.0" in page
    assert "4.0 % ± 5.0" in page
    assert "left:0.00%; width:9.00%" in page  # a whisker does not leave the scale
    assert "nothing this network knows" not in page
    assert "nothing this network knows" in texts.answer([Candidate("chair", 0.9, 0.0)], None, False)


def test_a_reading_lists_keys_with_weights() -> None:
    page = texts.reading(4, [(4, 0.75), (9, 0.25)], "layer 1", "head 2", 3)
    assert "Point 4 reads, in layer 1, head 2, cycle 3:" in page
    assert "point 4 (itself)" in page
    assert "25.0 %" in page
