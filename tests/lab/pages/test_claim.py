"""A line of the table of claims links to its page from wherever it stands."""

from __future__ import annotations

from sampled_transformer_lab.pages.claim import Claim


def test_links_and_figures() -> None:
    claim = Claim("it is so", "speed.md", "O(n)", "1.0 ± 0.1", "256 points", "confirmed")
    assert claim.cells("docs/") == [
        "[it is so](docs/results/speed.md)",
        "O(n)",
        "1.0\u00a0±\u00a00.1",
        "256 points",
        "confirmed",
    ]
    assert claim.cells("")[0] == "[it is so](speed.md)"
    assert Claim("theorem", "../theory.md", "", "", "", "").cells("docs/")[0] == "[theorem](docs/theory.md)"
