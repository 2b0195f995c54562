"""Log-likelihoods compared with the true mixtures, the paper and the bar."""

from __future__ import annotations

import pytest

from sampled_transformer_lab.pages.clustering import clustering_section, judged
from sampled_transformer_lab.pages.measured import Measured
from sampled_transformer_lab.study import Row, Study


def run(likelihood: float) -> dict:
    figures = {"LL0": likelihood, "LL1": likelihood + 0.1, "oracle_LL0": -1.4, "oracle_LL1": -1.3}
    return {"figures": figures, "seconds": 60.0}


def test_rows_are_means_over_seeds() -> None:
    rows = [
        Measured("cluster-rows", Row("", 2, paper=PAPER["rows"]), [run(-1.5), run(-1.7)]),
        Measured("cluster-columns", Row("", bar=-1.52), [run(-1.51)]),
        Measured("cluster-sampled", Row("", bar=-1.52), [run(-1.53)]),
    ]
    text = clustering_section(Study("", {}), rows)
    assert any("-1.4000 and -1.3000" in line for line in text)
    sampled = "| ISAB(16) + PMA, sampled as in the paper | 2 | -1.6000 ± 0.1414 | -1.5663 ± 0.0074 |"
    assert f"{sampled} -1.5000 ± 0.1414 | -1.5272 ± 0.0052 | 0.2000 | 60 |  |" in text
    ending = " | -1.5100 |  | -1.4100 |  | 0.1100 | 60 | -1.52, met |"
    assert f"| ISAB(16) + PMA, every point read by 4 of 16 | 1{ending}" in text
    assert text[4].endswith("| -1.52, **missed** |")


def test_columns_that_no_row_fills_are_left_out() -> None:
    text = clustering_section(Study("", {}), [Measured("cluster-sampled", Row(""), [run(-1.5)])])
    assert text[0] == "| network | seeds | LL0 | LL1 | gap to the truth | s per run |"


PAPER = {
    "rows": {"LL0": -1.5663, "LL0 ±": 0.0074, "LL1": -1.5272, "LL1 ±": 0.0052},
    "induced": {"LL0": -1.5034, "LL0 ±": 0.0072, "LL1": -1.4908, "LL1 ±": 0.0044},
}


def measured(name: str, *values: float) -> Measured:
    return Measured(f"cluster-{name}", Row("", len(values), paper=PAPER[name]), [run(value) for value in values])


def test_sampled_rows_are_judged_against_all_points() -> None:
    rows = [measured("rows", -1.57, -1.58), measured("induced", -1.50, -1.51)]
    found = judged(rows, [])
    assert found is not None
    here, paper, verdict = found
    assert here.value == pytest.approx(-0.07)
    assert here.seeds == pytest.approx((0.00005) ** 0.5)  # the deviation of 0.0071 over two seeds each
    assert (here.freedom, paper.value) == (2, pytest.approx(-0.0629))
    assert paper.error == pytest.approx(0.0103, abs=5e-5)  # of 0.0074 and 0.0072, which the paper prints
    assert verdict.order == "worse"
    figures = "| -0.0700 ± 0.0071 | -0.0629 ± 0.0103 |"
    assert f"{figures} {verdict.words('', 3)} |" in clustering_section(Study("", {}), rows)


def test_single_seeds_borrow_the_deviation_of_other_studies() -> None:
    single = [measured("rows", -1.56), measured("induced", -1.50)]
    others = [measured("rows", -1.57, -1.571, -1.569), measured("induced", -1.50, -1.501, -1.499)]
    found, alone = judged(single, others), judged(single, [])
    assert found is not None
    assert alone is not None
    assert found[2].outcome == "confirmed"
    assert alone[2].words("", 3) == "undecided (no row has a second seed)"
    assert judged(single[:1], others) is None
