from __future__ import annotations

import pytest
import torch

from sampled_transformer.models.mae.mask import draw_mask, masked_count


@pytest.mark.parametrize(
    ("groups", "ratio", "count"), [(64, 0.7, 44), (64, 0.6, 38), (10, 0.7, 7), (2, 0.5, 1), (64, 0.98, 62)]
)
def test_the_number_of_masked_groups(groups: int, ratio: float, count: int) -> None:
    assert masked_count(groups, ratio) == count
    visible, masked = draw_mask(5, groups, ratio)
    assert masked.shape == (5, count)
    everything = torch.cat([visible, masked], 1).sort(1).values
    assert torch.equal(everything, torch.arange(groups).expand(5, -1))


@pytest.mark.parametrize("ratio", [0, 1, -0.1, 1.5, float("nan")])
def test_ratios_that_are_none(ratio: float) -> None:
    with pytest.raises(ValueError, match="mask_ratio: expected more than 0 and less than 1"):
        masked_count(64, ratio)


@pytest.mark.parametrize(("groups", "ratio"), [(64, 0.01), (1, 0.5), (3, 0.3)])
def test_at_least_one_visible_and_one_masked_group(groups: int, ratio: float) -> None:
    with pytest.raises(ValueError, match="mask_ratio: expected at least one visible and one masked group, got 0"):
        masked_count(groups, ratio)
    assert masked_count(64, 0.999) == 63


def test_masks_are_uniform_and_those_of_the_generator() -> None:
    generator = torch.Generator().manual_seed(1)
    _, masked = draw_mask(4000, 8, 0.25, generator)
    share = torch.bincount(masked.flatten(), minlength=8) / 8000
    assert (share - 1 / 8).abs().max() < 0.02
    assert torch.equal(masked, draw_mask(4000, 8, 0.25, generator.manual_seed(1))[1])
    assert not torch.equal(masked[:8], draw_mask(8, 8, 0.25, generator.manual_seed(2))[1])
