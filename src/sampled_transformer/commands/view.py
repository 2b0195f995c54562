"""The command `view`."""

from __future__ import annotations

import time
from typing import Any


def view(
    shown: str | None = None,
    weights: str | None = None,
    root: str | None = None,
    host: str = "127.0.0.1",
    port: int = 8080,
    open: bool = True,
    device: str | None = None,
) -> None:
    """Open a live page in the browser: shapes, answers, and whom each point attends to.

    Args:
        shown: A mesh or cloud, a pack, the name of a data set, a run, or weights (default: the embedded parts).
        weights: The network: the folder of a run, a weights file, or the name of shipped weights (default: that of the
            run, or the one that knows the data, or modelnet40; for points without normals modelnet40-points).
        root: Folder that holds a data set given by name.
        host: Address to bind to. Others than loopback are reachable from elsewhere; the address then has a token.
        port: Port, or the next free one after it.
        open: Open the browser.
        device: Device (default: GPU if available).
    """
    from ..support.memory import share_memory_among_threads
    from ..support.printable import printable
    from .extras import view_module

    share_memory_among_threads()
    module = view_module("visits")
    visits = module.Visits(module.open_page(shown, weights, root, device), host, port)
    print(f"{printable(visits.page.trained.name)}: open {visits.address} (Ctrl-C ends it)", flush=True)
    if open:
        _open_browser(visits.address)
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:  # how the line above says that it ends: no error
        print()  # after the terminal's ^C
    finally:
        visits.stop()


view.positional = {"shown": "file|pack|run"}  # type: ignore[attr-defined]
view.reads_files = True  # type: ignore[attr-defined]


def _open_browser(address: str) -> Any:
    import webbrowser

    try:
        webbrowser.open(address)
    except webbrowser.Error:  # there is none; the address is printed
        return
