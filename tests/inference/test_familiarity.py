"""Scores of strangers, the promised rate of false alarms, and statistics that cannot be."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from sampled_transformer.inference.calibration import ranking
from sampled_transformer.inference.familiarity import ANCHORS, Ask, Familiarity, familiarity_of, nearest, too_few
from sampled_transformer.inference.trained import cycle_probabilities
from sampled_transformer.models import create_model
from sampled_transformer.weights import Description, WeightsError

WIDTH = 12
CENTRES = 5 * torch.eye(3, WIDTH)


def shapes(count: int, seed: int, shift: float = 0.0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Features around three centres, their logits and classes. Features differ in scale; `shift` makes strangers."""
    source = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % 3
    features = CENTRES[labels] + torch.randn(count, WIDTH, generator=source)
    features[:, 3:] += shift
    return features * torch.logspace(-1, 1, WIDTH), features @ CENTRES.T, labels


def fitted(held: int = 400, alarms: float = 0.05) -> Familiarity:
    train, _, labels = shapes(600, 0)
    return Familiarity.fit(train, labels, shapes(held, 1)[:2], alarms)


def test_the_score_by_hand() -> None:
    known = Familiarity(
        torch.tensor([[0.0, 0.0], [2.0, 0.0]]).half(), torch.tensor([2.0, 1.0]), torch.zeros(1), 0.5, 0.1
    )
    score = known.score(torch.tensor([[1.0, 3.0]]), torch.tensor([[0.0, 0.0]]))
    assert float(score) == pytest.approx(3 - 0.5 * math.log(2))  # (2, 3) is 3 from (2, 0)


def test_strangers_are_found_and_friends_are_not() -> None:
    known = fitted()
    strange, friend = (known.score(*shapes(300, 2, shift)[:2]) for shift in (2.0, 0.0))
    assert known.is_familiar(strange).double().mean() < 0.1
    assert known.is_familiar(friend).double().mean() > 0.9
    area = ranking(torch.cat([strange, friend]), torch.arange(600) < 300)
    assert area is not None
    assert area > 0.98
    assert known.strangeness(strange).mean() > 0.97
    assert known.strangeness(friend).mean() == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize("alarms", [0.01, 0.05, 0.3])
def test_false_alarms_keep_to_their_rate(alarms: float) -> None:
    known = fitted(2000, alarms)
    new = known.score(*shapes(4000, 3)[:2])
    rate = float((~known.is_familiar(new)).double().mean())
    assert rate == pytest.approx(alarms, abs=4 * math.sqrt(alarms / 2000))
    of_two = float((~known.is_usual(known.strangeness(new), 2)).double().mean())
    assert of_two == pytest.approx(alarms / 2, abs=4 * math.sqrt(alarms / 2000))
    own = known.score(*shapes(2000, 1)[:2])
    assert float((~known.is_familiar(own)).double().mean()) <= alarms


def test_few_held_out_shapes_promise_nothing() -> None:
    assert too_few(18, 0.05)
    assert not too_few(19, 0.05)
    with pytest.raises(ValueError, match=r"alarms: expected at least 0\.0909, got 0\.05"):
        fitted(held=10)


