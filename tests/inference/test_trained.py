"""What a weights file says about its data and purpose, and the passes over several cycles."""

from pathlib import Path

import pytest
import torch

from sampled_transformer.inference.trained import (
    check_classifier,
    cycle_logits,
    cycle_passes,
    cycle_probabilities,
    head_passes,
    in_evaluation,
    pick_device,
    refuse_mixture,
    view_of,
)
from sampled_transformer.models import create_model
from sampled_transformer.weights import Description, WeightsError

SMALL = {"classes": 3, "dim": 16, "heads": 2, "hidden": 16, "embedding": 8}
FILE = Path("folder") / "a.safetensors"


def test_the_view_is_that_of_the_training() -> None:
    data = {"preset": "bricks", "points": 24}
    view = view_of(Description("basic", {"normals": False}, (), {"data": data}), FILE)
    assert (view.preset, view.points, view.normals, view.corruptions) == ("bricks", 24, False, {})
    data = {"preset": "robust", "points": 24, "corruptions": {"noise": 0.5}}
    assert view_of(Description("basic", {}, (), {"data": data}), FILE).corruptions == {"noise": 0.5}


def test_the_default_view() -> None:
    view = view_of(Description("basic", {}), FILE)
    assert (view.preset, view.points, view.normals) == ("none", 1024, True)
    for model in ("set-transformer", "mae", "mae-classifier"):
        assert not view_of(Description(model, {}), FILE).normals


@pytest.mark.parametrize("data", [{"points": "many"}, {"points": 0}, {"preset": "soup"}, {"corruptions": 3}, [1, 2]])
def test_a_view_that_cannot_be_is_refused(data) -> None:
    with pytest.raises(WeightsError, match=r"a\.safetensors: expected a valid preset and 1 to 131,072 points"):
        view_of(Description("basic", {}, (), {"data": data}), FILE)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("mae", r"a\.safetensors: expected a classifier, got a 'mae'.*finetune-modelnet40-small --init"),
        ("set-transformer-mixture", r"expected a classifier, got 'set-transformer-mixture'.*`cluster fit`"),
    ],
)
def test_networks_that_do_not_classify_are_refused(model: str, message: str) -> None:
    with pytest.raises(WeightsError, match=message):
        check_classifier(Description(model, {}), FILE)
    check_classifier(Description("mae-classifier", {}), FILE)
    notes = {"regression": {"name": "volume", "mean": 0.0, "deviation": 1.0}}
    with pytest.raises(WeightsError, match=r"expected a classifier, got a network that predicts a number \(volume\)"):
        check_classifier(Description("basic", {"classes": 1}, (), notes), FILE)


def test_networks_of_clusters_are_refused_where_shapes_are_read() -> None:
    refuse_mixture(Description("mae", {}), FILE, "a network that reads shapes")
    with pytest.raises(WeightsError, match=r"a\.safetensors: expected a network that reads shapes, got"):
        refuse_mixture(Description("pooling-mixture", {}), FILE, "a network that reads shapes")


def test_devices() -> None:
    assert pick_device("cpu") == pick_device(torch.device("cpu")) == torch.device("cpu")
    assert pick_device(None).type in ("cpu", "cuda")
    for name in ("toaster", "meta"):
        with pytest.raises(ValueError, match=f"device: expected a device that works here, got '{name}'"):
            pick_device(name)


def test_each_cycle_is_one_pass_and_the_first_is_that_of_plain_evaluation() -> None:
    torch.manual_seed(0)
    network = create_model("basic", **SMALL).eval()
    points, normals = torch.randn(2, 4, 20, 3)
    probabilities = cycle_probabilities(network, points, normals, 3)
    assert probabilities.shape == (3, 4, 3)
    torch.testing.assert_close(probabilities.sum(2), torch.ones(3, 4))
    with torch.no_grad():
        torch.testing.assert_close(probabilities[0], network(points, normals).softmax(1))
    assert float(probabilities.std(0).max()) > 0


def test_passes_are_as_many_as_asked_for_and_one_without_randomness() -> None:
    points, normals = torch.randn(2, 1, 20, 3)
    for attention, count in (("sampled", 3), ("dense", 1)):
        network = create_model("basic", attention=attention, **SMALL).eval()
        assert cycle_passes(network, lambda network=network: network(points, normals), 3).shape == (count, 1, 3)


def test_evaluation_ends_where_it_began() -> None:
    network = create_model("basic", **SMALL).train()
    network.head_norm.eval()

    def stop() -> None:
        with in_evaluation(network):
            assert not any(module.training for module in network.modules())
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        stop()
    assert network.training
    assert network.position_mlp.layers[1].training
    assert not network.head_norm.training


def test_the_temperature_divides_the_logits_of_every_pass() -> None:
    torch.manual_seed(0)
    network = create_model("basic", **SMALL).eval()
    points, normals = torch.rand(2, 3, 10, 3).unbind()
    logits = cycle_logits(network, points, normals, 4)
    assert logits.shape == (4, 3, 3)
    found = cycle_probabilities(network, points, normals, 4, temperature=0.25)
    torch.testing.assert_close(found, (4 * logits).softmax(2))
    assert torch.equal(cycle_probabilities(network, points, normals, 4), logits.softmax(2))


def test_what_the_head_reads_is_noted() -> None:
    torch.manual_seed(0)
    network = create_model("basic", **SMALL).eval()
    points, normals = torch.rand(2, 3, 10, 3).unbind()
    with head_passes(network) as seen:
        logits = cycle_logits(network, points, normals, 2)
    assert len(seen) == 2
    with torch.inference_mode():
        for (features, answer), own in zip(seen, logits, strict=True):
            assert torch.equal(answer, own)
            torch.testing.assert_close(network.head(features), own)
        network(points, normals)
    assert len(seen) == 2
