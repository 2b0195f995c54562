"""Which runs a study has, in which order, and which of its rows are compared."""

from __future__ import annotations

from sampled_transformer_lab.study import Row, Study


def test_first_seeds_come_first() -> None:
    study = Study("Tiny", {"basic-none": Row("train", 2), "basic-sampled": Row("train")})
    assert study.runs() == [("basic-none", 0), ("basic-sampled", 0), ("basic-none", 1)]


def test_our_rows_are_compared_with_all_others_or_with_their_namesakes() -> None:
    rows = {name: Row("train") for name in ("a-1", "b-1", "a-2", "c-2")}
    assert Study("", rows).pairs() == []
    assert Study("", rows, ours="a-1").pairs() == [("a-1", "b-1"), ("a-1", "a-2"), ("a-1", "c-2")]
    paired = Study("", rows, ours="a-", rival="b-", versus=[("a-2", "c-2")])
    assert paired.pairs() == [("a-1", "b-1"), ("a-2", "c-2")]


def test_a_study_needs_a_folder_of_data_if_a_row_reads_one() -> None:
    assert Study("", {"a": Row("train"), "b": Row("train --data.root {root}")}).needs_root
    assert not Study("", {"a": Row("train")}).needs_root
