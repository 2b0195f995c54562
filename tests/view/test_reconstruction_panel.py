from __future__ import annotations

from helpers.visits import visit

from sampled_transformer.view.visits import Visits


def test_the_slider_masks_more_or_less(rebuilding: Visits) -> None:
    with visit(rebuilding) as (visitor, _):
        panel = visitor.rebuilt
        assert panel is not None
        assert visitor.answer is None
        usual = float(rebuilding.page.trained.network.mask_ratio)  # type: ignore[arg-type]
        for ratio, said in ((0.25, "2 of 8 groups masked"), (0.75, "6 of 8 groups masked")):
            panel.ratio.value = ratio
            panel.show()
            assert said in panel.said.content
        assert rebuilding.page.trained.network.mask_ratio == usual
        first = visitor.drawing.handles["rebuilt"][0].points.copy()
        panel.draw_mask()
        second = visitor.drawing.handles["rebuilt"][0].points
        assert first.shape != second.shape or (first != second).any()
