from __future__ import annotations

import numpy as np

from sampled_transformer.inference.review import Mistake
from sampled_transformer.report.answers import class_table, confusion, figure

MATRIX = [[3, 1, 0], [0, 0, 0], [2, 0, 2]]
CLASSES = ("<chair>", "sofa", "table")


def test_every_class_has_a_row() -> None:
    html = class_table(MATRIX, CLASSES)
    assert "<td>&lt;chair&gt;</td>" in html
    cells = [
        "".join(f'<td class="number">{cell}</td>' for cell in row)
        for row in (("4", "75.0 %", "60.0 %"), ("0", "-", "0.0 %"), ("4", "50.0 %", "100.0 %"))
    ]
    assert all(row in html for row in cells)


def test_the_matrix_has_shares_as_colours_and_counts_as_numbers() -> None:
    [heat] = confusion(MATRIX, CLASSES).data
    assert np.array(heat.z).tolist() == [[0.75, 0.25, 0], [0, 0, 0], [0.5, 0, 0.5]]
    assert np.array(heat.text).tolist() == [["3", "1", ""], ["", "", ""], ["2", "", "2"]]


def test_a_mistake_is_drawn_with_z_up() -> None:
    points = np.array([[0, -1.0, 0], [0, 1.0, 0]])  # one above the other, if -y is up
    html = figure(Mistake("part", "<a>", "b", 0.9, points, None, None), up="-y")
    assert "&lt;a&gt;" in html
    assert "(90 %)" in html
    heights = sorted(float(part.split('"')[0]) for part in html.split('cy="')[1:])
    assert heights[1] - heights[0] > 100
