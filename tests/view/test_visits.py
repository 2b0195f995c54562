from __future__ import annotations

import time
import uuid
import weakref

import pytest
from helpers.visits import hello, send, visit
from viser import _messages
from websockets.exceptions import InvalidStatus

from sampled_transformer.view.server import COOKIE
from sampled_transformer.view.visits import Visits

CLOUD = b"0 0 0\n1 0 0\n0 1 0\n0 0 1\n1 1 0\n0 1 1\n"


def upload(visits: Visits, name: str, content: bytes, size: int | None = None) -> str:
    """Upload a file as the page does; returns what the visitor is told and shown."""
    with visit(visits) as (visitor, connection):
        [button] = [
            handle
            for handle in visitor.client.gui._gui_input_handle_from_uuid.values()
            if type(handle).__name__ == "GuiUploadButtonHandle"
        ]
        before = visitor.status.content, visitor.about.content
        number, source = str(uuid.uuid4()), button._impl.uuid
        size = len(content) if size is None else size
        send(connection, _messages.FileTransferStartUpload(source, number, name, "text/plain", 1, size))
        send(connection, _messages.FileTransferPart(source, number, 0, content))
        end = time.monotonic() + 60
        while time.monotonic() < end:
            now = visitor.status.content, visitor.about.content
            if now != before and "Reading" not in now[0]:
                return "".join(now)
            time.sleep(0.05)
    raise AssertionError("nothing happened")


def test_an_upload_arrives(visits: Visits) -> None:
    assert "cloud.xyz: 6 points" in upload(visits, "cloud.xyz", CLOUD)


def test_a_broken_upload_is_a_message(visits: Visits) -> None:
    assert "broken.xyz" in upload(visits, "broken.xyz", b"a b c\n")


def test_an_upload_that_is_too_large_is_a_message(visits: Visits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visits.server, "largest", 2**20)
    assert "file too large: expected at most 1 MB, got 3 MB" in upload(visits, "cloud.xyz", CLOUD, 3 * 2**20)


def test_from_elsewhere_only_visitors_with_the_token_come(visits: Visits) -> None:
    public = Visits(visits.page, "0.0.0.0", 0)
    try:
        with pytest.raises(InvalidStatus, match="403"):
            hello(public)
        hello(public, {"Cookie": f"{COOKIE}={public.server.token}"}).close()
    finally:
        public.stop()


def test_an_upload_is_not_kept(visits: Visits) -> None:
    with visit(visits) as (visitor, _):
        button = type("Button", (), {})()
        button.value = type("File", (), {"name": "cloud.xyz", "content": CLOUD})()
        button._impl = button
        with visitor.lock:
            visitor._take(button)
            assert visitor.item is not None
            assert visitor.item.name == "cloud.xyz"
            assert button.value is None
            visitor._take(button)  # the second event of two quick uploads finds nothing


def test_a_refusal_reaches_a_visitor_whose_page_is_not_complete(visits: Visits) -> None:
    with visit(visits) as (visitor, _):
        told: list[str] = []
        client = type("Client", (), {"client_id": -1, "add_notification": lambda self, *words, **_: told.extend(words)})
        visits._refuse(client(), "too large")
        assert told == ["Sorry", "too large"]
        visits._refuse(visitor.client, "too large")
        assert "too large" in visitor.status.content


def test_visitors_who_have_left_are_forgotten(visits: Visits) -> None:
    with visit(visits) as (visitor, _):
        own = weakref.ref(visitor)
        del visitor
    end = time.monotonic() + 60
    while own() is not None and time.monotonic() < end:
        time.sleep(0.05)
    assert own() is None
    assert visits.server.uploads == {}
