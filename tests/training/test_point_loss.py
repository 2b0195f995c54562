"""Losses that follow the IoU, against their definitions."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from sampled_transformer.training.point_loss import EXTRA_LOSSES, dice_loss, lovasz_loss

LABELS = torch.tensor([0, 0, 1, 2, 2, 2, -1, -1])


def answers(seed: int = 0) -> torch.Tensor:
    return torch.randn(8, 4, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).softmax(1)


def jaccard_loss(own: list[bool], wrong: set[int]) -> float:
    """1 - IoU of a class if exactly the points `wrong` are answered wrongly."""
    true = {row for row, is_own in enumerate(own) if is_own}
    found = {row for row, is_own in enumerate(own) if is_own != (row in wrong)}
    return 1 - len(true & found) / len(true | found)


def slow_lovasz(probabilities: torch.Tensor, labels: torch.Tensor) -> float:
    known = [row for row in range(len(labels)) if labels[row] >= 0]
    losses = []
    for number in sorted({int(labels[row]) for row in known}):
        own = [int(labels[row]) == number for row in known]
        errors = [
            abs(float(is_own) - float(probabilities[row, number])) for row, is_own in zip(known, own, strict=True)
        ]
        order = sorted(range(len(known)), key=lambda row: -errors[row])
        loss, before = 0.0, 0.0
        for count in range(1, len(known) + 1):
            now = jaccard_loss(own, set(order[:count]))
            loss, before = loss + errors[order[count - 1]] * (now - before), now
        losses.append(loss)
    return sum(losses) / len(losses)


def test_lovasz_is_its_definition() -> None:
    for seed in range(5):
        probabilities = answers(seed)
        assert float(lovasz_loss(probabilities, LABELS)) == pytest.approx(slow_lovasz(probabilities, LABELS))


def test_lovasz_of_hard_answers_is_one_minus_the_iou() -> None:
    labels = torch.tensor([0, 0, 1])
    for given in product(range(2), repeat=3):
        hard = torch.nn.functional.one_hot(torch.tensor(given), 2).double()
        ious = []
        for number in range(2):
            true = {row for row in range(3) if labels[row] == number}
            found = {row for row in range(3) if given[row] == number}
            ious.append(len(true & found) / len(true | found))
        assert float(lovasz_loss(hard, labels)) == pytest.approx(1 - sum(ious) / 2)


def test_dice_is_its_definition() -> None:
    probabilities, losses = answers(), []
    for number in range(3):
        both = sum(float(probabilities[row, number]) for row in range(6) if LABELS[row] == number)
        total = sum(float(probabilities[row, number]) for row in range(6)) + int((number == LABELS).sum())
        losses.append(1 - 2 * both / total)
    assert float(dice_loss(probabilities, LABELS)) == pytest.approx(sum(losses) / 3)


@pytest.mark.parametrize("name", EXTRA_LOSSES)
def test_right_answers_cost_nothing_and_what_is_ignored_never_counts(name: str) -> None:
    loss = EXTRA_LOSSES[name]
    right = torch.nn.functional.one_hot(LABELS.clamp(min=0), 4).double()
    assert float(loss(right, LABELS)) == pytest.approx(0)
    probabilities, others = answers(), answers(1)
    expected = loss(probabilities, LABELS)
    probabilities = torch.cat([probabilities[:6], others[6:]]).requires_grad_()
    found = loss(probabilities, LABELS)
    assert torch.equal(found, expected)
    found.backward()
    assert not probabilities.grad[6:].any()
    assert probabilities.grad[:6].any()


@pytest.mark.parametrize("name", EXTRA_LOSSES)
def test_without_any_label_there_is_nothing_to_learn(name: str) -> None:
    probabilities = answers().requires_grad_()
    found = EXTRA_LOSSES[name](probabilities, torch.full((8,), -1))
    assert float(found.detach()) == 0
    found.backward()
    assert not probabilities.grad.any()
