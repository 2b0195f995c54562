"""Pages: self-contained HTML."""

import builtins

import pytest

from sampled_transformer.report.page import as_html, document, graph_objects, table


def test_the_title_is_escaped_and_the_body_is_not() -> None:
    page = document("<mine> & yours", ["<h1>", "kept", "</h1>"])
    assert page.startswith("<!doctype html>")
    assert "<title>&lt;mine&gt; &amp; yours</title>" in page
    assert "<h1>kept</h1>" in page


def test_only_the_first_figure_carries_the_script() -> None:
    figure = graph_objects().Figure()
    figure.add_scatter(x=[1, 2], y=[3, 4], name="needle")
    with_script, without = as_html(figure, script=True), as_html(figure)
    assert len(with_script) > 1_000_000 > len(without)
    assert "needle" in without
    for html in (with_script, without):
        assert '<script src="' not in html  # it must work offline
        assert "<html" not in html


def test_without_plotly_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name, *rest, **options):
        if name.startswith("plotly"):
            raise ModuleNotFoundError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ValueError, match=r'pip install "sampled-transformer\[report\]"'):
        graph_objects()


def test_pages_are_for_light_and_dark_and_for_phones() -> None:
    page = document("page", [])
    assert "prefers-color-scheme: dark" in page
    assert "width=device-width" in page


def test_a_wide_figure_is_scrolled_and_others_fit_the_page() -> None:
    figure = graph_objects().Figure()
    figure.update_layout(width=900)
    assert "min-width:700px" in as_html(figure, least_width=700)
    assert figure.layout.width is None


def test_the_title_of_a_figure_is_a_heading() -> None:
    figure = graph_objects().Figure(layout={"title": "a < b", "height": 300})
    assert as_html(figure).startswith("<h3>a &lt; b</h3>")


def test_a_legend_leaves_a_phone_its_width() -> None:
    figure = graph_objects().Figure()
    as_html(figure)
    assert figure.layout.legend.orientation == "h"


def test_tables_escape_everything() -> None:
    assert table(("<run>", "a"), [("<b>", "1")]) == (
        '<div class="wide"><table><thead><tr><th>&lt;run&gt;</th><th class="number">a</th></tr></thead>'
        '<tbody><tr><td>&lt;b&gt;</td><td class="number">1</td></tr></tbody></table></div>'
    )
