"""A visitor of the live page without a browser: it speaks viser's protocol over a websocket of its own.

It says hello as the page does, decodes every message that the server sends, knows the upload button by the message that
made it, sends files in parts as the browser does, and reads the answer from the texts of the panel. It draws nothing.
"""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
import viser
import zstandard
from viser import _messages
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from .page_files import Upload

PART = 512 * 1024  # bytes, as in viser's page
CAMERA = (1.0, 0.0, 0.0, 0.0), (3.0, 3.0, 3.0), 1.0, 0.1, 100.0, 600, 800, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)
NAME = re.compile(r"visitor(\d+)-")
SHAPE, ANSWER = 'data-said="shape"', 'data-said="answer"'


class Reply(NamedTuple):
    """What came of an upload: "shown", "refused" or "nothing", the text, and the seconds it took."""

    outcome: str
    text: str
    seconds: float


class PageClient:
    """One visitor, in an `async with` block.

    Args:
        address: The address of the page, such as 127.0.0.1:8080.
        number: The visitor's number, which is in the names of his files.
    """

    def __init__(self, address: str, number: int) -> None:
        self.address, self.number = address, number
        self.texts: dict[str, str] = {}  # of the panel, by component
        self.notices: list[str] = []  # what popped up since the last upload
        self.strangers: set[int] = set()  # visitors whose files were mentioned here
        self.received = 0  # bytes
        self.button: str | None = None
        self._news = asyncio.Condition()
        self._connection: ClientConnection | None = None
        self._reader: asyncio.Task[None] | None = None

    async def __aenter__(self) -> PageClient:
        names: Any = [f"viser-v{viser.__version__}"]
        self._connection = await connect(f"ws://{self.address}/", subprotocols=names, max_size=None, open_timeout=120)
        await self._send(_messages.ViewerCameraMessage(*CAMERA))
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._connection is not None
        assert self._reader is not None
        await self._connection.close()
        await self._reader

    async def arrive(self, seconds: float) -> float:
        """Wait until the page is complete and has shown its first shape; returns how long that took."""
        begin = time.perf_counter()
        await self._until(lambda: self.button is not None and self._says(ANSWER) is not None, seconds)
        return time.perf_counter() - begin

    async def upload(self, upload: Upload, name: str, seconds: float) -> Reply:
        """Send a file and wait for what the page says about it."""
        begin = time.perf_counter()
        self.notices.clear()
        await self._transfer(upload, name)
        with suppress(TimeoutError):
            await self._until(lambda: self._reply(name) is not None, seconds)
        outcome, text = self._reply(name) or ("nothing", "")
        return Reply(outcome, text, time.perf_counter() - begin)

    async def leave_in_the_middle(self, name: str) -> None:
        """Begin an upload of many parts, and go after the first."""
        assert self.button is not None
        number = str(uuid.uuid4())
        start = _messages.FileTransferStartUpload(self.button, number, name, "", 20, 20 * PART)
        await self._send(start)
        await self._send(_messages.FileTransferPart(self.button, number, 0, bytes(PART)))

    async def _transfer(self, upload: Upload, name: str) -> None:
        assert self.button is not None
        number, parts = str(uuid.uuid4()), -(-upload.claimed // PART)
        start = _messages.FileTransferStartUpload(self.button, number, name, "", parts, upload.claimed)
        await self._send(start)
        for place, begin in enumerate(range(0, len(upload.content), PART)):
            content = upload.content[begin : begin + PART]
            await self._send(_messages.FileTransferPart(self.button, number, place, content))

    def _reply(self, name: str) -> tuple[str, str] | None:
        """Names of files are never the same twice; of a file that is too large, the page does not say the name."""
        for text in self.notices:
            if name in text or NAME.search(text) is None:
                return "refused", text
        shown = next((text for text in self.texts.values() if SHAPE in text and name in text), None)
        return None if shown is None else ("shown", shown)

    def _says(self, mark: str) -> str | None:
        return next((text for text in self.texts.values() if mark in text), None)

    async def _until(self, holds: Callable[[], bool], seconds: float) -> None:
        async with asyncio.timeout(seconds), self._news:
            await self._news.wait_for(holds)

    async def _send(self, message: Any) -> None:
        assert self._connection is not None
        await self._connection.send(msgspec.msgpack.encode(message.as_serializable_dict([])))

    async def _read(self) -> None:
        assert self._connection is not None
        unpack = zstandard.ZstdDecompressor()
        with suppress(ConnectionClosed):
            async for frame in self._connection:
                assert isinstance(frame, bytes)
                self.received += len(frame)
                size = int.from_bytes(frame[:8], "little")
                packed = int.from_bytes(frame[8:16], "little")
                inner = unpack.decompress(frame[16 : 16 + packed], max_output_size=size)
                async with self._news:
                    for message in msgspec.msgpack.decode(inner)["messages"]:
                        self._take(message)
                    self._news.notify_all()

    def _take(self, message: dict[str, Any]) -> None:
        kind = message.get("type")
        if kind == "GuiUploadButtonMessage":
            self.button = message["uuid"]
        content = message.get("props", {}) if kind == "GuiHtmlMessage" else message.get("updates", {})
        if isinstance(content, dict) and isinstance(content.get("content"), str):
            self.texts[message["uuid"]] = content["content"]
        if kind == "NotificationShowMessage":
            self.notices.append(message["props"]["body"])
        words = str({key: value for key, value in message.items() if key != "uuid"}) if "props" in message else ""
        for text in (words, str(content.get("content", "")) if isinstance(content, dict) else ""):
            self.strangers |= {int(one) for one in NAME.findall(text)} - {self.number}


async def in_turn(work: Callable[[int], Awaitable[None]], numbers: range) -> None:
    """Run work for all numbers at the same time, and raise the first error."""
    async with asyncio.TaskGroup() as group:
        for number in numbers:
            group.create_task(_one(work, number))


async def _one(work: Callable[[int], Awaitable[None]], number: int) -> None:
    await work(number)
