from __future__ import annotations

import io

from tqdm import tqdm

from sampled_transformer.support.terminal import Shown


def test_control_characters_are_shown_and_not_obeyed() -> None:
    below = io.StringIO()
    print("a\x1b]0;title\x07 b\u202ec\n\td", file=Shown(below))  # type: ignore[arg-type]
    assert below.getvalue() == "a\\x1b]0;title\\x07 b\\u202ec\n\td\n"
    Shown(below).writelines(["\x1b[2J", "\n"])
    assert below.getvalue().endswith("d\n\\x1b[2J\n")


def test_ordinary_text_stays() -> None:
    below = io.StringIO()
    assert Shown(below).write("größe 点 ⣿ R²") == len("größe 点 ⣿ R²")
    assert below.getvalue() == "größe 点 ⣿ R²"


def test_all_else_is_that_of_the_stream() -> None:
    below = io.StringIO()
    assert Shown(below).isatty() is False
    Shown(below).flush()
    for _ in tqdm(range(3), file=Shown(below)):  # type: ignore[arg-type]
        pass
    assert "3/3" in below.getvalue()
    assert "\\r" not in below.getvalue()
