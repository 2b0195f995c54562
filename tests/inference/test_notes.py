from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from sampled_transformer.cli import main
from sampled_transformer.inference.notes import Section, data_source
from sampled_transformer.weights import Description, WeightsError, find_weights


def described(**notes: Any) -> Description:
    return Description("basic", {"classes": 3}, (), notes)


def test_values_of_the_right_type() -> None:
    section = Section(described(data={"source": "bricks", "points": 4}), "data", "weights")
    assert (section.text("source"), section.number("points"), section.text("root")) == ("bricks", 4.0, None)
    assert not Section(described(), "data", "weights")
    assert data_source(described(data={"source": "a", "root": "b"}), "weights") == ("a", "b")


@pytest.mark.parametrize(
    ("notes", "message"),
    [
        ({"data": [1]}, "weights: expected names and values in its note data, got"),
        ({"data": {"source": 3}}, "weights: expected text in its note data.source, got 3"),
        ({"data": {"root": ["x"]}}, "weights: expected text in its note data.root"),
        ({"data": {"source": {"\x1b]0;x\x07": "y" * 1000}}}, "expected text in its note data.source"),
    ],
)
def test_other_values_are_named_in_one_line(notes: dict[str, Any], message: str) -> None:
    with pytest.raises(WeightsError, match=message) as error:
        data_source(described(**notes), "weights")
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 200


def test_true_is_no_number() -> None:
    with pytest.raises(WeightsError, match=r"expected a number in its note figures\.test_accuracy, got True"):
        Section(described(figures={"test_accuracy": True}), "figures", "weights").number("test_accuracy")


WRONG: list[Any] = [[], [1], {"a": {"b": []}}, "text", 3, -1.5, True, float("nan"), 10**19, "\x1b[2J"]


@pytest.mark.parametrize("key", ["data", "figures", "calibration", "familiarity", "regression", "robustness", "recipe"])
def test_no_note_can_do_more_than_end_a_command(tmp_path: Path, key: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The shipped weights with each note replaced by values of every type, also one level below."""
    tensors = load_file(find_weights("bricks"))
    (tmp_path / "a.xyz").write_text("\n".join(f"{i % 7} {i % 5} {i % 3}" for i in range(300)))
    inner = {
        "data": ["source", "points", "preset", "up", "corruptions", "root"],
        "figures": ["test_accuracy", "test_r2"],
    }
    names = inner.get(
        key, ["temperature", "shapes", "energy", "alarms", "name", "mean", "deviation", "clean", "curves"]
    )
    path = tmp_path / "model.safetensors"
    options = {"attention": "sampled", "batch_norm": True, "classes": 18, "normals": True}
    for value in [*WRONG, *(dict.fromkeys(names, one) for one in WRONG)]:
        metadata = {
            "format": "sampled-transformer 1",
            "model": "basic",
            "options": json.dumps(options),
            "classes": json.dumps([f"class\x1b]0;{n}\x07" for n in range(18)]),
            "notes": json.dumps({key: value}),
        }
        save_file({name: tensors[name] for name in tensors}, path, metadata)
        ask = ["predict", str(tmp_path / "a.xyz"), "--samples", "1", "--weights", str(path)]
        asked = key in ("data", "calibration", "regression") and isinstance(value, dict)
        for words in (["weights", "info", str(path)], ask)[: 1 + asked]:
            status = main(words)
            said = capsys.readouterr()
            assert status in (0, 1, 2), (value, said.err)
            shown = (said.out + said.err).replace("\n", "")
            assert shown.isprintable(), (value, shown)
            if status == 2:
                assert said.err.count("\n") == 1
                assert "model.safetensors: " in said.err
