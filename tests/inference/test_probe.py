from __future__ import annotations

import pytest
import torch

from sampled_transformer import create_model
from sampled_transformer.inference import probe as probes
from sampled_transformer.inference.evaluation import evaluate
from sampled_transformer.inference.probe import QuickProbe, choose_penalty, features_of, fit, held_out, probe
from sampled_transformer.models.tokens import group_points
from sampled_transformer.training.loading import Batches, View, load_split
from sampled_transformer.weights import Description, load_model, save_model

SMALL = {"dim": 16, "heads": 2, "hidden": 16, "depth": 2, "embedding": 8, "groups": 8, "group_size": 8}
VIEW = View("none", 32, False)


def blobs(count: int, spread: float) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(count) % 3
    centres = torch.tensor([[0.0, 0, 0, 5], [4, 0, 0, 5], [0, 4, 0, 5]])
    return centres[labels] + spread * torch.randn(count, 4, generator=generator), labels


def test_regression_is_at_the_minimum_of_its_loss() -> None:
    features, labels = blobs(60, 2.0)
    penalty = 0.1
    found = fit(features, labels, 3, penalty)
    x = ((features - features.mean(0)) / features.std(0, correction=0)).double()
    weight, bias = (t.double().requires_grad_() for t in (found.weight, found.bias))
    log = (x @ weight.T + bias).log_softmax(1)
    loss = -log[torch.arange(60), labels].mean() + penalty / 2 * weight.square().sum()
    for gradient in torch.autograd.grad(loss, (weight, bias)):
        assert gradient.abs().max() < 1e-4
    torch.testing.assert_close(found(features).double(), (x @ weight.T + bias).detach(), rtol=1e-4, atol=1e-4)


def test_separable_classes_are_told_apart_and_constant_features_do_no_harm() -> None:
    features, labels = blobs(90, 0.2)
    features[:, 3] = 7.0
    found = fit(features, labels, 3, 1e-3)
    assert found.accuracies(features, labels) == {"accuracy": 1.0, "mean_class_accuracy": 1.0}
    assert found(features).isfinite().all()


def test_the_penalty_is_chosen_on_shapes_that_did_not_fit_it() -> None:
    features, labels = blobs(300, 3.0)
    held = torch.arange(300) % 5 == 0
    penalty, accuracy = choose_penalty(features, labels, held, 3)
    scores = {}
    for one in probes.PENALTIES:
        answer = fit(features[~held], labels[~held], 3, one)(features[held]).argmax(1)
        scores[one] = float((answer == labels[held]).double().mean())
    assert accuracy == pytest.approx(max(scores.values()))
    assert scores[penalty] == pytest.approx(accuracy)


def test_without_shapes_to_spare_the_largest_penalty_is_taken() -> None:
    features, labels = torch.randn(3, 2), torch.arange(3)
    assert choose_penalty(features, labels, torch.zeros(3, dtype=torch.bool), 3) == (max(probes.PENALTIES), None)


@pytest.mark.parametrize("attention", ["dense", "sampled"])
def test_features_are_the_largest_and_mean_values_of_tokens(make_pack, attention) -> None:
    torch.manual_seed(0)
    network = create_model("mae", attention=attention, **SMALL).train()
    pack = make_pack(5, 0)
    found = features_of(network, pack, VIEW, batch=4)
    assert network.training
    assert found.shape == (15, 32)
    network.eval()
    tokens = network.encoder(group_points(pack.batch(slice(None)).points[:, :32], 8, 8, in_any_order=True))
    expected = torch.cat([tokens.max(1).values, tokens.mean(1)], 1)
    torch.testing.assert_close(found, expected.detach(), rtol=1e-4, atol=1e-5)
    averaged = features_of(network, pack, VIEW, samples=3)
    assert torch.allclose(averaged, found, rtol=1e-4, atol=1e-5) == (attention == "dense")
    assert all(block.attention.seed == 0 for block in network.encoder.stack.blocks if attention == "sampled")


def test_held_out_shapes_are_a_fifth_of_each_class(make_pack) -> None:
    pack = make_pack(10, 0)
    held = held_out(pack, 0)
    assert torch.from_numpy(pack.labels)[held].bincount().tolist() == [2, 2, 2]
    assert torch.equal(held, held_out(pack, 0))
    assert not torch.equal(held, held_out(pack, 1))


