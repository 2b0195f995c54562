"""The segmenter: forms, odd sets, order, unit, features, mechanisms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from sampled_transformer import create_model, list_attention
from sampled_transformer.layers import local
from sampled_transformer.models import Segmenter
from sampled_transformer.weights import Description, load_model, save_model

SMALL: dict[str, Any] = {"widths": [8, 16], "neighbours": 8}


def build(**options: Any) -> Segmenter:
    torch.manual_seed(0)
    network = Segmenter(3, **{**SMALL, **options})
    for module in network.modules():  # batch statistics that change something
        if isinstance(module, torch.nn.BatchNorm1d):
            module.running_mean.uniform_(-0.1, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    return network.eval()


def cloud(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.rand(*shape, 3, generator=torch.Generator().manual_seed(seed)) * 2 - 1


@pytest.mark.parametrize("attention", ["rotary", "sampled", "none"])
def test_all_forms_agree(attention: str) -> None:
    network, sizes = build(attention=attention, features={"normals": 3}), [20, 0, 1, 7]
    points, normals, ptr = cloud(28), cloud(28, seed=2), torch.tensor([0, 20, 20, 21, 28])
    packed = network(points, {"normals": normals}, ptr=ptr)
    assert packed.shape == (28, 3)
    batch = torch.tensor([0] * 20 + [2] + [3] * 7)
    torch.testing.assert_close(network(points, {"normals": normals}, batch=batch), packed)
    mask = torch.arange(20) < torch.tensor(sizes).unsqueeze(1)
    padded = [torch.full((4, 20, 3), torch.nan).masked_scatter(mask.unsqueeze(2), one) for one in (points, normals)]
    found = network(padded[0], {"normals": padded[1]}, mask=mask)
    assert found.shape == (4, 20, 3)
    torch.testing.assert_close(found[mask], packed)
    nested = [torch.nested.nested_tensor(list(one.split(sizes)), layout=torch.jagged) for one in (points, normals)]
    answer = network(nested[0], {"normals": nested[1]})
    assert answer.is_nested
    torch.testing.assert_close(answer.values(), packed)
    plain = network(points[:20].unsqueeze(0), {"normals": normals[:20].unsqueeze(0)})
    assert plain.shape == (1, 20, 3)
    torch.testing.assert_close(plain[0], packed[:20])


def test_points_and_coordinates_of_another_form_are_refused() -> None:
    network = build()
    with pytest.raises(ValueError, match="points: expected 3 coordinates, got 2"):
        network(torch.rand(2, 5, 2))
    with pytest.raises(ValueError, match=r"points: expected floats of shape \(batch, n, width\), or"):
        network(torch.rand(5, 3))
    with pytest.raises(ValueError, match="mask: expected bool of shape"):
        network(torch.rand(2, 5, 3), mask=torch.ones(2, 4, dtype=torch.bool))
    with pytest.raises(ValueError, match="points: expected finite coordinates"):
        network(torch.full((1, 4, 3), torch.nan))
    with pytest.raises(ValueError, match="spacing: expected 2 numbers, 0 or more, one per set, got"):
        network(torch.rand(2, 5, 3), spacing=torch.ones(3))


ODD = {
    "none": torch.zeros(0, 3),
    "one": torch.ones(1, 3),
    "two": torch.tensor([[0.0, 0, 0], [1, 2, 3]]),
    "three": torch.eye(3),
    "equal": torch.full((30, 3), 0.7),
    "line": torch.linspace(-1, 1, 30).unsqueeze(1) * torch.tensor([[1.0, 2.0, 0.0]]),
    "stray": torch.cat([cloud(40), torch.tensor([[1e7, 0.0, 0.0]])]),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("attention", ["rotary", "sampled"])
def test_odd_sets_are_labelled(name: str, attention: str) -> None:
    points = ODD[name]
    network = build(attention=attention, widths=[8, 8, 16])
    ptr = torch.tensor([0, len(points)])
    logits = network(points, ptr=ptr)
    assert logits.shape == (len(points), 3)
    assert logits.isfinite().all()
    together = network(
        torch.cat([points, cloud(12)]), ptr=torch.tensor([0, len(points), len(points), len(points) + 12])
    )
    torch.testing.assert_close(together[: len(points)], logits, rtol=1e-4, atol=1e-5)
    if len(points):
        loss = network.train()(points, ptr=ptr).square().sum()
        loss.backward()
        assert loss.isfinite()


def test_no_sets_at_all() -> None:
    assert build()(torch.zeros(0, 3), ptr=[0]).shape == (0, 3)
    assert build()(torch.zeros(2, 0, 3)).shape == (2, 0, 3)


@pytest.mark.parametrize("attention", [name for name in list_attention() if name != "sparse"])
def test_the_order_of_the_points_does_not_matter(attention: str) -> None:
    network, points, normals = build(attention=attention, features={"normals": 3}), cloud(1, 60), cloud(1, 60, seed=2)
    order = torch.randperm(60, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        one = network(points, {"normals": normals})
        other = network(points[:, order], {"normals": normals[:, order]})
    assert torch.equal(other, one[:, order])


def test_keyed_by_places_the_network_keeps_the_order() -> None:
    from sampled_transformer import key_by

    network, points = build(attention="sampled", attended=[1]), cloud(1, 60)
    key_by(network, "places")
    order = torch.randperm(60, generator=torch.Generator().manual_seed(3))
    assert not torch.allclose(network(points[:, order]), network(points)[:, order])


@pytest.mark.parametrize("attention", ["none", "rotary", "sampled", "linear"])
def test_the_unit_of_length_does_not_matter(attention: str) -> None:
    network = build(attention=attention, positions="", widths=[8, 16, 16])
    for n in (2, 5, 80):
        points = cloud(1, n)
        torch.testing.assert_close(network(points * 1024), network(points), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(network(points * 1000), network(points), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("options", [{}, {"positions": ""}, {"positions": "z"}, {"widths": [8]}, {"gate": True}])
def test_gradients_reach_every_parameter(options: dict[str, Any]) -> None:
    network = build(features={"colour": 3, "height": 1}, optional=["height"], **options).train()
    points, ptr = cloud(100), [0, 60, 100]
    network(points, {"colour": torch.rand(100, 3), "height": torch.rand(100, 1)}, ptr=ptr).square().sum().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        # A gate begins at zero, and what it closes out gets no gradient in the first step.
        assert parameter.grad.any() or "gate" in options, name


@pytest.mark.parametrize("attention", list_attention())
def test_every_mechanism_by_name(attention: str) -> None:
    network = build(attention=attention)
    points = cloud(2, 30)
    logits = network(points)
    assert torch.equal(network(points), logits)
    assert logits.isfinite().all()
    network.train()(points).sum().backward()
    assert create_model("segmenter", classes=3, attention=attention, **SMALL).levels == 2


def test_the_plain_form_is_a_flat_stack() -> None:
    network = build(widths=[16], local=0, blocks=4, attended=[1])
    assert network(cloud(2, 30)).shape == (2, 30, 3)
    assert len(network.blocks["1"]) == 4
    assert not [name for name, _ in network.named_modules() if name.startswith(("local.0.", "down.0", "up.0"))]


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    network, points = build(widths=[8, 8, 16]), cloud(1, 300)
    with torch.no_grad():
        whole = network(points)
        monkeypatch.setattr(local, "CHUNK", 37)
        torch.testing.assert_close(network(points), whole, rtol=1e-5, atol=1e-6)


def test_the_measured_spacing_can_be_given() -> None:
    from sampled_transformer.geometry.neighbourhoods import measure_spacing

    for neighbours in (4, 16):
        network, points, ptr = build(neighbours=neighbours), cloud(90), torch.tensor([0, 50, 90])
        with torch.no_grad():
            measured = network(points, ptr=ptr)
            assert torch.equal(network(points, ptr=ptr, spacing=measure_spacing(points, ptr)), measured)
            assert not torch.allclose(network(points, ptr=ptr, spacing=torch.tensor([0.5, 0.1])), measured)


def test_bfloat16_is_finite() -> None:
    network, points = build(features={"normals": 3}, widths=[8, 8, 16]), cloud(2, 50)
    expected = network(points, {"normals": points})
    with torch.autocast("cpu", torch.bfloat16):
        found = network(points, {"normals": points})
        loss = network.train()(points, {"normals": points}).float().square().mean()
    torch.testing.assert_close(found.float(), expected, rtol=0.1, atol=0.1)
    loss.backward()
    assert all(one.grad.isfinite().all() for one in network.parameters() if one.grad is not None)


def test_optional_features_may_be_missing_anywhere() -> None:
    network = build(features={"colour": 3, "height": 1}, optional=["height"])
    points, colour, height = cloud(1, 20), torch.rand(1, 20, 3), torch.rand(1, 20, 1)
    whole = network(points, {"colour": colour, "height": height})
    without = network(points, {"colour": colour})
    assert without.isfinite().all()
    nan = torch.full_like(height, torch.nan)
    assert torch.equal(network(points, {"colour": colour, "height": nan}), without)
    half = torch.where(torch.arange(20).view(1, 20, 1) < 10, height, torch.nan)
    found = network(points, {"colour": colour, "height": half})
    assert found.isfinite().all()
    assert not torch.equal(found, whole)
    assert not torch.equal(found, without)
    # A missing feature is not the same as one that is zero.
    assert not torch.equal(network(points, {"colour": colour, "height": torch.zeros_like(height)}), without)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({}, "features: expected 'colour' of width 3, got none"),
        ({"colour": torch.rand(1, 20, 2)}, "features: expected 'colour' of width 3, got torch.float32 of shape"),
        ({"colour": torch.rand(1, 19, 3)}, r"features: expected 'colour' with one row per point, \(1, 20\), got"),
        ({"colour": torch.rand(20, 3)}, r"features: expected 'colour' with one row per point, \(1, 20\), got"),
        (
            {"colour": torch.rand(1, 20, 3), "color": torch.rand(1, 20, 3)},
            r"features: expected those the network was built with \(colour\), got 'color'",
        ),
        (
            {"colour": torch.rand(1, 20, 3).index_fill(1, torch.tensor([3, 4]), torch.nan)},
            "features: expected finite numbers for 'colour', got NaN or infinity at 2 points",
        ),
    ],
)
def test_features_that_do_not_fit_are_refused(features: dict[str, torch.Tensor], message: str) -> None:
    network = build(features={"colour": 3})
    with pytest.raises(ValueError, match=message):
        network(cloud(1, 20), features)


def test_features_are_read_in_standard_units() -> None:
    network, plain = build(features={"height": 1, "colour": 3}), build(features={"height": 1, "colour": 3})
    network.standardise({"height": torch.tensor([100.0])}, {"height": torch.tensor([20.0])})
    height, colour = torch.rand(1, 20, 1), torch.rand(1, 20, 3)
    found = network(cloud(1, 20), {"height": height * 20 + 100, "colour": colour})
    torch.testing.assert_close(found, plain(cloud(1, 20), {"height": height, "colour": colour}), rtol=1e-3, atol=1e-4)
    network.standardise({"height": torch.tensor([5.0])}, {"height": torch.tensor([0.0])})
    assert network.feature_deviation.tolist() == [1, 1, 1, 1]


def test_weights_come_back_from_a_file(tmp_path: Path) -> None:
    features = {"normals": 3, "colour": 3, "height": 1}
    options = {"classes": 3, "features": features, "optional": ["normals"], "positions": "z", **SMALL}
    network = create_model("segmenter", **options).eval()
    network.standardise({"colour": torch.rand(3)}, {"colour": torch.rand(3)})
    save_model(network, tmp_path / "w.safetensors", Description("segmenter", options, ("a", "b", "c"), {}))
    loaded, description = load_model(tmp_path / "w.safetensors")
    assert description.options == options
    points = cloud(1, 20)
    given = {"normals": cloud(1, 20, seed=2), "colour": torch.rand(1, 20, 3), "height": torch.rand(1, 20, 1)}
    assert torch.equal(loaded(points, given), network(points, given))
    backwards = dict(reversed(given.items()))
    assert torch.equal(loaded(points, backwards), network(points, given))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"widths": []}, "widths: expected positive numbers"),
        ({"widths": [8, 0]}, "widths: expected positive numbers"),
        ({"neighbours": 0}, "neighbours: expected positive numbers"),
        ({"neighbours": 300}, "neighbours: expected at most 256, got 300"),
        ({"side": 0.0}, "side: expected a positive number of spacings, got 0"),
        ({"side": float("nan")}, "side: expected a positive number"),
        ({"local": [1, 1, 1]}, r"local: expected 2 numbers, 0 or more, got \(1, 1, 1\)"),
        ({"blocks": -1}, "blocks: expected 2 numbers, 0 or more"),
        ({"up": [1, 1]}, "up: expected 1 numbers"),
        ({"attended": [0]}, r"attended: expected levels from 1 to 2, got \(0,\)"),
        ({"positions": "xx"}, "positions: expected some of 'xyz', got 'xx'"),
        ({"positions": "w"}, "positions: expected some of 'xyz', got 'w'"),
        ({"features": {"a": 0}}, r"features\.a: expected a positive width, got 0"),
        ({"optional": ["a"]}, r"optional: expected names of features \(none\), got 'a'"),
        ({"attention": "full"}, "attention: expected one of"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build(**options)


def test_local_layers_see_how_normals_lie() -> None:
    points, normals = cloud(1, 40), torch.nn.functional.normalize(cloud(1, 40, seed=2), dim=2)
    options = {"features": {"normals": 3}, "optional": ["normals"]}
    network, plain = build(**options), build(**options, pairs=False)
    for one in (network, plain):
        one.stem[0].weight.data[:, 3:] = 0  # so that only the pairs of normals can tell
    assert not torch.equal(
        network(points, {"normals": normals}), network(points, {"normals": -normals[:, :, [1, 0, 2]]})
    )
    assert torch.equal(plain(points, {"normals": normals}), plain(points, {"normals": -normals[:, :, [1, 0, 2]]}))
    assert torch.equal(network(points), network(points, {"normals": torch.full_like(normals, torch.nan)}))
    assert build().local[0][0].merge.offset.in_features == plain.local[0][0].merge.offset.in_features == 4
    assert network.local[0][0].merge.offset.in_features == network.down[0].offset.in_features == 7
