from __future__ import annotations

from pathlib import Path

from sampled_transformer.report.facts import facts


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
    assert "1,234 s; torch 2.13; cores 2" in text
    assert "note: &lt;b&gt;" in text


def test_what_is_not_known_is_not_said() -> None:
    text = "".join(facts({"run": {}}, {}))
    assert "<code>" not in text
    assert "Configuration" not in text
