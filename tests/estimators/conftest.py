from __future__ import annotations

from typing import Any

import pytest
from helpers.labelled_sets import SMALL, Labelled, make_sets


@pytest.fixture(scope="session")
def train() -> Labelled:
    return make_sets(60, 4, seed=0)


@pytest.fixture(scope="session")
def test() -> Labelled:
    return make_sets(45, 4, seed=1)


@pytest.fixture
def small() -> dict[str, Any]:
    """Parameters of a network that trains in a second."""
    return dict(SMALL)
