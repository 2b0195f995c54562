"""Serve the live page: a `Visitor` for every browser that comes, until it leaves."""

from __future__ import annotations

import gc
import threading

import viser

from ..support.memory import give_back_memory
from .page import Page, open_page
from .server import LARGEST_UPLOAD, GuardedServer
from .visitor import Visitor

__all__ = ["Visits", "open_page"]


class Visits:
    """The running page.

    Args:
        page: What all visitors share.
        host: Address to bind to.
        port: Port to bind to, or the next free one after it; 0 takes any.
        largest: Most bytes of an upload.
    """

    def __init__(self, page: Page, host: str = "127.0.0.1", port: int = 8080, largest: int = LARGEST_UPLOAD) -> None:
        self.page = page
        self.visitors: dict[int, Visitor] = {}
        self.lock = threading.Lock()
        self.server = GuardedServer(host, port, largest)
        self.server.on_client_connect(self._come)
        self.server.on_client_disconnect(self._leave)

    @property
    def address(self) -> str:
        """What to open in the browser."""
        return self.server.address

    def stop(self) -> None:
        """End the page."""
        self.server.stop()

    def _come(self, client: viser.ClientHandle) -> None:
        self.server.limit_uploads(client, self._refuse)
        visitor = Visitor(self.page, client)
        with visitor.lock:
            with self.lock:  # before the first shape, which takes a while: he may upload something by then
                self.visitors[client.client_id] = visitor
            visitor.begin()
        if client.client_id not in self.server.get_clients():  # who leaves at once leaves before he is known
            self._leave(client)

    def _leave(self, client: viser.ClientHandle) -> None:
        self.server.forget_uploads(client)
        with self.lock:
            visitor = self.visitors.pop(client.client_id, None)
        if visitor is not None:
            visitor.leave()
            del visitor
            # His panels and viser's handles know each other, so that Python would keep them for a long time.
            gc.collect()
            give_back_memory()

    def _refuse(self, client: viser.ClientHandle, why: str) -> None:
        visitor = self.visitors.get(client.client_id)
        if visitor is not None:
            visitor.tell(why)
        else:  # his page is not complete yet
            client.add_notification("Sorry", why, color="red", auto_close_seconds=12)
