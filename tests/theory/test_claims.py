"""Every statement of the proof holds on all grids that we run, or fails exactly where docs/theory.md says."""

from __future__ import annotations

import pytest

from sampled_transformer.theory import CLAIMS, Claim, counterexamples, run
from sampled_transformer.theory.claims import settings_by_size
from sampled_transformer.theory.contextual import Trace
from sampled_transformer.theory.grid import Setting, all_inputs, random_inputs

# The smallest grid on which a statement fails, and part of the counter-example.
FAILURES = {
    "subset-reach": ((2, 1, 2), "token 2 reaches only [2]"),
    "embedding": ((2, 1, 2), "no W_p serves both"),
    "projection-anywhere": ((2, 2, 2), "columns (0,1/2) and (1,0) share the id 1"),
    "pairs-as-written": ((2, 1, 2), "G=0|0: 1,0, not 1,2"),
    "all-pairs": ((2, 1, 2), "G=0|0: 3,6, not 1,2"),
    "gaps": ((2, 1, 2), "token 1 reaches 3/2, token 2 begins at 3/2"),
    "selected-contextual": ((2, 1, 2), "G=0|0 token 1 and G=0|1/2 token 1 share the id 1"),
    "one-to-one-k": ((2, 1, 2), "G=0|0 and G=0|1/2 share l~_1 = 1"),
    "upper-bound-i": ((3, 1, 2), "l~_2 reaches 5, the bound is 3"),
    "first-shift": ((2, 1, 2), "129,130, not 129,66"),
    "first-order": ((2, 1, 2), "129,130"),
    "second-shift": ((2, 1, 2), "8449,8450, not 4353,8322"),
    "bijective-keeps-apart": ((3, 1, 2), "c=1: ids (0, 2, 1) become (2, 4, 2)"),
    "contextual-too-soon": ((2, 1, 2), "share the id 1"),
    "any-cycle": ((3, 1, 2), "only 1 of 2 cycles; not 1 -> 2 -> 3 -> 1"),
}
NUMBERS_ALONE = ("cycle-reach", "gap-chain", "powers", "remainder")  # they do not look at ids; see test_bounds.py


@pytest.fixture(scope="module")
def found() -> dict[str, tuple[Setting | None, str | None]]:
    return {claim.name: (setting, failure) for claim, setting, failure in counterexamples(CLAIMS, 256)}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_a_step_holds_on_all_small_grids_or_fails_as_documented(
    claim: Claim, found: dict[str, tuple[Setting | None, str | None]]
) -> None:
    setting, failure = found[claim.name]
    if claim.expected:
        assert failure is None
        assert claim.name not in FAILURES
    else:
        where, message = FAILURES[claim.name]
        assert setting == Setting(*where)
        assert failure is not None
        assert message in failure


@pytest.fixture(scope="module", params=[(6, 2, 3), (9, 1, 4), (4, 3, 3)], ids=str)
def large(request: pytest.FixtureRequest) -> Trace:
    setting = Setting(*request.param)
    return run(random_inputs(setting, 150), setting)


@pytest.mark.parametrize("claim", [claim for claim in CLAIMS if claim.expected], ids=lambda claim: claim.name)
def test_what_holds_holds_on_random_inputs_of_large_grids(claim: Claim, large: Trace) -> None:
    assert claim.check(large) is None


@pytest.mark.parametrize(
    "claim",
    [claim for claim in CLAIMS if claim.expected and claim.name not in NUMBERS_ALONE],
    ids=lambda claim: claim.name,
)
def test_a_check_can_fail(claim: Claim) -> None:
    """Every check that looks at ids notices wrong ids."""
    setting = Setting(3, 1, 3)
    trace = run(all_inputs(setting), setting)
    trace.start = trace.start.copy()
    trace.start[:, 1] = 10**6
    trace.selected = trace.selected * 0 + 10**6
    trace.spread = [ids * 0 - 10**6 for ids in trace.spread]
    assert claim.check(trace) is not None


def test_the_gap_can_be_positive_and_the_selective_shifts_still_not_contextual() -> None:
    """So the gap is not the reason why the all-max-shifts are needed."""
    setting = Setting(3, 3, 2)
    trace = run(all_inputs(setting), setting)
    by_name = {claim.name: claim for claim in CLAIMS}
    assert by_name["gaps"].check(trace) is None
    assert by_name["selected-contextual"].check(trace) is not None


def test_settings_come_smallest_first() -> None:
    sizes = [setting.inputs for setting in settings_by_size(256)]
    assert sizes == sorted(sizes)
    assert Setting(2, 1, 2) in settings_by_size(4)
    assert len(set(settings_by_size(256))) == len(sizes)
