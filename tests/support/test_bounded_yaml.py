from __future__ import annotations

import pytest

from sampled_transformer.support.bounded_yaml import load_yaml
from sampled_transformer.support.trees import read_yaml

BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + last] * 10)}]\n" for last, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "expected at most 100,000 values, aliases written out, got more"),
        ("a: &a [*a]", "expected no alias inside of what it names"),
        ("a: " + "[" * 5000, "not a YAML file"),
        ("a: " + "[" * 60 + "]" * 60, "expected at most 32 levels of nesting"),
        ("a: 2001-99-99", "not a YAML file"),
        ("a: " + "9" * 5000, "not a YAML file"),
        ("? [a, b]\n: c", "not a YAML file"),
        ("x: 1\n" * 100_000, "expected at most 131,072 letters, got 500,000"),
        ("a: !!python/object/apply:os.system [ls]", "not a YAML file"),
        ("\x1b[31m", "not a YAML file"),
    ],
)
def test_hostile_yaml_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        read_yaml(text, "some.yaml")
    said = str(error.value)
    assert said.startswith("some.yaml: ")
    assert said.isprintable()
    assert len(said) < 500


def test_aliases_and_merges_of_ordinary_size_work() -> None:
    tree = read_yaml("base: &base {points: 4}\nown: {<<: *base, seed: 1}\nother: *base", "some.yaml")
    assert tree == {"base": {"points": 4}, "own": {"points": 4, "seed": 1}, "other": {"points": 4}}


def test_merges_cannot_double_without_end() -> None:
    """Each of thirty levels merges the last one twice: written out, a thousand million values."""
    text = "l0: &l0 {x: 1}\n"
    text += "".join(f"l{n}: &l{n} {{<<: [*l{n - 1}, *l{n - 1}]}}\n" for n in range(1, 31))
    with pytest.raises(ValueError, match="expected at most 100,000 values"):
        read_yaml(text, "some.yaml")


def test_numbers_in_powers_of_ten_are_numbers() -> None:
    assert load_yaml("[1e-3, 2.5E+4, .5e1]") == [0.001, 25000.0, 5.0]


def test_an_empty_document_holds_nothing() -> None:
    assert load_yaml("") is None
