"""A run made anew agrees if it is equal, or as close as another seed; otherwise it differs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from sampled_transformer_lab.check import (
    LIMIT,
    agree_together,
    compare,
    measured,
    read_kept,
    seed_deviations,
    shift,
    summary,
)
from sampled_transformer_lab.reproduce import result_file, write_result
from sampled_transformer_lab.study import Row, Study


def result(accuracy: float, seconds: float = 1.0, **more: Any) -> dict[str, Any]:
    figures = {"last epoch": {"test_accuracy": accuracy, "seconds": seconds, "train_loss": 1.0}}
    return {"command": "train", "figures": figures, "seconds": seconds, **more}


def test_circumstances_do_not_count() -> None:
    assert measured(result(0.5, 1.0)) == measured(result(0.5, 2.0, machine={"cores": 9}))
    assert measured(result(0.5)) != measured(result(0.5001))
    probe = {"command": "probe", "test_accuracy": 0.5, "seconds": 3, "penalty": 0.1}
    assert measured(probe) == {"test_accuracy": 0.5, "penalty": 0.1}


def test_the_noise_of_seeds_is_pooled_over_rows(tmp_path: Path) -> None:
    study = Study("", {"a": Row("", 3), "b": Row("", 2), "c": Row(""), "d": Row("", 2)})
    kept = {("a", 0): 0.70, ("a", 1): 0.72, ("a", 2): 0.74, ("b", 0): 0.5, ("b", 1): 0.52, ("c", 0): 0.9}
    for (row, seed), accuracy in kept.items():
        write_result(result_file(tmp_path, "mine", row, seed), result(accuracy), None)
    write_result(result_file(tmp_path, "mine", "d", 0), {"command": "", "figures": {"LL0": -1.5}}, None)
    # Squares about the means of a and b: 4 + 0 + 4 and 1 + 1, with 2 + 1 degrees of freedom; c and d have one seed.
    assert seed_deviations(tmp_path, "mine", study) == {"accuracy": pytest.approx(math.sqrt(10 / 3))}


def test_verdicts() -> None:
    kept, spread = result(0.70), {"accuracy": 1.0}
    equal = compare("a", kept, result(0.70, 5.0), spread)
    near = compare("a", kept, result(0.70 + 0.99 * LIMIT / 100), spread)
    far = compare("a", kept, result(0.70 - 1.01 * LIMIT / 100), spread)
    assert [one.agrees for one in (equal, near, far)] == [True, True, False]
    assert equal.line().endswith("difference +0.00 (allowed ± 4.24), agrees: all figures are equal")
    assert far.line().startswith("a: kept 70.00 %, new 65.71 %, difference -4.29 (allowed ± 4.24), DIFFERS")
    assert summary([equal, near, far], spread).startswith("2 of 3 rows agree. ")
    assert "between seeds (accuracy 1)" in summary([equal], spread)


def test_without_several_seeds_the_test_split_tells_the_noise() -> None:
    confusion = [[70, 0], [30, 0]]  # 100 shapes: sqrt(.7 * .3 / 100) is 4.58 points
    kept = result(0.70, confusion=confusion)
    assert compare("a", kept, result(0.70 + 0.045 * LIMIT), {}).agrees
    assert not compare("a", kept, result(0.70 + 0.047 * LIMIT), {}).agrees
    # Where nothing tells the noise, only equal figures agree.
    loss = {"figures": {"last epoch": {"train_loss": 1.0}}}
    assert compare("a", loss, loss, {}).agrees
    other = compare("a", loss, {"figures": {"last epoch": {"train_loss": 1.0001}}}, {})
    assert not other.agrees
    assert "kept loss 1.0000, new loss 1.0001, difference +0.0001 (allowed nothing), DIFFERS" in other.line()


def test_an_evaluation_without_training_must_be_equal_or_differ_by_rounding() -> None:
    row = Row("evaluate bricks", prints=True, seeded=False)
    confusion = [[70, 0], [30, 0]]
    here = {"machine": {"cores": 2}, "versions": {"torch": "2"}, "confusion": confusion}
    kept = result(0.70, **here)
    assert compare("a", kept, kept, {"accuracy": 1.0}, row).agrees
    near = compare("a", kept, result(0.704, **here), {"accuracy": 1.0}, row)
    assert not near.agrees  # on the same machine nothing may differ
    assert near.line().endswith("(allowed nothing), DIFFERS")
    for other in ({**here, "versions": {"torch": "3"}}, {"confusion": confusion}):
        moved = [compare("a", kept, result(value, **other), {"accuracy": 1.0}, row) for value in (0.704, 0.69)]
        assert [one.agrees for one in moved] == [True, False]
        assert moved[0].verdict == "agrees: within the rounding"
    assert summary([near], {}) == "0 of 1 rows agree. A row agrees if all its figures are equal."
    # Networks that were trained anew are as noisy as their training.
    asked = Row("evaluate {runs}/b-seed{seed}", after="b", prints=True, seeded=False)
    assert compare("a", kept, result(0.70 + 0.99 * LIMIT / 100, **here), {"accuracy": 1.0}, asked).agrees


def test_a_shift_of_all_rows_is_found() -> None:
    spread = {"accuracy": 1.0}
    rows = [compare(str(n), result(0.70), result(0.72), spread) for n in range(8)]  # 2 points: less than 4.24 each
    assert all(one.agrees for one in rows)
    found = shift(rows)
    assert found is not None
    assert found == (pytest.approx(2.0), pytest.approx(3 * math.sqrt(2 / 8)))
    assert not agree_together(rows)
    assert summary(rows, spread).endswith("Mean shift of the trained rows: +2 (allowed ± 1.5), DIFFERS.")
    both_ways = [compare(str(n), result(0.70), result(0.72 if n % 2 else 0.68), spread) for n in range(8)]
    assert agree_together(both_ways)
    assert shift(rows[:1]) is None
    assert agree_together(rows[:1])


def test_a_result_to_compare_with_is_needed(tmp_path: Path) -> None:
    path = result_file(tmp_path, "mine", "a", 0)
    with pytest.raises(ValueError, match=r"a-seed0\.json: expected a result to compare with, got no such file"):
        read_kept(tmp_path, "mine", [("a", 0)])
    write_result(path, result(0.5), None)
    assert read_kept(tmp_path, "mine", [("a", 0)]) == {"a": json.loads(path.read_text())}
