from __future__ import annotations

import json
from pathlib import Path

import pytest

from sampled_transformer_lab import fuzz as subject
from sampled_transformer_lab.fuzz import attempt, fuzz, main, mutation
from sampled_transformer_lab.fuzz_seeds import KINDS, make_seeds

FOUND = Path(__file__).parents[1] / "data" / "fuzz"  # files that readers once did not survive: kind-digest.suffix


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[bytes]]:
    return make_seeds(tmp_path_factory.mktemp("seeds"))


def test_mutations_follow_from_seed_and_number(seeds: dict[str, list[bytes]]) -> None:
    assert [mutation(seeds, 1, number) for number in range(40)] == [mutation(seeds, 1, number) for number in range(40)]
    assert mutation(seeds, 1, 3) != mutation(seeds, 2, 3)
    assert {mutation(seeds, 0, number)[0] for number in range(len(KINDS))} == set(KINDS)


def test_two_thousand_mutated_files(seeds: dict[str, list[bytes]], tmp_path: Path) -> None:
    """In this process, where it is fast; `make fuzz` reads hundreds of thousands in a watched one."""
    problems = {}
    for number in range(2000):
        kind, data = mutation(seeds, 7, number)
        outcome = attempt(kind, data, tmp_path)
        if outcome.startswith("failed"):
            problems[kind, number] = outcome
    assert problems == {}


@pytest.mark.parametrize("path", sorted(path for path in FOUND.glob("*.*")), ids=lambda path: path.name)
def test_what_was_found_once_is_survived(path: Path, tmp_path: Path) -> None:
    assert attempt(path.name.partition("-")[0], path.read_bytes(), tmp_path).startswith(("read", "refused"))


def test_outcomes(tmp_path: Path) -> None:
    assert attempt("xyz", b"0 0 0\n1 1 1\n2 0 1\n", tmp_path) == "read"
    assert attempt("xyz", b"nonsense", tmp_path).startswith("refused: ")
    assert list(tmp_path.iterdir()) == []


def test_a_watched_process_reads_a_few(tmp_path: Path) -> None:
    result = fuzz(30, seed=0, keep=tmp_path / "found", seconds=30)
    assert result["count"] == 30
    assert sum(sum(kind.values()) for kind in result["kinds"].values()) == 30
    assert result["findings"] == []


def test_findings_are_kept_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    problems = iter(["read", "failed: TypeError: no", "failed: took more than 5 s"])

    class Process:
        warm = True
        is_gone = False

        def __init__(self, *_: object) -> None: ...
        def __enter__(self) -> Process:
            return self

        def __exit__(self, *_: object) -> None: ...
        def answer(self, seconds: float) -> str:
            found = next(problems)
            self.is_gone = "took" in found
            return found

    monkeypatch.setattr(subject, "Watched", Process)
    out = tmp_path / "fuzz.json"
    assert main(["--count", "3", "--out", str(out), "--keep", str(tmp_path / "found")]) == 1
    result = json.loads(out.read_text("utf-8"))
    assert [one["problem"] for one in result["findings"]] == ["TypeError: no", "took more than 5 s"]
    assert sorted(path.name for path in (tmp_path / "found").iterdir()) == sorted(
        one["file"] for one in result["findings"]
    )
