import os
from pathlib import Path

import pytest

from sampled_transformer.support.printable import brief, one_line, printable


def test_ordinary_names_stay() -> None:
    assert printable(Path("folder") / "größe 点.ply") == f"folder{os.sep}größe 点.ply"


@pytest.mark.parametrize(
    ("name", "text"),
    [("a\nb", "a\\nb"), ("a\x1b[31m", "a\\x1b[31m"), ("a\tb", "a\\tb"), (os.fsdecode(b"a\xff"), "a\\xff")],
)
def test_what_a_terminal_cannot_show_is_escaped(name: str, text: str) -> None:
    assert printable(name) == text


def test_half_a_letter_is_escaped_too() -> None:
    """JSON can hold half of a surrogate pair; no file system can."""
    assert printable("a\ud800b") == "a\\ud800b"


def test_a_long_text_is_cut() -> None:
    assert brief("x" * 80) == "x" * 80
    assert brief("x" * 81) == "x" * 80 + "..."
    assert one_line("a \n b\x1b" + "x" * 10_000, 6) == "a b\\x1bxx..."
    assert brief("\x1b" * 3, 2) == "\\x1b\\x1b..."
