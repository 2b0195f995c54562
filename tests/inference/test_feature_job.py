"""Features in parts: the columns of a feature file, also if no file of a part can be read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.trained import save_small

from sampled_transformer.engine.job import Failure
from sampled_transformer.inference.feature_job import FeatureQuestion, feature_job
from sampled_transformer.inference.trained_network import load

pytest.importorskip("pyarrow")


@pytest.mark.parametrize("per_point", [False, True])
def test_rows_are_those_of_the_network(per_point: bool, tmp_path: Path) -> None:
    np.savetxt(tmp_path / "a.xyz", np.random.default_rng(0).normal(size=(20, 3)))
    weights, names = str(save_small(tmp_path / "w.safetensors")), [str(tmp_path / "a.xyz"), "none.off"]
    job = feature_job(FeatureQuestion(weights, per_point, layer=0, samples=2))
    found = job.actor()(names, lambda _: None)
    assert found[1] == Failure("none.off: No such file or directory")
    table = job.table(list(zip(names, found, strict=True)))
    expected = load(weights).features(names[0], per_point=per_point, layer=0, samples=2)
    values = np.stack(
        [
            column.to_numpy()
            for name, column in zip(table.column_names, table, strict=True)
            if name[0] == "f" and name != "file"
        ],
        1,
    )
    np.testing.assert_array_equal(values, expected.features if per_point else expected[None])
    assert set(table["file"].to_pylist()) == {names[0]}
    empty = job.table([("none.off", found[1])])
    assert empty.num_rows == 0
    assert empty.schema == table.schema
    assert job.settings["layer"] == "blocks.0"


def test_what_cannot_work_is_refused(tmp_path: Path, regressor: Path) -> None:
    weights = str(save_small(tmp_path / "w.safetensors"))
    with pytest.raises(ValueError, match="layer: expected"):
        feature_job(FeatureQuestion(weights, layer=9))
    with pytest.raises(ValueError, match="shard: expected at least 1, got 0"):
        feature_job(FeatureQuestion(weights), shard=0)
    with pytest.raises(ValueError, match="up: expected an axis"):
        feature_job(FeatureQuestion(str(regressor), up="auto"))
