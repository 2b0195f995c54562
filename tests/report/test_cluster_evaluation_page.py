"""The page of `cluster evaluate`."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from sampled_transformer.cli import main
from sampled_transformer.clustering.evaluation import fixed_sets, truth
from sampled_transformer.clustering.likelihood import log_likelihood
from sampled_transformer.clustering.settings import MixtureOptions
from sampled_transformer.models.mixture import Mixture
from sampled_transformer.report.cluster_evaluation_page import SHOWN, behind, clusters_of

pytest.importorskip("plotly")
pytest.importorskip("sklearn")


def test_an_evaluation_has_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert main(["cluster", "evaluate", "mixtures", "--sets", "9", "--page", str(page)]) == 0
    captured = capsys.readouterr()
    assert captured.err == f"{page}: written\n"
    text = page.read_text("utf-8")
    assert f'<td class="number">{captured.out.split()[1].strip(",")}</td>' in text  # LL0
    assert text.count("<figure>") == 2 * SHOWN
    assert "sampled-transformer cluster evaluate mixtures --sets 9 --samples 1 --covariance diagonal" in text
    assert text.count("plotly.js v") == 1


def test_the_true_mixture_is_not_behind_itself_and_sets_keep_their_numbers() -> None:
    batches = fixed_sets(MixtureOptions(points=(20, 30)), 13)
    pairs = [(batch, truth(batch)) for batch in batches]
    assert behind(pairs).tolist() == [0.0] * 13
    worse = [(batch, Mixture(m.log_weights, m.means + 1, m.deviations)) for batch, m in pairs]
    assert (behind(worse) > 0).all()
    found = clusters_of(pairs, 11)  # the second set of the second batch
    assert torch.equal(torch.from_numpy(found.points), batches[1].points[1].double())
    likelihood = log_likelihood(batches[1].points[1:2], truth(batches[1]).select(slice(1, 2)))
    assert found.log_likelihood == pytest.approx(float(likelihood))
