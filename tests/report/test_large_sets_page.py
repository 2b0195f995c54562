from __future__ import annotations

from sampled_transformer.inference.large_sets import Measured
from sampled_transformer.report.large_sets_page import chart, sections, small_sets

ROWS = [
    ("sampled", Measured(50_000, 0.5, 300.0)),
    ("sampled", Measured(100_000, 1.0, 600.0)),
    ("dense", Measured(12_500, 5.0, 700.0)),
    ("dense", Measured(25_000, 20.0, 1400.0)),
]


def test_the_page_says_which_is_better_as_measured() -> None:
    small = [("sampled", Measured(256, 0.010, 1.0)), ("dense", Measured(256, 0.011, 1.0))]
    text = small_sets(small, {"sampled": 0.80, "dense": 0.85}, 256)
    assert "about as long as dense attention (10 and 11 ms for one part)" in text
    assert "less accurate in this run (80.0 and 85.0 % in one pass)" in text
    small[1] = ("dense", Measured(256, 0.005, 1.0))
    text = small_sets(small, {"sampled": 0.9, "dense": 0.85}, 256)
    assert "takes 2.0 times as long as dense" in text
    assert "more accurate" in text


def test_large_sets_have_curves_and_say_what_was_not_measured() -> None:
    time = chart(ROWS, "seconds", "seconds")
    assert [(line.name, list(line.x)) for line in time.data] == [
        ("sampled", [50_000, 100_000]),
        ("dense", [12_500, 25_000]),
    ]
    assert time.layout.xaxis.type == time.layout.yaxis.type == "log"
    text = "".join(sections(ROWS, 100_000))
    assert '<td class="number">600 MB</td>' in text
    assert "not measured; about 320 s at the measured n^2.0" in text
    assert text.count("plotly-graph-div") == 2
    assert "takes" not in text  # no size was measured for both


def test_the_page_says_how_much_longer_dense_attention_takes() -> None:
    rows = [*ROWS, ("dense", Measured(50_000, 25.0, 310.0))]
    text = "".join(sections(rows, 100_000))
    assert "At 50,000 points, dense attention takes 50.0 times as long as sampled. Both need about the same" in text
    rows[-1] = ("dense", Measured(50_000, 25.0, 31_000.0))
    assert "the same memory" not in "".join(sections(rows, 100_000))


def test_memory_that_nobody_can_measure_has_no_curve() -> None:
    text = "".join(sections([("sampled", Measured(10, 1.0, None))], 10))
    assert text.count("plotly-graph-div") == 1
