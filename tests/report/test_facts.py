from __future__ import annotations

from pathlib import Path

import pytest

from sampled_transformer.report.facts import configuration_of, duration, facts, made_now
from sampled_transformer.weights import find_weights


def test_command_versions_machine_and_configuration(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("note: <b>\n")
    result = {
        "command": "train --data '<x>'",
        "seconds": 1234.5,
        "versions": {"torch": "2.13"},
        "machine": {"cores": 2},
    }
    text = "".join(facts({"run": result}, {"run": tmp_path}))
    assert "train --data &#x27;&lt;x&gt;&#x27;" in text
    assert "21 min; torch 2.13; cores 2" in text
    assert "note: &lt;b&gt;" in text


def test_an_evaluation_shows_the_network_and_no_folders() -> None:
    found = configuration_of(find_weights("bricks"))
    assert found["options"]["attention"] == "sampled"
    assert found["data"]["source"] == "bricks"
    assert "root" not in found["data"]
    made = made_now("evaluate", 0.01, find_weights("bricks"))
    text = "".join(facts({"run": made}, {}))
    assert "<summary>Configuration</summary><pre>model: basic" in text
    assert "0.1 s; sampled_transformer" in text


def test_a_benchmark_shows_its_plan() -> None:
    assert "<pre>batch: 8" in "".join(facts({"bench": {"plan": {"batch": 8}}}, {}))


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.001, "0.1 s"), (9.84, "9.8 s"), (599, "599 s"), (600, "10 min"), (7300, "2 h 2 min")]
)
def test_durations_are_for_readers(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_what_is_not_known_is_not_said() -> None:
    text = "".join(facts({"run": {}}, {}))
    assert "<code>" not in text
    assert "Configuration" not in text
