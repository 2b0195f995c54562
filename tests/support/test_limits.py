from __future__ import annotations

from pathlib import Path

import pytest

from sampled_transformer.support.limits import Limits


def test_two_gigabytes_or_twenty_times_the_file(tmp_path: Path) -> None:
    with open(tmp_path / "large", "wb") as file:
        file.truncate(300_000_000)
    (tmp_path / "small").write_bytes(b"x")
    assert Limits().bytes_for(tmp_path / "small") == Limits().bytes_for(tmp_path / "none") == 2_000_000_000
    assert Limits().bytes_for(tmp_path / "large") == 6_000_000_000
    assert Limits(memory=0.5).bytes_for(tmp_path / "large") == 500_000_000
    assert Limits().seconds == 30


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), 1e7])
def test_limits_are_positive(value: float) -> None:
    with pytest.raises(ValueError, match=r"^reading\.memory: expected a number above 0"):
        Limits(memory=value)
    with pytest.raises(ValueError, match=r"^reading\.seconds: expected a number above 0"):
        Limits(seconds=value)
