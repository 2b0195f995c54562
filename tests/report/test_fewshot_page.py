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
    text = "".join(sections("run", tmp_path))
    assert "5-way 10-shot on bricks, 20 queries per class; weights &lt;pre&gt;" in text
    assert "85.00 %" in text
    assert "90.00 %" in text


def test_the_axis_goes_from_nothing_to_all() -> None:
    page = chart(RESULT)
    [dots] = page.data
    assert list(dots.y) == [0.8, 0.9]
    assert page.layout.yaxis.range == (0, 1.02)
