from __future__ import annotations

import itertools

import pytest
import torch
from helpers import slow_theory as slow

from sampled_transformer import Cycle
from sampled_transformer.theory import CONSTRUCTIONS, contextual_mapping, identify, run
from sampled_transformer.theory.grid import Setting, all_inputs, random_inputs

SMALL = [(n, d, steps) for n in (2, 3, 4) for d in (1, 2) for steps in (2, 3)]


@pytest.mark.parametrize("construction", CONSTRUCTIONS)
@pytest.mark.parametrize(("n", "d", "steps"), [(2, 1, 2), (2, 2, 3), (3, 1, 3), (3, 2, 2), (4, 1, 2)])
def test_layers_are_those_of_the_slow_proof(construction: str, n: int, d: int, steps: int) -> None:
    setting = Setting(n, d, steps)
    inputs = random_inputs(setting, 20)
    trace = run(inputs, setting, construction)
    reading = CONSTRUCTIONS[construction]
    selecting = [(token, reading.select(n, token)) for token in range(reading.first, n)]
    for row, matrix in enumerate(inputs):
        real = [[setting.real(value) for value in line] for line in matrix]
        stages = slow.contextual(real, setting.delta, selecting, reading.spread(n))
        found = [trace.start, trace.selected, *trace.spread]
        assert [[setting.real(value) for value in ids[row]] for ids in found] == stages


@pytest.mark.parametrize("construction", ["pairs", "cycle"])
@pytest.mark.parametrize(("n", "d", "steps"), SMALL)
def test_definition_holds_on_every_input(n: int, d: int, steps: int, construction: str) -> None:
    verdict = contextual_mapping(n, d, f"1/{steps}", construction=construction)
    assert verdict.exhaustive
    assert verdict.inputs == steps ** (n * d)
    assert verdict.attentions == (n - 1) * steps**d + n
    assert verdict.holds


@pytest.mark.parametrize(("n", "d", "steps"), [(6, 2, 4), (10, 1, 5), (5, 3, 2)])
def test_definition_holds_on_random_inputs_of_large_grids(n: int, d: int, steps: int) -> None:
    for construction in ("pairs", "cycle"):
        verdict = contextual_mapping(n, d, f"1/{steps}", construction=construction, limit=1000, samples=200)
        assert not verdict.exhaustive
        assert verdict.inputs > 150
        assert verdict.holds


@pytest.mark.parametrize(("n", "d", "steps"), SMALL[:-2])
def test_the_pairs_to_the_letter_are_no_contextual_mapping(n: int, d: int, steps: int) -> None:
    verdict = contextual_mapping(n, d, f"1/{steps}", construction="written")
    assert verdict.between is not None
    assert "share the id" in verdict.between


def test_counter_examples_are_what_they_say() -> None:
    verdict = contextual_mapping(2, 1, "1/2", construction="written")
    assert verdict.between == "G=0|0 token 1 and G=0|1/2 token 1 share the id 4225"
    setting = Setting(2, 1, 2)
    trace = run(all_inputs(setting), setting, "written")
    assert (trace.selected == trace.start).all()  # no selective shift does anything
    assert setting.real(trace.ids[0, 0]) == setting.real(trace.ids[1, 0]) == 4225


@pytest.mark.parametrize("n", [3, 4, 5])
def test_ids_follow_the_points_of_any_cycle_if_the_embedding_does(n: int) -> None:
    setting = Setting(n, 1, 2)
    inputs = all_inputs(setting)
    plain = identify(inputs, setting)
    for seed in range(4):
        order = Cycle.sample(n, generator=torch.Generator().manual_seed(seed)).order[0].tolist()
        ids = identify(inputs, setting, order=order)
        assert len(set(ids.reshape(-1))) == ids.size
        assert (ids[:, order] == identify(inputs[:, :, order], setting)).all()
    assert len(set(plain.reshape(-1))) == plain.size


@pytest.mark.parametrize(("n", "steps"), [(3, 2), (3, 3), (4, 2), (4, 3), (5, 2)])
def test_one_embedding_serves_one_cycle_of_all(n: int, steps: int) -> None:
    from sampled_transformer.theory.claims import all_successors, serves

    setting = Setting(n, 1, steps)
    trace = run(all_inputs(setting), setting)
    served = [successor for successor in all_successors(n) if serves(trace, successor)]
    assert served == [[(k - 1) % n for k in range(n)]]


def test_all_successors_are_all_cycles() -> None:
    from sampled_transformer.theory.claims import all_successors

    found = {tuple(successor) for successor in all_successors(5)}
    cycles = set()
    for successor in itertools.permutations(range(5)):
        seen, point = {0}, successor[0]
        while point not in seen:
            seen.add(point)
            point = successor[point]
        if len(seen) == 5:
            cycles.add(successor)
    assert found == cycles


def test_ids_are_no_function_of_the_set() -> None:
    """If the embedding depends on the index, swapping two points does not swap their ids."""
    setting = Setting(2, 1, 2)
    inputs = all_inputs(setting)
    assert (identify(inputs, setting)[:, ::-1] != identify(inputs[:, :, ::-1], setting)).any()


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="construction: expected one of closed, cycle, pairs, written, got 'path'"):
        contextual_mapping(2, 1, "1/2", construction="path")
    with pytest.raises(ValueError, match="order: expected 3 points, got 2"):
        identify(all_inputs(Setting(3, 1, 2)), Setting(3, 1, 2), order=[0, 1])


@pytest.mark.slow
def test_definition_holds_on_larger_whole_grids() -> None:
    for n, d, steps in [(5, 2, 3), (4, 2, 4)]:
        for construction in ("pairs", "cycle"):
            verdict = contextual_mapping(n, d, f"1/{steps}", construction=construction)
            assert verdict.exhaustive
            assert verdict.holds
