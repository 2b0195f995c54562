"""The list of statements: complete, named once, and every failure has a repair."""

import inspect

import pytest

from sampled_transformer.theory import claims, run
from sampled_transformer.theory.grid import Setting, all_inputs
from sampled_transformer.theory.steps import CLAIMS


def test_names_are_different() -> None:
    names = [claim.name for claim in CLAIMS]
    assert len(set(names)) == len(names)


def test_every_check_is_used() -> None:
    """A function of claims.py with one argument `trace` is a check, and some statement must use it."""
    checks = {
        function
        for _, function in inspect.getmembers(claims, inspect.isfunction)
        if list(inspect.signature(function).parameters) == ["trace"] and function is not claims.closed_form
    }
    used = {claim.check for claim in CLAIMS}
    assert {check.__name__ for check in checks if check.__module__ == claims.__name__} <= {
        check.__name__ for check in used
    }


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_a_statement_fails_somewhere_exactly_if_it_has_a_repair(claim: claims.Claim) -> None:
    settings = [Setting(2, 1, 2), Setting(3, 1, 2), Setting(2, 2, 2)]
    failures = [claim.check(run(all_inputs(setting), setting)) for setting in settings]
    assert any(failure is not None for failure in failures) == bool(claim.repair)
