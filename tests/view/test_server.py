from __future__ import annotations

import http
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from websockets import Headers

from sampled_transformer.view.server import COOKIE, Gate, GuardedServer, _Uploads, check_address, is_loopback


@pytest.fixture(scope="module")
def server() -> Iterator[GuardedServer]:
    running = GuardedServer(port=0)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def public() -> Iterator[GuardedServer]:
    running = GuardedServer("0.0.0.0", port=0)
    yield running
    running.stop()


def status(port: int, path: str = "/", **headers: str) -> int:
    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.build_opener(Stay).open(request, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_on_this_machine_no_token_is_needed(server: GuardedServer) -> None:
    assert server.token is None
    assert server.address == f"http://127.0.0.1:{server.get_port()}/"
    assert status(server.get_port()) == 200


def test_other_pages_and_other_names_are_refused(server: GuardedServer) -> None:
    port = server.get_port()
    assert status(port, Origin="http://evil.example") == 403
    assert status(port, Host="evil.example") == 403
    assert status(port, Origin=f"http://127.0.0.1:{port}") == 200


def test_from_elsewhere_the_token_of_the_address_is_needed(public: GuardedServer) -> None:
    port, token = public.get_port(), public.token
    assert token is not None
    assert public.address.endswith(f":{port}/?token={token}")
    assert status(port) == 403
    assert status(port, "/?token=wrong") == 403
    assert status(port, f"/?token={token}") == 303
    assert status(port, Cookie=f"{COOKIE}={token}") == 200
    assert status(port, Cookie=f"other=1; {COOKIE}={token}x") == 403


def test_the_gate_gives_a_cookie_that_scripts_cannot_read() -> None:
    answer = Gate("secret").refusal("/?token=secret", Headers(Host="machine:8080"))
    assert answer is not None
    assert answer.status_code == http.HTTPStatus.SEE_OTHER
    assert answer.headers["Location"] == "/"
    assert "HttpOnly; SameSite=Strict" in answer.headers["Set-Cookie"]


def test_websockets_pass_the_same_gate() -> None:
    upgrade = Headers(Host="machine:8080", Upgrade="websocket", Origin="http://machine:8080")
    assert Gate("secret").refusal("/", upgrade) is not None
    upgrade["Cookie"] = f"{COOKIE}=secret"
    assert Gate("secret").refusal("/", upgrade) is None


def test_nobody_can_have_the_page_published(server: GuardedServer) -> None:
    assert server.request_share_url() is None


def test_loopback() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.1.2.3", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "", "192.168.0.1", "machine", "127.0.0.1.evil.example")))


@pytest.mark.parametrize(
    ("host", "port", "message"),
    [
        ("203.0.113.1", 0, "host: expected an address of this machine, got '203.0.113.1'"),
        ("no such host", 0, "host: expected an address of this machine, got 'no such host'"),
        ("127.0.0.1", 70000, "port: expected 0 to 65535, got 70000"),
    ],
)
def test_an_address_that_cannot_be_bound_is_refused(host: str, port: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_address(host, port)


def state(size: int, parts: int) -> dict[str, Any]:
    return {"total_bytes": size, "part_count": parts, "parts": {}}


def test_large_uploads_never_enter_memory() -> None:
    refused: list[str] = []
    uploads = _Uploads(2**20, refused.append)
    uploads["small"] = state(1000, 1)
    uploads["large"] = state(2**21, 4)
    uploads["many parts"] = state(1000, 1000)
    assert list(uploads) == ["small"]
    assert refused[0] == "file too large: expected at most 1 MB, got 2 MB"
    assert len(refused) == 2


def test_an_upload_that_is_larger_than_it_said_is_dropped() -> None:
    refused: list[str] = []
    uploads = _Uploads(2**20, refused.append)
    uploads["liar"] = state(10, 3)
    parts = uploads["liar"]["parts"]
    parts[0] = b"12345678"
    parts[1] = b"12345678"
    parts[2] = b"1"  # viser may still hold the parts
    assert "liar" not in uploads
    assert uploads.held() == 0
    assert refused == ["upload dropped: expected 10 bytes, as announced, got more"]


def test_all_visitors_together_send_only_so_much() -> None:
    refused: list[str] = []
    every: list[_Uploads] = []

    def has_room(size: int) -> bool:
        return size + sum(one.held() for one in every) <= 1000

    every += [_Uploads(2**20, refused.append, has_room) for _ in range(2)]
    for one in every:
        one["file"] = state(800, 2)
    every[0]["file"]["parts"][0] = bytes(600)
    every[1]["file"]["parts"][0] = bytes(400)
    assert refused == []  # what is only announced does not count
    every[1]["file"]["parts"][1] = bytes(400)
    assert "too many files are being sent" in refused[0]
    assert "file" in every[0]
    assert "file" not in every[1]
