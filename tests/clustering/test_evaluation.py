from __future__ import annotations

from pathlib import Path

import pytest
import torch

from sampled_transformer import create_model
from sampled_transformer.clustering.evaluation import best_of, evaluate, fixed_sets, measure, predict, truth
from sampled_transformer.clustering.likelihood import log_likelihood
from sampled_transformer.clustering.settings import MixtureChanges, MixtureOptions
from sampled_transformer.data.sources.gaussians import Mixtures, fixed_mixtures
from sampled_transformer.models.mixture import Mixture
from sampled_transformer.weights import Description, WeightsError, save_model

OPTIONS = {"dim": 8, "heads": 2, "attention_options": {"inducing": 4, "reading": "rows"}}
NOTES = {"data": {"points": [20, 30], "spread": 2.0}}


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    path = tmp_path / "model.safetensors"
    network = create_model("set-transformer-mixture", **OPTIONS)
    save_model(network, path, Description("set-transformer-mixture", OPTIONS, (), NOTES))
    return path


def test_the_fixed_sets_are_those_of_the_data_package() -> None:
    for one, two in zip(fixed_sets(MixtureOptions(), 50), fixed_mixtures(50), strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, two, strict=True))


def test_fewer_fixed_sets_are_the_first_of_more() -> None:
    few, more = fixed_sets(MixtureOptions(), 15), fixed_sets(MixtureOptions(), 20)
    assert [len(batch.points) for batch in few] == [10, 5]
    assert torch.equal(few[1].points, more[1].points[:5])


@pytest.mark.parametrize(("reading", "passes"), [("all", 1), ("rows", 4), ("columns", 4)])
def test_a_network_without_chance_is_asked_once(reading: str, passes: int) -> None:
    options = {"dim": 8, "heads": 2, "attention_options": {"inducing": 4, "reading": reading}}
    network = create_model("set-transformer-mixture", **options).eval()
    calls = []
    network.register_forward_hook(lambda *given: calls.append(1))
    best_of(network, torch.randn(2, 20, 2), samples=4)
    assert len(calls) == passes


class Oracle(torch.nn.Module):
    """A network that knows the true mixtures."""

    def __init__(self, batches: list[Mixtures]) -> None:
        super().__init__()
        self.batches = batches

    def forward(self, points: torch.Tensor) -> Mixture:
        return truth(next(batch for batch in self.batches if torch.equal(batch.points, points)))


class Elsewhere(torch.nn.Module):
    """A network on the "meta" device, the only other device that every machine has."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1, device="meta"))
        self.seen: list[str] = []

    def forward(self, points: torch.Tensor) -> Mixture:
        self.seen.append(points.device.type)
        return Mixture(*(torch.ones(len(points), 4, *more, device=points.device) for more in ((), (2,), (2,))))


def test_a_network_that_knows_the_answer_is_as_good_as_the_oracle() -> None:
    pytest.importorskip("sklearn")
    figures = measure(Oracle(fixed_sets(MixtureOptions(), 100)), MixtureOptions(), 100)
    assert figures["LL0"] == pytest.approx(figures["oracle_LL0"])
    assert figures["LL1"] == pytest.approx(figures["oracle_LL1"])
    assert figures["LL1"] > figures["LL0"]


def test_the_best_of_several_draws(weights: Path) -> None:
    torch.manual_seed(0)
    network = create_model("set-transformer-mixture", **OPTIONS).eval()
    points = 3 * torch.randn(6, 40, 2)
    each = []
    for seed in range(3):
        for module in network.modules():
            if hasattr(module, "seed"):
                module.seed = seed
        each.append(log_likelihood(points, network(points)))
    for module in network.modules():
        if hasattr(module, "seed"):
            module.seed = 0
    found = log_likelihood(points, best_of(network, points, 3))
    torch.testing.assert_close(found, torch.stack(each).amax(0))
    assert (found > each[0]).any()
    torch.testing.assert_close(log_likelihood(points, network(points)), each[0])  # the seeds are as before
    with pytest.raises(ValueError, match="samples: expected at least 1, got 0"):
        best_of(network, points, 0)


def test_evaluation_is_repeatable_and_as_trained(weights: Path) -> None:
    pytest.importorskip("sklearn")
    result = evaluate(weights, sets=20)
    assert result["data"]["points"] == [20, 30]
    assert result == evaluate(weights, sets=20)
    other = evaluate(weights, MixtureChanges((50, 60)), sets=20)
    assert other["figures"]["oracle_LL0"] != result["figures"]["oracle_LL0"]
    assert other["data"] == {**result["data"], "points": [50, 60]}
    assert other["data"]["spread"] == 2.0  # what is not given stays as in training


def test_the_network_runs_where_it_lies(weights: Path) -> None:
    pytest.importorskip("sklearn")
    assert evaluate(weights, sets=10, device="cpu") == evaluate(weights, sets=10)
    elsewhere = Elsewhere()
    with pytest.raises(NotImplementedError, match="meta"):  # numbers cannot come back from there
        predict(elsewhere, fixed_sets(MixtureOptions((20, 30)), 10))
    assert elsewhere.seen == ["meta"]
    for device in ("nowhere", "meta", "cuda:77"):
        with pytest.raises(ValueError, match=f"device: expected a device that works here, got '{device}'"):
            evaluate(weights, sets=10, device=device)


def test_what_does_not_fit_is_refused(weights: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"data\.dimension: expected 2, as in the network, got 3"):
        evaluate(weights, MixtureChanges(dimension=3))
    with pytest.raises(ValueError, match=r"data\.components: expected 4, as in the network, got 5"):
        evaluate(weights, MixtureChanges(components=5))
    with pytest.raises(ValueError, match="sets: expected at least 1"):
        evaluate(weights, sets=0)
    path = tmp_path / "other.safetensors"
    options = {"classes": 2, "dim": 8, "heads": 2}
    save_model(create_model("set-transformer", **options), path, Description("set-transformer", options))
    with pytest.raises(WeightsError, match="expected a network that predicts mixtures, got 'set-transformer'"):
        evaluate(path)
