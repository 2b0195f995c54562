"""The server of the live page: viser's, behind a gate.

viser answers whoever connects. The gate refuses requests that do not come from the page itself, and, if the server is
reachable from other machines, visitors without the token that the address has. It also bounds what a visitor uploads,
and switches off viser's own service that publishes a page on the internet.
"""

from __future__ import annotations

import contextlib
import http
import io
import ipaddress
import secrets
import socket
from collections.abc import Callable, Iterator
from math import ceil
from typing import Any
from urllib.parse import parse_qs, urlsplit
from urllib.request import Request, urlopen

import viser
import websockets.asyncio.server
from websockets import Headers
from websockets.http11 import Response

LARGEST_UPLOAD = 256 * 2**20  # bytes
MOST_UNDER_WAY = 2**30  # bytes of files that all visitors together have sent in part
PART = 2**16  # bytes; the browser sends a file in larger parts, so a file has at most size / PART of them
COOKIE = "sampled-transformer-token"
Refuse = Callable[[Any, str], None]  # called with a client and the reason


class GuardedServer(viser.ViserServer):
    """viser's server behind a gate.

    Args:
        host: Address to bind to.
        port: Port to bind to, or the next free one after it; 0 takes any.
        largest: Most bytes of an upload.
    """

    def __init__(self, host: str = "127.0.0.1", port: int = 8080, largest: int = LARGEST_UPLOAD) -> None:
        check_address(host, port)
        self.largest = largest
        self.uploads: dict[int, _Uploads] = {}  # by client
        self.token = None if is_loopback(host) else secrets.token_urlsafe(16)
        with _quiet(), _gate(Gate(self.token)):
            super().__init__(host=host, port=port, verbose=False)
        self.gui.configure_theme(show_logo=False, show_share_button=False)
        self._check_gate()

    @property
    def address(self) -> str:
        """What to open in the browser."""
        host = self.get_host()
        if host in ("0.0.0.0", "::", ""):
            host = socket.gethostname()
        place = f"http://{f'[{host}]' if ':' in host else host}:{self.get_port()}/"
        return place if self.token is None else f"{place}?token={self.token}"

    def request_share_url(self, verbose: bool = True) -> str | None:
        """Nothing: any visitor could ask viser to publish the page through a server of its own."""
        return None

    def limit_uploads(self, client: viser.ClientHandle, refuse: Refuse) -> None:
        """Refuse files of a client that are larger than they may be, before they are in memory."""
        gui: Any = client.gui
        own = _Uploads(self.largest, lambda why: refuse(client, why), self._has_room)
        gui._current_file_upload_states = self.uploads[client.client_id] = own

    def forget_uploads(self, client: viser.ClientHandle) -> None:
        """Drop what a client that has left did not finish."""
        own = self.uploads.pop(client.client_id, None)
        if own is not None:
            own.clear()

    def _has_room(self, size: int) -> bool:
        """Whether all visitors together may send so many bytes more. What they only announce does not count."""
        return size + sum(own.held() for own in list(self.uploads.values())) <= MOST_UNDER_WAY

    def stop(self) -> None:
        with _quiet():
            super().stop()

    def _check_gate(self) -> None:
        """Ask without a token, from another page: a viser that does not know our gate must not go on."""
        host = self.get_host()
        host = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}.get(host, host)
        place = f"http://{f'[{host}]' if ':' in host else host}:{self.get_port()}/"
        try:
            urlopen(Request(place, headers={"Origin": "http://elsewhere.invalid"}), timeout=10).close()
        except OSError as error:
            if getattr(error, "code", None) == http.HTTPStatus.FORBIDDEN:
                return
        self.stop()
        raise OSError(f"viser {viser.__version__}: expected a version whose requests can be checked; try viser 1.1")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_address(host: str, port: int) -> None:
    """Raise a ValueError if nothing can be bound to the address; viser would wait forever."""
    if not 0 <= port <= 65535:
        raise ValueError(f"port: expected 0 to 65535, got {port}")
    try:
        family = socket.getaddrinfo(host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        socket.create_server((host, 0), family=family).close()
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"host: expected an address of this machine, got {host!r} ({reason})") from None


