"""Log-likelihoods compared with the true mixtures, the paper and the bar."""

from __future__ import annotations

from sampled_transformer_lab.pages.clustering import clustering_section
from sampled_transformer_lab.pages.measured import Measured
from sampled_transformer_lab.studies import Row, Study


def run(likelihood: float) -> dict:
    figures = {"LL0": likelihood, "LL1": likelihood + 0.1, "oracle_LL0": -1.4, "oracle_LL1": -1.3}
    return {"figures": figures, "seconds": 60.0}


def test_rows_are_means_over_seeds() -> None:
    rows = [
        Measured("cluster-rows", Row("", 2, paper={"LL0": -1.5663, "LL1": -1.5272}), [run(-1.5), run(-1.7)]),
        Measured("cluster-columns", Row("", bar=-1.52), [run(-1.51)]),
        Measured("cluster-sampled", Row("", bar=-1.52), [run(-1.53)]),
    ]
    text = clustering_section(Study("", {}), rows)
    assert any("-1.4000 and -1.3000" in line for line in text)
    sampled = "| ISAB(16) + PMA, sampled as in the paper | 2 | -1.6000 ± 0.1414 | -1.5663 |"
    assert f"{sampled} -1.5000 ± 0.1414 | -1.5272 | 0.2000 | 60 |  |" in text
    ending = " | -1.5100 |  | -1.4100 |  | 0.1100 | 60 | -1.52, met |"
    assert f"| ISAB(16) + PMA, every point read by 4 of 16 | 1{ending}" in text
    assert text[4].endswith("| -1.52, **missed** |")


def test_columns_that_no_row_fills_are_left_out() -> None:
    text = clustering_section(Study("", {}), [Measured("cluster-sampled", Row(""), [run(-1.5)])])
    assert text[0] == "| network | seeds | LL0 | LL1 | gap to the truth | s per run |"
