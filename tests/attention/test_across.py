"""What a call with a context refuses, and by which name."""

from __future__ import annotations

import pytest
import torch

from sampled_transformer import Cycle, create_attention, cycle_seed

PTR = torch.tensor([0, 4])

CALLS = {  # changes to x (2, 4, 8) reading a context (2, 5, 8), and the message
    "width": (
        {"context": torch.zeros(2, 5, 7)},
        r"context: expected floats of shape \(batch, n, 8\).* got .*\(2, 5, 7\)",
    ),
    "integers": ({"context": torch.zeros(2, 5, 8).long()}, r"context: expected floats of shape .* got torch.int64"),
    "no tensor": ({"context": [1.0]}, r"context: expected floats of shape .* got list"),
    "sets": ({"context": torch.zeros(3, 5, 8)}, "context: expected 2 sets, as many as x has, got 3"),
    "type": (
        {"context": torch.zeros(2, 5, 8).double()},
        "context: expected the type of x, torch.float32, got torch.float64",
    ),
    "device": ({"context": torch.zeros(2, 5, 8, device="meta")}, "context: expected the device of x, cpu, got meta"),
    "mask": (
        {"context_mask": torch.ones(2, 4).bool()},
        r"context_mask: expected bool of shape \(2, 5\), got .*\(2, 4\)",
    ),
    "mask without context": (
        {"context": None, "context_mask": torch.ones(2, 5).bool()},
        "context: expected the points that context_mask describes, got None",
    ),
    "packed context": (
        {"context": torch.zeros(5, 8), "context_ptr": PTR},
        "ptr, context_ptr: expected both or neither",
    ),
    "packed queries": ({"x": torch.zeros(4, 8), "ptr": PTR}, "ptr, context_ptr: expected both or neither, got one"),
    "ptr": (
        {"x": torch.zeros(4, 8), "ptr": PTR, "context": torch.zeros(5, 8), "context_ptr": PTR},
        "context_ptr: expected the last value to be the number of points, 5, got 4",
    ),
    "both": (
        {
            "context": torch.zeros(5, 8),
            "context_ptr": PTR,
            "context_mask": torch.ones(5).bool(),
            "ptr": PTR,
            "x": torch.zeros(4, 8),
        },
        "context_mask, context_ptr: expected at most one of them, got both",
    ),
    "positions": (
        {"context_positions": torch.zeros(2, 4, 3)},
        r"context_positions: expected floats of shape \(2, 5\) \+ \(coordinates,\)",
    ),
    "infinite": ({"context_positions": torch.full((2, 5, 3), torch.inf)}, "context_positions: expected finite"),
}


@pytest.mark.parametrize("case", CALLS)
def test_a_context_that_does_not_fit_is_named(case: str) -> None:
    change, message = CALLS[case]
    layer = create_attention("dense", 8, 2)
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        layer(**{"x": torch.zeros(2, 4, 8), "context": torch.zeros(2, 5, 8), **change})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["knn", "rotary"])
def test_positions_of_the_context_are_needed_and_of_the_same_space(name: str) -> None:
    layer = create_attention(name, 8, 2)
    x, context = torch.zeros(2, 4, 8), torch.zeros(2, 5, 8)
    with pytest.raises(ValueError, match=r"^context_positions: expected shape \(2, 5\) \+ \(\w+,\), which"):
        layer(x, torch.zeros(2, 4, 3), context=context)
    with pytest.raises(ValueError, match=r"^context_positions: expected 3 coordinates, got 2"):
        layer(x, torch.zeros(2, 4, 3), context=context, context_positions=torch.zeros(2, 5, 2))


def test_sampled_attention_walks_no_given_cycle_into_a_context() -> None:
    x = torch.zeros(2, 4, 8)
    with pytest.raises(ValueError, match=r"^context: expected .* SampledAttention: a cycle runs through one set"):
        create_attention("sampled", 8, 2)(x, cycle=Cycle.sample(4), context=x)
    create_attention("dense", 8, 2)(x, cycle=Cycle.sample(4), context=x)  # has no cycles and ignores it


def test_two_random_points_per_query_and_head_fresh_in_training_and_fixed_in_evaluation() -> None:
    layer = create_attention("sampled", 8, 4)
    x, context = torch.randn(3, 50, 8), torch.randn(3, 30, 8)
    _, pairs = layer(x, context=context, need_weights=True)
    read = pairs.dense() != 0
    assert (read.sum(3) == 2).all()
    assert not torch.equal(read[0], read[1]), "every set"
    assert not torch.equal(read[:, 0], read[:, 1]), "every head"
    assert not torch.equal(read[:, :, 0], read[:, :, 1]), "every query"
    assert not torch.equal(layer(x, context=context), layer(x, context=context))
    layer.eval()
    fixed = layer(x, context=context)
    assert torch.equal(layer(x, context=context), fixed)
    with cycle_seed(layer, 9):
        assert not torch.equal(layer(x, context=context), fixed)
    layer.layer = 3
    assert not torch.equal(layer(x, context=context), fixed)


def test_many_samples_of_two_points_read_the_whole_context_evenly() -> None:
    """With all scores equal, the mean over draws tends to the mean of the values."""
    layer = create_attention("sampled", 8, 2, samples=400, scale=0.0).eval()
    x, context = torch.randn(1, 6, 8), torch.randn(1, 5, 8)
    expected = layer.output(layer.value(context).mean(1))
    _, pairs = layer(x, context=context, need_weights=True)
    assert len(pairs) == 6 * 5
    assert (pairs.weight - 0.2).abs().max() < 0.05
    assert (layer(x, context=context) - expected[:, None]).abs().max() < 0.1


def test_a_generator_draws_the_pairs() -> None:
    x, context = torch.randn(2, 6, 8), torch.randn(2, 9, 8)
    weights = create_attention("sampled", 8, 2).state_dict()
    answers = []
    for seed in (1, 1, 2):
        layer = create_attention("sampled", 8, 2, generator=torch.Generator().manual_seed(seed))
        layer.load_state_dict(weights)
        answers.append(layer(x, context=context))
    assert torch.equal(answers[0], answers[1])
    assert not torch.equal(answers[0], answers[2])


def test_runs_under_autocast_with_mixed_types() -> None:
    layer = create_attention("dense", 8, 2)
    with torch.autocast("cpu", torch.bfloat16):
        y = layer(torch.randn(2, 4, 8), context=torch.randn(2, 5, 8).bfloat16())
    assert y.isfinite().all()
