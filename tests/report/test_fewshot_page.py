from __future__ import annotations

import json
from pathlib import Path

from sampled_transformer.report.fewshot_page import chart, sections

RESULT = {
    "command": "sampled-transformer fewshot pre --data bricks",
    "weights": "<pre>",
    "data": "bricks",
    "way": 5,
    "shot": 10,
    "queries": 20,
    "figures": {"accuracy": {"mean": 0.85, "deviation": 0.05}},
    "folds": [{"fold": 0, "accuracy": 0.8, "seconds": 1}, {"fold": 1, "accuracy": 0.9, "seconds": 1}],
}


def test_every_fold_and_their_mean(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(json.dumps(RESULT))
    text = "".join(sections({"run": tmp_path}))
    assert "5-way 10-shot on bricks, 20 queries per class, 2 folds; weights &lt;pre&gt;." in text
    assert "85.00 %" in text
    assert "90.00 %" in text


def test_the_axis_goes_from_nothing_to_all() -> None:
    page = chart({"run": RESULT})
    [dots] = page.data
    assert list(dots.y) == [0.8, 0.9]
    assert page.layout.yaxis.range == (0, 1.02)


def test_several_runs_are_compared(tmp_path: Path) -> None:
    easier = {**RESULT, "way": 3, "figures": {"accuracy": {"mean": 0.95, "deviation": 0.02}}}
    for name, result in (("first", RESULT), ("second", easier), ("third", RESULT)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").write_text(json.dumps(result))
    text = "".join(sections({name: tmp_path / name for name in ("first", "second")}))
    for said in ("first, one pass", "second, one pass", "95.00 %", "3-way 10-shot", "The tasks are not the same"):
        assert said in text
    assert text.count("plotly.js v") == 1
    assert "The tasks" not in "".join(sections({name: tmp_path / name for name in ("first", "third")}))
    assert [line.name for line in chart({"first": RESULT, "second": easier}).data] == ["first", "second"]
