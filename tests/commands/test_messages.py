from __future__ import annotations

import pytest

from sampled_transformer.commands.messages import fail, remark, warn


def test_messages_are_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert fail("two\n  lines", 3) == 3
    warn("a\nwarning")
    remark("left out", ["a.off: empty", "b.off: empty"])
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "sampled-transformer: error: two lines",
        "sampled-transformer: warning: a warning",
        "left out: a.off: empty",
        "left out: b.off: empty",
    ]
