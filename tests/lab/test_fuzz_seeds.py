from __future__ import annotations

from pathlib import Path

from sampled_transformer.data.files import READERS
from sampled_transformer_lab.fuzz import attempt
from sampled_transformer_lab.fuzz_seeds import KINDS, make_seeds


def test_every_seed_is_a_file_that_its_reader_reads(tmp_path: Path) -> None:
    seeds = make_seeds(tmp_path / "seeds")
    assert seeds.keys() == KINDS.keys()
    for kind, files in seeds.items():
        assert files
        for number, data in enumerate(files):
            assert attempt(kind, data, tmp_path) == "read", (kind, number)


def test_every_reader_has_seeds() -> None:
    assert {kind.suffix for kind in KINDS.values()} >= set(READERS)
