from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest

from sampled_transformer.support.trees import (
    check_nesting,
    convert,
    fields_of,
    flat,
    from_tree,
    help_texts,
    merge,
    put,
    read_file,
    read_word,
    read_yaml,
    to_tree,
    write_yaml,
)


@dataclass(frozen=True)
class Inner:
    """Inner values.

    Args:
        source: Where from. More of it.
        size: How many,
            over two lines.
    """

    short: ClassVar[str] = "source"

    source: str
    size: tuple[int, int] = (1, 2)


@dataclass(frozen=True)
class Outer:
    """Outer values.

    Args:
        inner: The inner values.
        rate: A rate.
    """

    inner: Inner
    rate: float = 1.0
    kind: Literal["one", "two"] = "one"
    count: int | None = None
    some: list[int] = field(default_factory=list)
    which: int | str = 1
    switch: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Child(Outer):
    """A child.

    Args:
        rate: Another rate.
    """

    rate: float = 2.0


def test_fields_carry_types_defaults_and_help_texts() -> None:
    known = fields_of(Inner)
    assert list(known) == ["source", "size"]
    assert known["source"].default is MISSING
    assert known["size"].default == (1, 2)
    assert known["size"].help == "How many, over two lines."
    assert help_texts(Child) == {"inner": "The inner values.", "rate": "Another rate."}


def test_parameters_of_functions_are_fields_too() -> None:
    def command(file: str, size: int = 3) -> None:
        """Do something.

        Args:
            file: A file.
        """

    assert {name: (one.default, one.help) for name, one in fields_of(command).items()} == {
        "file": (MISSING, "A file."),
        "size": (3, ""),
    }


def test_settings_survive_yaml() -> None:
    settings = Outer(Inner("x", (3, 4)), 1e-5, count=3, options={"a": {"b": True}}, some=[1])
    assert from_tree(Outer, read_yaml(write_yaml(settings), "text")) == settings
    assert to_tree(settings)["inner"] == {"source": "x", "size": [3, 4]}


def test_values_get_the_type_of_their_field() -> None:
    tree = {"inner": {"source": "x", "size": [3, 4]}, "rate": 3, "which": "0,1", "options": None}
    settings = from_tree(Outer, tree)
    assert settings.inner.size == (3, 4)
    assert isinstance(settings.rate, float)
    assert settings.which == "0,1"
    assert settings.options == {}


def test_text_in_place_of_a_group_is_its_short_form() -> None:
    assert from_tree(Outer, {"inner": "x"}) == Outer(Inner("x"))


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (
            {"inner": {"sorce": "x"}},
            r"f\.yaml: expected an option of `go` .*, got 'inner\.sorce'; did you mean 'inner\.s",
        ),
        ({"rat": 1}, r"f\.yaml: .*, got 'rat'; did you mean 'rate'\?"),
        ({"inner": 3}, r"f\.yaml: inner: expected names and values, got 3"),
        ({"inner": "x", "rate": "fast"}, r"f\.yaml: rate: expected a number, got 'fast'"),
        ({"inner": "x", "kind": "tow"}, r"kind: expected one of one, two, got 'tow'; did you mean 'two'\?"),
        ({"inner": "x", "count": 1.5}, r"count: expected a whole number, got 1\.5"),
        ({"inner": "x", "count": True}, r"count: expected a whole number, got True"),
        ({"inner": {"source": "x", "size": [1]}}, r"inner\.size: expected a list of 2 values, got \[1\]"),
        ({"inner": "x", "some": ["a"]}, r"some: expected a whole number, got 'a'"),
        ({"inner": "x", "switch": "yes"}, r"switch: expected true or false, got 'yes'"),
        ({"inner": "x", "options": 3}, r"options: expected names and values, got 3"),
        ({}, r"^inner: expected --inner SOURCE \(where from\), got nothing$"),
    ],
)
def test_what_cannot_be_is_refused_by_its_path(tree: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_tree(Outer, tree, "`go`", "f.yaml")


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("3", int, 3),
        ("3", str, "3"),
        ("null", str | None, None),
        ("1e-3", float, 0.001),
        ("nan", float, pytest.approx(float("nan"), nan_ok=True)),
        ("[5,7]", list[int], [5, 7]),
        ("[a,b]", list[str] | None, ["a", "b"]),
        ("[10, 20]", tuple[int, int], (10, 20)),
        ("false", bool | None, False),
        ("2", int | str, 2),
        ("0,1", int | str, "0,1"),
        ("none", Literal["keep", "none"], "none"),
        ("true", Any, True),
        ("1e-3", Any, 0.001),
        ("sampled", Any, "sampled"),
        ('{"a": 1}', Mapping[str, Any], {"a": 1}),
        ("a: [", Any, "a: ["),
    ],
)
def test_words_of_the_command_line(text: str, kind: Any, value: Any) -> None:
    found = read_word(text, kind, "x")
    assert found == value
    assert type(found) is type(value) or kind is float


def test_a_word_of_another_type_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^data\.points: expected a whole number, got 'many'$"):
        read_word("many", int | None, "data.points")


def test_numbers_in_powers_of_ten_are_numbers_in_files_too() -> None:
    assert read_yaml("rate: 1e-3\nname: e1\nsize: -2.5E+3\n", "x") == {"rate": 0.001, "name": "e1", "size": -2500.0}


def test_trees_are_merged_name_by_name() -> None:
    below = {"a": {"b": 1, "c": 2}, "d": 3}
    assert merge(below, {"a": {"c": 4, "e": 5}}) == {"a": {"b": 1, "c": 4, "e": 5}, "d": 3}
    assert below == {"a": {"b": 1, "c": 2}, "d": 3}
    assert put(below, "a.x.y", 1) == {"a": {"b": 1, "c": 2, "x": {"y": 1}}, "d": 3}
    assert put(below, "a", {"z": 0}) == {"a": {"z": 0}, "d": 3}
    assert dict(flat(below)) == {"a.b": 1, "a.c": 2, "d": 3}


def test_files_that_hold_no_tree(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    with pytest.raises(ValueError, match=r"bad\.yaml: No such file or directory; expected a YAML file"):
        read_file(path)
    for content, message in (
        (b"a: [", "not a YAML file"),
        (b"[1, 2]", r"expected names and values, got \[1, 2\]"),
        (b"\xff\xfe\xfa", "it is not UTF-8"),
    ):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"bad\.yaml: .*{message}"):
            read_file(path)
    path.write_text("")
    assert read_file(path) == {}


def test_one_type_of_a_union_is_enough() -> None:
    assert convert(None, int | None, "x") is None
    assert convert([1], list[int] | None, "x") == [1]


def test_nesting_is_bounded() -> None:
    deep: Any = {}
    for _ in range(10):
        deep = {"a": [deep]}
    check_nesting(deep, 20)
    with pytest.raises(ValueError, match="expected at most 19 levels"):
        check_nesting(deep, 19)


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b" " * 3_000_000)
    with pytest.raises(ValueError, match="expected at most 131,072 letters, got 3,000,000 bytes"):
        read_file(tmp_path / "a.yaml")
