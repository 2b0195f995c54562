"""Every row of the benchmark can be built and run at each of its levels."""

from __future__ import annotations

import pytest
import torch

from sampled_transformer_lab.bench.setting import Setting
from sampled_transformer_lab.bench.subjects import MECHANISMS, Subject, memory_needed

SETTING = Setting(batch=2, heads=2, head_dim=8)
CASES = [(name, level) for name, row in MECHANISMS.items() for level in row.levels if row.backward]


@pytest.mark.parametrize(("name", "level"), CASES)
def test_runs_and_every_input_gets_a_gradient(name: str, level: str) -> None:
    subject = Subject(name, level, SETTING, 40)
    subject.forward()
    gradients: list[torch.Tensor] = []
    for leaf in subject.leaves:
        leaf.register_hook(gradients.append)
    subject.both()
    assert all(bool(grad.isfinite().all()) for grad in gradients)
    assert all(leaf.grad is None for leaf in subject.leaves)  # no row holds memory that the next one may need
    assert len(gradients) == {"core": 3, "layer": 1, "block": 1, "network": 0}[level] * (name != "copy")


def test_a_block_holds_the_mechanism_it_is_named_after() -> None:
    rows = {name: Subject(name, "block", SETTING, 40).module for name in ("sampled-4-rounds", "dense-explicit")}
    assert rows["sampled-4-rounds"].attention.rounds == 4
    assert type(rows["dense-explicit"].attention).__name__ == "ExplicitAttention"
    network = Subject("dense-explicit", "network", SETTING, 40).module
    assert type(network.blocks[0].attention).__name__ == "ExplicitAttention"


def test_forward_keeps_nothing() -> None:
    subject = Subject("sampled", "core", SETTING, 40)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: kept.append(tensor), lambda tensor: tensor):
        subject.forward()
    assert not kept


def test_only_an_explicit_matrix_needs_the_square_of_the_points() -> None:
    growth = {
        name: memory_needed(name, "block", SETTING, 20000) / memory_needed(name, "block", SETTING, 10000)
        for name in ("sampled", "dense", "dense-explicit")
    }
    assert growth["sampled"] == growth["dense"] == 2
    assert growth["dense-explicit"] > 3.9


def test_unknown_mechanism() -> None:
    with pytest.raises(ValueError, match=r"mechanism: expected one of .* did you mean 'sampled'"):
        Subject("sampeld", "block", SETTING, 40)


def test_rows_of_the_same_size_share_their_inputs() -> None:
    shared: dict[object, torch.Tensor] = {}
    one, two = (Subject(name, "core", SETTING, 40, shared) for name in ("sampled", "dense"))
    one.both()
    two.both()
    assert all(a is b for a, b in zip(one.leaves, two.leaves, strict=True))
    assert len(shared) == 4  # q, k, v and the gradient of the output
