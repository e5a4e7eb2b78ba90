"""What twarc does, by hand: ask for a page, write its items as JSON lines, ask for the next one.

`python -m benchmarks.bare_everyday timeline|search|hydrate BASE TARGET LIMIT OUT [TOKEN]`. It keeps to no limit, remembers
nothing, and a page that is not what it expects ends it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TextIO

import aiohttp

_FEED, _SEARCH = "app.bsky.feed.getAuthorFeed", "app.bsky.feed.searchPosts"


async def _pages(session: aiohttp.ClientSession, method: str, items: str, asked: dict[str, str]) -> AsyncIterator[list[Any]]:
    cursor: str | None = ""
    while cursor is not None:
        more = {"cursor": cursor} if cursor else {}
        async with session.get(f"/xrpc/{method}", params={**asked, "limit": "100", **more}) as answer:
            page = json.loads(await answer.read())
        yield page[items]
        cursor = page.get("cursor")


async def _batches(session: aiohttp.ClientSession, ids: list[str]) -> AsyncIterator[list[Any]]:
    for first in range(0, len(ids), 25):
        asked = [("uris", each) for each in ids[first : first + 25]]
        async with session.get("/xrpc/app.bsky.feed.getPosts", params=asked) as answer:
            yield json.loads(await answer.read())["posts"]


async def _pages_of(command: str, session: aiohttp.ClientSession, target: str, ids: list[str]) -> AsyncIterator[list[Any]]:
    match command:
        case "timeline":
            pages = _pages(session, _FEED, "feed", {"actor": target})
        case "search":
            pages = _pages(session, _SEARCH, "posts", {"q": target, "sort": "latest"})
        case _:
            pages = _batches(session, ids)
    async for page in pages:
        yield page


async def _write(session: aiohttp.ClientSession, pages: AsyncIterator[list[Any]], limit: int, file: TextIO) -> int:
    count = 0
    async with session:
        async for items in pages:
            file.writelines(json.dumps(item) + "\n" for item in items[: limit - count])
            count += len(items)
            if count >= limit:
                break
    return min(count, limit)


async def _run(command: str, base: str, target: str, limit: int, file: TextIO, ids: list[str], token: str) -> int:
    session = aiohttp.ClientSession(base, headers={"authorization": f"Bearer {token}"} if token else {})
    return await _write(session, _pages_of(command, session, target, ids), limit, file)


def main() -> None:
    command, base, target, limit, out, token = (*sys.argv[1:], "")[:6]
    ids = Path(target).read_text().split() if command == "hydrate" else []
    with Path(out).open("w", encoding="utf-8") as file:
        print(asyncio.run(_run(command, base, target, int(limit), file, ids, token)))


if __name__ == "__main__":
    main()