def test_what_is_kept_is_small_and_read_again() -> None:
    known = fitted(held=5000)
    tensors = known.tensors()
    assert {name: tuple(one.shape) for name, one in tensors.items()} == {
        "familiarity.anchors": (ANCHORS // 3 * 3, WIDTH),
        "familiarity.scale": (WIDTH,),
        "familiarity.scores": (4096,),
    }
    again = familiarity_of(Description("basic", {}, (), known.notes()), tensors, "w")
    assert again is not None
    new = shapes(50, 4)[:2]
    assert torch.equal(again.score(*new), known.score(*new))
    assert (again.alarms, familiarity_of(Description("basic", {}), tensors, "w")) == (0.05, None)


def test_every_class_has_its_anchors() -> None:
    train, _, labels = shapes(900, 0)
    rare = torch.cat([torch.arange(0, 900, 3), torch.tensor([1, 2])])  # many of one class, one of each other
    known = Familiarity.fit(train[rare], labels[rare], shapes(100, 1)[:2])
    assert len(known.anchors) == ANCHORS // 3 + 2
    assert nearest(train[[1, 2]] * known.scale, known.anchors.float()).max() < 0.01


def test_features_that_never_change_do_no_harm() -> None:
    train, _, labels = shapes(100, 0)
    train[:, 0] = 7.0
    features, logits, _ = shapes(100, 1)
    features[:, 0] = 7.0
    known = Familiarity.fit(train, labels, (features, logits))
    assert known.score(features, logits).isfinite().all()
    same = Familiarity.fit(torch.ones(20, 4), torch.arange(20) % 2, (torch.ones(30, 4), torch.zeros(30, 2)))
    assert same.score(torch.ones(1, 4), torch.zeros(1, 2)).isfinite().all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"note": "yes"}, "expected names and values in its note familiarity, got yes"),
        ({"note": {"energy": "a", "alarms": 0.1}}, "expected a number in its note familiarity.energy, got a"),
        (
            {"note": {"energy": 1.0}},
            "expected the tensors anchors, scale and scores, and the numbers energy and alarms",
        ),
        ({"note": {"energy": 1.0, "alarms": 1.5}}, "expected alarms between 0 and 1"),
        ({"note": {"energy": math.nan, "alarms": 0.1}}, "expected alarms between 0 and 1 and a finite energy"),
        ({"scale": None}, "expected the tensors"),
        ({"scale": torch.ones(WIDTH + 1)}, r"expected anchors \(k, d\), scale \(d,\) and scores \(m,\), got"),
        ({"anchors": torch.ones(WIDTH)}, r"expected anchors \(k, d\)"),
        ({"anchors": torch.ones(0, WIDTH)}, r"expected anchors \(k, d\)"),
        ({"scores": torch.ones(0)}, r"expected anchors \(k, d\)"),
        ({"scores": torch.ones(())}, r"expected anchors \(k, d\)"),
        ({"scores": torch.tensor([0, 1])}, "expected finite numbers"),
        ({"scores": torch.tensor([0.0, math.nan])}, "expected finite numbers"),
        ({"scores": torch.tensor([1.0, 0.0])}, "expected scores in ascending order"),
    ],
)
def test_nonsense_in_a_file_is_refused_in_one_line(changes: dict[str, Any], message: str) -> None:
    known = fitted()
    note = changes.pop("note", known.notes()["familiarity"])
    changed = {f"familiarity.{name}": tensor for name, tensor in changes.items()}
    tensors = {name: one for name, one in (known.tensors() | changed).items() if one is not None}
    with pytest.raises(WeightsError, match=rf"a\.safetensors: (familiarity: )?{message}") as error:
        familiarity_of(Description("basic", {}, (), {"familiarity": note}), tensors, "a.safetensors")
    assert "\n" not in str(error.value)


def test_statistics_of_another_network_are_refused() -> None:
    with pytest.raises(WeightsError, match=r"familiarity: expected statistics of 5 features, .*, got 12"):
        fitted().score(torch.zeros(1, 5), torch.zeros(1, 3))


def test_asking_notes_the_scores_of_the_first_pass() -> None:
    torch.manual_seed(0)
    network = create_model("basic", classes=3, dim=16, heads=2, hidden=16, embedding=8).eval()
    points, normals = torch.rand(4, 20, 3), torch.rand(4, 20, 3)
    features = network.forward_features(points, normals).detach()
    known = Familiarity(features[:2].half(), torch.ones(16), torch.zeros(1), 0.5, 0.5)
    ask = Ask(0.5, known)
    assert torch.equal(ask(network, points, normals, 3), cycle_probabilities(network, points, normals, 3, 0.5))
    expected = known.score(features, network.head(features).detach())
    torch.testing.assert_close(torch.cat(ask.scores), expected)
    ask(network, points[:1], normals[:1], 1)
    assert len(ask.scores) == 2
    silent = Ask(0.5)
    silent(network, points, normals, 1)
    assert silent.scores == []
    assert not network.head._forward_hooks


def test_nearest_by_hand() -> None:
    found = nearest(torch.tensor([[0.0, 0.0], [9.0, 9.0]]), torch.tensor([[3.0, 4.0], [9.0, 8.0]]))
    assert found.tolist() == [5.0, 1.0]
