"""The shipped weights of parts without normals."""

from sampled_transformer_lab.without_normals import compare


def test_normals_matter_and_estimated_ones_are_no_substitute() -> None:
    found = compare(parts=6)
    figures = {name: one["mean_iou"] for name, one in found["normals"].items()}
    assert list(figures) == ["true", "none", "estimated", "sided"]
    assert found["points"] == 6 * 1024
    assert figures["true"] > max(figures["none"], figures["estimated"], figures["sided"])
    assert 0 < found["within_20_degrees"] < 1
    assert 0.5 < found["same_side"] < 1
