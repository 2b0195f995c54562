from __future__ import annotations

import pytest
import torch
from helpers.mae import SMALL, clouds

from sampled_transformer import create_model, list_attention
from sampled_transformer.models.mae import MaskedAutoencoderClassifier
from sampled_transformer.models.tokens import group_points


@pytest.mark.parametrize("pooling", ["max", "cls-max", "max-mean"])
def test_the_classifier_pools_the_tokens(pooling: str) -> None:
    torch.manual_seed(0)
    network = create_model("mae-classifier", classes=5, attention="dense", pooling=pooling, **SMALL).eval()
    groups = group_points(clouds(), 8, 6, in_any_order=True)
    encoder = network.encoder
    x, embedded, centres = encoder.embedding(groups.points), encoder.position(groups.centres), groups.centres
    if pooling == "max":
        pooled = encoder.stack(x, embedded, centres).amax(1)
    elif pooling == "max-mean":
        tokens = encoder.stack(x, embedded, centres)
        pooled = torch.cat([tokens.amax(1), tokens.mean(1)], 1)
    else:
        x = torch.cat([network.class_token.view(1, 1, -1).repeat(3, 1, 1), x], 1)
        embedded = torch.cat([network.class_position_token.view(1, 1, -1).repeat(3, 1, 1), embedded], 1)
        tokens = encoder.stack(x, embedded, torch.zeros(3, 9, 3))
        pooled = torch.cat([tokens[:, 0], tokens[:, 1:].max(1).values], 1)
    torch.testing.assert_close(network(clouds()), network.head(pooled))


def test_dense_logits_depend_on_the_first_point_alone_in_the_order_of_points() -> None:
    network = create_model("mae-classifier", classes=5, attention="dense", **SMALL).eval()
    points = clouds()
    shuffled = torch.cat([points[:, :1], points[:, 1:].flip(1)], 1)
    torch.testing.assert_close(network(shuffled), network(points), rtol=1e-4, atol=1e-5)


def test_has_the_head_of_the_paper_and_the_encoder_of_the_autoencoder() -> None:
    with torch.device("meta"):
        classifier, autoencoder = create_model("mae-classifier", classes=40), create_model("mae")
    assert [layer.out_features for layer in classifier.head if hasattr(layer, "out_features")] == [256, 256, 40]
    shapes = [{name: p.shape for name, p in n.encoder.named_parameters()} for n in (classifier, autoencoder)]
    assert shapes[0] == shapes[1]


def test_a_head_without_hidden_layers_is_linear() -> None:
    network = create_model("mae-classifier", classes=5, head_depth=0, **SMALL).eval()
    (layer,) = network.head
    torch.testing.assert_close(network(clouds()), network.forward_features(clouds()) @ layer.weight.T + layer.bias)


@pytest.mark.parametrize("attention", list_attention())
def test_the_class_token_learns_with_every_mechanism(attention: str) -> None:
    classifier = create_model("mae-classifier", classes=5, attention=attention, pooling="cls-max", **SMALL)
    logits = classifier(clouds())
    assert logits.shape == (3, 5)
    logits.sum().backward()
    assert classifier.class_token.grad is not None
    assert classifier.class_position_token.grad is not None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pooling": "mean"}, "pooling: expected one of max, cls-max, max-mean, got 'mean'"),
        ({"normals": True}, "normals: expected False"),
        ({"head_width": 0}, "classes, head_width: expected at least 1, got 5 and 0"),
        ({"head_depth": -1}, "head_depth: expected at least 0, got -1"),
    ],
)
def test_bad_options_are_named(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        MaskedAutoencoderClassifier(5, **{**SMALL, **options})


def test_normals_are_refused() -> None:
    network = MaskedAutoencoderClassifier(5, **SMALL)
    with pytest.raises(ValueError, match=r"^normals: expected None, as the network reads positions alone, got torch"):
        network(clouds(), clouds())
