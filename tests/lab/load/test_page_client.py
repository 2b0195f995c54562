"""A visitor without a browser understands what the page says; test_page.py lets it visit one."""

from __future__ import annotations

import asyncio

from sampled_transformer_lab.load.page_client import PageClient, in_turn


def test_texts_notices_and_strangers() -> None:
    client = PageClient("nowhere", 3)
    client._take({"type": "GuiUploadButtonMessage", "uuid": "button", "props": {"label": "Upload"}})
    client._take({"type": "GuiHtmlMessage", "uuid": "about", "props": {"content": "..."}})
    assert client.button == "button"
    assert client._reply("visitor3-1.ply") is None
    client._take(
        {"type": "GuiUpdateMessage", "uuid": "about", "updates": {"content": '<i data-said="shape">visitor3-1.ply</i>'}}
    )
    found = client._reply("visitor3-1.ply")
    assert found is not None
    assert found[0] == "shown"
    assert client._reply("visitor3-2.ply") is None
    client._take({"type": "NotificationShowMessage", "uuid": "n", "props": {"body": "visitor3-2.ply: empty file"}})
    assert client._reply("visitor3-2.ply") == ("refused", "visitor3-2.ply: empty file")
    assert client.strangers == set()
    client._take({"type": "NotificationShowMessage", "uuid": "n", "props": {"body": "visitor4-1.ply: empty file"}})
    assert client.strangers == {4}


def test_all_work_at_the_same_time() -> None:
    there: list[int] = []

    async def work(number: int) -> None:
        there.append(number)
        while len(there) < 3:
            await asyncio.sleep(0)

    asyncio.run(in_turn(work, range(3)))
    assert sorted(there) == [0, 1, 2]
