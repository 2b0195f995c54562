from __future__ import annotations

import pytest

from sampled_transformer.support.registry import UnknownOptionError, check_options, did_you_mean, listing, look_up

MANY = {f"{family}-{number}": number for family in ("basic", "set-transformer") for number in range(10)}


def test_a_known_name_is_found() -> None:
    assert look_up("model", "a", {"a": 1, "b": 2}) == 1


def test_an_unknown_name_lists_the_few_names_and_the_likely_one() -> None:
    with pytest.raises(ValueError, match=r"^model: expected one of basic, mae, got 'basik'; did you mean 'basic'\?$"):
        look_up("model", "basik", {"mae": 1, "basic": 2})
    with pytest.raises(ValueError, match=r"^model: expected one of basic, mae, got 'zzz'$"):
        look_up("model", "zzz", {"mae": 1, "basic": 2})


def test_of_many_names_the_likely_one_comes_first_and_then_their_families() -> None:
    message = r"^recipe: expected one of 20 names, got 'basic-33'; did you mean 'basic-3'\? "
    with pytest.raises(ValueError, match=message + r"\(basic-\*, set-transformer-\*\)$"):
        look_up("recipe", "basic-33", MANY)


def test_long_lists_are_cut() -> None:
    assert listing(["only", *MANY, "basic"]) == "only, basic, basic-*, set-transformer-*"
    assert listing(f"name{number:02}" for number in range(30)).endswith("name15, and 14 more")


def test_options_that_do_not_exist_are_refused_with_the_likely_name() -> None:
    check_options("the mechanism 'sampled'", {"samples": 3}, ["samples", "cycles"])
    with pytest.raises(
        ValueError,
        match=r"^options: expected an option of the mechanism 'sampled' \(cycles, samples\), got 'sample'; "
        r"did you mean 'samples'\?$",
    ) as caught:
        check_options("the mechanism 'sampled'", {"sample": 3}, ["samples", "cycles"])
    assert isinstance(caught.value, UnknownOptionError)
    assert caught.value.name == "sample"


def test_names_from_files_are_cut_and_escaped() -> None:
    for name in ("z" * 10**6, "\x1b]0;x\x07" * 1000):
        for call in (
            lambda name=name: look_up("model", name, MANY),
            lambda name=name: check_options("x", [name], MANY),
        ):
            with pytest.raises(ValueError, match=r"got '.+\.\.\.") as caught:
                call()
            assert len(str(caught.value)) < 500
            assert str(caught.value).isprintable()


def test_no_guess_where_nothing_is_close() -> None:
    assert did_you_mean("zzz", ["basic"]) == ""
    assert did_you_mean("--recepie", ["--recipe", "--root"], quote="") == "; did you mean --recipe?"
