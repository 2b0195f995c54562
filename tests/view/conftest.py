"""A live page with a small network, for tests without a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.trained import save_small

from sampled_transformer.view.page import Page, open_page
from sampled_transformer.view.shapes import load_shelf
from sampled_transformer.view.visits import Visits


def small_page(folder: Path, kind: str) -> Page:
    """A page with a new network of a kind and the embedded parts."""
    weights = str(save_small(folder / f"{kind}.safetensors", kind))
    page = open_page(weights)
    page.shelf = load_shelf("bricks")
    return page


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visits]:
    """A running page of a classifier with two layers."""
    running = Visits(small_page(tmp_path_factory.mktemp("page"), "basic"), port=0)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def rebuilding(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visits]:
    """A running page of a masked autoencoder."""
    running = Visits(small_page(tmp_path_factory.mktemp("page"), "mae"), port=0)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def clustering() -> Iterator[Visits]:
    """A running page of the shipped network for clustering."""
    running = Visits(open_page("mixtures"), port=0)
    yield running
    running.stop()
