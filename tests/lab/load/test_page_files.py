"""Uploads of the load test follow from their number, and have every kind."""

from __future__ import annotations

from sampled_transformer.data.files import READERS
from sampled_transformer.view.server import LARGEST_UPLOAD
from sampled_transformer_lab.load.page_files import BROKEN, EMPTY, GOOD, LARGE, TOO_LARGE, UNKNOWN, make_upload

SEEDS = {"xyz": [b"0 0 0\n1 1 1\n0 1 0\n"], "off": [b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"]}


def test_every_kind_comes_and_the_same_again() -> None:
    uploads = [make_upload(number, SEEDS) for number in range(100)]
    assert {one.kind for one in uploads} == {GOOD, LARGE, BROKEN, UNKNOWN, EMPTY, TOO_LARGE}
    assert make_upload(17, SEEDS) == uploads[17]
    for one in uploads:
        if one.kind == GOOD:
            assert one.content in SEEDS[one.suffix[1:]]
        if one.kind == UNKNOWN:
            assert one.suffix not in READERS
        if one.kind == TOO_LARGE:
            assert one.claimed > LARGEST_UPLOAD
        else:
            assert one.claimed == len(one.content)
        if one.kind == EMPTY:
            assert one.content == b""
