from __future__ import annotations

import errno

import pytest

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.limits import allowed, budget, check_need, reason_of, too_much_memory


def test_needs_are_compared_with_the_budget() -> None:
    check_need(10**18, "nothing is known of a budget here")
    with budget(1000):
        check_need(1000, "exactly that")
        with pytest.raises(DataError, match=r"^5 points need about 2e-06 GB, more than 1e-06 GB of memory; --reading"):
            check_need(2000, "5 points")
        assert too_much_memory().startswith("reading it takes more than 1e-06 GB")
        assert reason_of(OSError(errno.ENOMEM, "Cannot allocate memory")) == too_much_memory()
    assert reason_of(OSError(errno.ENOENT, "No such file")) == "No such file"
    assert allowed() is None
    assert too_much_memory() == "not enough memory to read it"
