"""The built documentation in a real browser, and its links; `make docs` builds it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from helpers.browser import DESKTOP, PHONE, browser, complaints, requests

pytestmark = pytest.mark.browser
SITE = Path(__file__).parents[2] / "site"


class Links(HTMLParser):
    """The places that a page leads to, and its own anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.places: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.places.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    if not (SITE / "index.html").is_file():
        pytest.skip("`make docs` builds the documentation first")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()


def test_no_link_is_dead(address: str) -> None:
    pages = {path: Links(path.read_text("utf-8")) for path in SITE.rglob("*.html") if path.name != "404.html"}
    assert len(pages) > 40
    dead = []
    for path, links in pages.items():
        for place in links.places:
            parts = urlsplit(place)
            if parts.scheme or parts.netloc or re.match(r"(data|javascript|mailto):", place):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            known = target.is_file() and (
                not parts.fragment or target not in pages or unquote(parts.fragment) in pages[target].anchors
            )
            if not known:
                dead.append(f"{path.relative_to(SITE)}: {place}")
    assert dead == []


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_pages_ask_nothing_of_the_outside(address: str, size: tuple[int, int]) -> None:
    with browser(size) as driver:
        for name in ("", "guide/view/", "results/", "api/"):
            driver.get(address + name)
            assert complaints(driver) == [], name
            assert {urlsplit(one).netloc for one in requests(driver)} == {urlsplit(address).netloc}, name
            pictures = "return [...document.images].filter(one => one.complete && !one.naturalWidth).length"
            assert driver.execute_script(pictures) == 0, name
