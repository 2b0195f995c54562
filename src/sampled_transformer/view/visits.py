"""Serve the live page: a `Visitor` for every browser that comes, until it leaves."""

from __future__ import annotations

import gc
import threading

import viser

from ..support.memory import give_back_memory
from .page import Page, open_page
from .server import LARGEST_UPLOAD, GuardedServer
from .visitor import Visitor

REST = 1.0  # seconds after a visitor has left in which others may leave before we tidy up
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
        self.tidying: threading.Timer | None = None
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
        with self.lock:
            if self.tidying is not None:
                self.tidying.cancel()

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
            self._tidy_soon()

    def _tidy_soon(self) -> None:
        """Tidy up in a moment, when viser has let go of the visitor, too; once for all who leave until then."""
        with self.lock:
            if self.tidying is None:
                self.tidying = threading.Timer(REST, self._tidy)
                self.tidying.daemon = True
                self.tidying.start()

    def _tidy(self) -> None:
        """Give back the memory of visitors. Their panels and viser's handles know each other, so that Python would keep
        them for a long time."""
        with self.lock:
            self.tidying = None
        gc.collect()
        give_back_memory()

    def _refuse(self, client: viser.ClientHandle, why: str) -> None:
        visitor = self.visitors.get(client.client_id)
        if visitor is not None:
            visitor.tell(why)
        else:  # his page is not complete yet
            client.add_notification("Sorry", why, color="red", auto_close_seconds=12)
