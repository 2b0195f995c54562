import os
from pathlib import Path

import pytest

from sampled_transformer.support.printable import printable


def test_ordinary_names_stay() -> None:
    assert printable(Path("folder") / "größe 点.ply") == f"folder{os.sep}größe 点.ply"


@pytest.mark.parametrize(
    ("name", "text"),
    [("a\nb", "a\\nb"), ("a\x1b[31m", "a\\x1b[31m"), ("a\tb", "a\\tb"), (os.fsdecode(b"a\xff"), "a\\xff")],
)
def test_what_a_terminal_cannot_show_is_escaped(name: str, text: str) -> None:
    assert printable(name) == text
