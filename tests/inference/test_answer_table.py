from __future__ import annotations

import csv

from sampled_transformer.inference.answer_table import AnswerTable
from sampled_transformer.inference.answers import Answer, Measurement


def answer(file: str, *names: str) -> Answer:
    rows = [{"class": name, "probability": 0.5, "spread": 0.1} for name in names]
    return Answer(file, rows, ["one note", "another"], up="y", familiar=True, strangeness=0.25, weights="one")


def test_files_without_an_answer_wait_for_the_columns() -> None:
    table = AnswerTable()
    assert table.add(Answer("bad.off", error="bad.off: empty file")) == ""
    text = table.add(answer("good, really.off", "chair", "table"))
    text += table.add(Answer("worse.off", error="worse.off: damaged"))
    assert table.rest() == ""
    rows = list(csv.reader(text.splitlines()))
    assert rows[0] == [
        *("file", "class", "probability", "spread", "class_2", "probability_2", "spread_2"),
        *("familiar", "strangeness", "weights", "up", "notes", "error"),
    ]
    assert rows[1] == ["bad.off", *[""] * 11, "bad.off: empty file"]
    assert rows[2] == [
        *("good, really.off", "chair", "0.5", "0.1", "table", "0.5", "0.1", "True", "0.25", "one", "y"),
        *("one note; another", ""),
    ]
    assert rows[3][-1] == "worse.off: damaged"
    assert len(rows) == 4


def test_numbers_have_a_column_of_their_name() -> None:
    rows = list(csv.DictReader(AnswerTable().add(Measurement("a.off", "mass in g", 1.5, 0.25)).splitlines()))
    assert (rows[0]["mass in g"], rows[0]["spread"]) == ("1.5", "0.25")


def test_only_failures_and_nothing_at_all() -> None:
    table = AnswerTable()
    assert table.rest() == ""
    table.add(Answer("bad.off", error="bad.off: empty file"))
    header, row = csv.reader(table.rest().splitlines())
    assert (header[0], header[-1]) == ("file", "error")
    assert row[-1] == "bad.off: empty file"
