"""The page of a benchmark shows every table as a chart."""

from __future__ import annotations

import re
from dataclasses import replace

from sampled_transformer_lab.bench.page import page
from sampled_transformer_lab.bench.setting import Setting
from sampled_transformer_lab.bench.study import Plan, run
from sampled_transformer_lab.bench.tables import milliseconds


def test_a_chart_for_each_table_and_a_line_for_each_row() -> None:
    plan = Plan(
        points=(16, 32),
        mechanisms=("sampled", "dense"),
        levels=("core",),
        passes=("forward", "both"),
        setting=Setting(batch=1, heads=2, head_dim=4),
        repeats=1,
        memory=False,
    )
    result = run(plan) | {"command": "sampled-transformer bench <now>"}
    text = page(result)
    assert text.count("<h2>core, forward</h2>") == text.count("<h2>core, forward and backward</h2>") == 1
    for entry in result["exponents"]:
        assert f"{entry['mechanism']} ({entry['exponent']:.2f})" in text
    assert "bench &lt;now&gt;" in text
    assert text.count("<h3>") == text.count("<table>") == 2
    numbers = re.findall(r"<td class=\"number\">([^<]*)</td>", text)
    for entry in result["times"]:
        assert any(number.startswith(milliseconds(entry["seconds"])) for number in numbers), entry
    assert sum(number.endswith("(1.00)") for number in numbers) >= 4  # sampled attention beside itself
    assert text.count("<script") >= 2
    assert 'src="http' not in text


def test_memory_has_charts_of_its_own() -> None:
    plan = Plan(points=(16,), mechanisms=("sampled",), levels=("core",), setting=Setting(1, 2, 4), times=False)
    result = run(replace(plan)) | {"command": ""}
    assert "<h2>core: kept for the backward pass</h2>" in page(result)
