"""Visits of the live page without a browser: a websocket that says hello as viser's page does."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import msgspec
import viser
from viser import _messages
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from sampled_transformer.view.visitor import Visitor
from sampled_transformer.view.visits import Visits


def send(connection: ClientConnection, message: _messages.Message) -> None:
    """Send a message as the page does."""
    connection.send(msgspec.msgpack.encode(message.as_serializable_dict([])))


def hello(visits: Visits, headers: dict[str, str] | None = None) -> ClientConnection:
    """A connection that has said where its camera is."""
    place = f"ws://127.0.0.1:{urlsplit(visits.address).port}/"
    names: Any = [f"viser-v{viser.__version__}"]
    connection = connect(place, subprotocols=names, additional_headers=headers, max_size=None)
    camera = (1.0, 0.0, 0.0, 0.0), (3.0, 3.0, 3.0), 1.0, 0.1, 100.0, 600, 800, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)
    send(connection, _messages.ViewerCameraMessage(*camera))
    return connection


@contextmanager
def visit(visits: Visits, seconds: float = 60) -> Iterator[tuple[Visitor, ClientConnection]]:
    """A visitor, as soon as his page is complete, and his connection."""
    known = set(visits.visitors)
    connection = hello(visits)
    reader = threading.Thread(target=_read, args=(connection,), daemon=True)
    reader.start()
    try:
        end = time.monotonic() + seconds
        while not (new := set(visits.visitors) - known):
            assert time.monotonic() < end, "the visitor never came"
            time.sleep(0.02)
        visitor = visits.visitors[new.pop()]
        with visitor.lock:  # until he has been shown something
            pass
        yield visitor, connection
    finally:
        connection.close()


def _read(connection: ClientConnection) -> None:
    with suppress(ConnectionClosed):
        for _ in connection:
            pass