class Gate:
    """What may pass: pages of our own, and, if there is a token, visitors who have it.

    A visitor brings the token in the address. The answer is a cookie and the address without it, so that the token is
    in no history; the page's other requests bring the cookie.
    """

    def __init__(self, token: str | None) -> None:
        self.token = token

    def refusal(self, path: str, headers: Headers) -> Response | None:
        """The answer to a request that may not pass as it is, or None."""
        origin = headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != headers.get("Host"):
            return _answer(http.HTTPStatus.FORBIDDEN, "This page is not for other pages.")
        if self.token is None:
            host = urlsplit(f"//{headers.get('Host', '')}").hostname or ""
            if not is_loopback(host):  # the name of another site may lead here
                return _answer(http.HTTPStatus.FORBIDDEN, f"This page is not called {host}.")
            return None
        given = parse_qs(urlsplit(path).query).get("token", [""])[0]
        if self._is_right(given):
            cookie = f"{COOKIE}={self.token}; HttpOnly; SameSite=Strict; Path=/"
            return _answer(http.HTTPStatus.SEE_OTHER, "", {"Location": "/", "Set-Cookie": cookie})
        kept = dict(part.strip().partition("=")[::2] for part in headers.get("Cookie", "").split(";"))
        if self._is_right(kept.get(COOKIE, "")):
            return None
        return _answer(http.HTTPStatus.FORBIDDEN, "Open the address that the program printed, with its token.")

    def _is_right(self, given: str) -> bool:
        return self.token is not None and secrets.compare_digest(given.encode(), self.token.encode())


def _answer(status: http.HTTPStatus, text: str, more: dict[str, str] | None = None) -> Response:
    body = f"{text}\n".encode()
    headers = {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body)), **(more or {})}
    return Response(status, status.phrase, Headers(**headers), body)


@contextlib.contextmanager
def _gate(gate: Gate) -> Iterator[None]:
    """Put the gate before viser's answers: viser offers no place for one, so we wrap what it hands to websockets."""
    serve = websockets.asyncio.server.serve

    def guarded(*places: Any, process_request: Any, **options: Any) -> Any:
        def process(connection: Any, request: Any) -> Any:
            refused = gate.refusal(request.path, request.headers)
            return process_request(connection, request) if refused is None else refused

        return serve(*places, process_request=process, **options)

    replaced: Any = websockets.asyncio.server
    replaced.serve = guarded
    try:
        yield
    finally:
        replaced.serve = serve


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """viser announces itself with an address that lacks the token."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


class _Uploads(dict[str, dict[str, Any]]):
    """The files that a visitor is sending, by number; viser fills it. Too large ones never enter."""

    def __init__(
        self, largest: int, refuse: Callable[[str], None], has_room: Callable[[int], bool] = lambda size: True
    ) -> None:
        super().__init__()
        self.largest, self.refuse, self.has_room = largest, refuse, has_room

    def held(self) -> int:
        """The bytes that have come."""
        return sum(state["parts"].held for state in list(self.values()))

    def __setitem__(self, number: str, state: dict[str, Any]) -> None:
        size = max(state["total_bytes"], (state["part_count"] - 1) * PART)
        under_way = sum(one["total_bytes"] for one in self.values())
        if size + under_way > self.largest:
            most = self.largest // 2**20
            self.refuse(f"file too large: expected at most {most} MB, got {ceil(size / 2**20):,} MB")
            return
        state["parts"] = _Parts(lambda why: self._drop(number, why), state["total_bytes"], self.has_room)
        super().__setitem__(number, state)

    def _drop(self, number: str, why: str) -> None:
        if self.pop(number, None) is not None:
            self.refuse(why)


class _Parts(dict[int, bytes]):
    """The parts of one file. If they are more than the browser said, or than there is room for, the file is dropped."""

    def __init__(self, drop: Callable[[str], object], size: int, has_room: Callable[[int], bool]) -> None:
        super().__init__()
        self.drop, self.size, self.has_room = drop, size, has_room
        self.held = 0

    def __setitem__(self, number: int, content: bytes) -> None:
        why = ""
        if self.held + len(content) > self.size:
            why = f"upload dropped: expected {self.size} bytes, as announced, got more"
        elif not self.has_room(len(content)):
            why = "upload dropped: too many files are being sent at the moment; try again in a minute"
        if why:
            self.clear()
            self.drop(why)
            return
        self.held += len(content)
        super().__setitem__(number, content)