def test_the_quick_probe_repeats_itself(make_pack) -> None:
    torch.manual_seed(0)
    network = create_model("mae", **SMALL)
    quick = QuickProbe(make_pack(20, 0), VIEW, 0, most=45)
    assert len(quick.pack) == 45
    assert quick(network) == quick(network) > 0.5


@pytest.fixture
def weights(tmp_path, pack_folder):
    torch.manual_seed(0)
    notes = {"data": {"source": str(pack_folder), "root": None, "preset": "pretrain", "points": 64, "normals": False}}
    options = {"normals": False, **SMALL}
    save_model(create_model("mae", **options), tmp_path / "mae.safetensors", Description("mae", options, (), notes))
    return tmp_path / "mae.safetensors"


def test_a_probe_of_a_file(weights, pack_folder) -> None:
    result = probe(weights)
    assert result["shapes"] == [33, 15]
    assert result["points"] == 48  # of 64 in training, as no more are stored
    assert result["test_accuracy"] > 0.6
    assert result["penalty"] in probes.PENALTIES
    assert probe(weights) == result
    assert probe(weights, str(pack_folder), points=20)["points"] == 20
    scratch = probe(weights, scratch=True, seed=3)
    assert scratch["scratch"]
    fresh, trained = (probes.load_encoder(weights, torch.device("cpu"), *how)[0] for how in ((True, 3), ()))
    assert not torch.equal(next(fresh.parameters()), next(trained.parameters()))


@pytest.mark.parametrize("attention", ["dense", "sampled"])
def test_a_saved_probe_classifies_as_the_probe_does(tmp_path, pack_folder, attention) -> None:
    torch.manual_seed(0)
    options = {"normals": False, "attention": attention, "decoder_attention": "dense", "mask_ratio": 0.5, **SMALL}
    save_model(create_model("mae", **options), tmp_path / "mae.safetensors", Description("mae", options))
    out = tmp_path / "classifier.safetensors"
    result = probe(tmp_path / "mae.safetensors", str(pack_folder), points=40, out=out)
    measured = evaluate(out)
    assert measured["figures"]["one pass"]["accuracy"] == result["test_accuracy"] > 0.6
    network, description = load_model(out)
    assert description.classes == ("needle", "disc", "ball")
    assert description.notes["data"]["points"] == 40
    assert description.notes["figures"]["test_accuracy"] == result["test_accuracy"]
    test, train = (load_split(str(pack_folder), None, split, 40) for split in ("test", "train"))
    encoder = load_model(tmp_path / "mae.safetensors")[0]
    view = View("none", 40, False)
    regression = fit(features_of(encoder, train, view), torch.from_numpy(train.labels), 3, result["penalty"])
    expected = regression(features_of(encoder, test, view))
    with torch.no_grad():
        found = torch.cat([network(batch.points) for batch in Batches(test, view.transforms()[1], False, 64)])
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
    again = probe(out, points=40)  # its own data, and the same frozen encoder
    assert again["test_accuracy"] == result["test_accuracy"]


def test_a_folded_regression_gives_the_same_logits() -> None:
    features, labels = blobs(90, 2.0)
    features = 100 + 1e-2 * features
    found = fit(features, labels, 3, 1e-2)
    torch.testing.assert_close(found.as_linear()(features).detach(), found(features), rtol=1e-3, atol=1e-2)


def test_a_probe_is_not_begun_for_a_file_that_cannot_be_written(weights, tmp_path) -> None:
    with pytest.raises(ValueError, match=r"out: expected a file name ending in .safetensors, got 'probe.pt'"):
        probe(weights, "nowhere", out="probe.pt")
    with pytest.raises(ValueError, match="out: expected a file in an existing folder"):
        probe(weights, "nowhere", out=tmp_path / "missing" / "probe.safetensors")


def test_networks_without_an_encoder_are_refused(tmp_path, weights) -> None:
    options = {"classes": 3, "dim": 16}
    save_model(create_model("basic", **options), tmp_path / "basic.safetensors", Description("basic", options))
    with pytest.raises(ValueError, match="expected a 'mae' or 'mae-classifier', got 'basic'"):
        probe(tmp_path / "basic.safetensors", "bricks")
    with pytest.raises(ValueError, match="samples: expected at least 1, got 0"):
        probe(weights, samples=0)
    with pytest.raises(ValueError, match="points: expected at least 8 per cloud"):
        probe(weights, points=7)
