"""Stores of earlier versions: dictionaries that were learned from content go, and every payload stays readable."""

from __future__ import annotations

import json

import pytest
import zstandard
from store_pages import TIMELINE, Crawled, post, user

from bowerbird.clock import RealClock
from bowerbird.model import Page
from bowerbird.ports import Database
from bowerbird.reports.reader import Reader
from bowerbird.store.payloads.repacking import BATCH, repack

ROWS = 2 * BATCH + 300


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


def payload(n: int) -> bytes:
    return json.dumps({"id": n, "text": f"secret words of number {n}, which nobody else wrote", "likes": n % 7}).encode()


async def old_store(crawled: Crawled) -> None:
    """Posts packed as earlier versions did: with a dictionary that was trained on what people wrote."""
    posts = [post(str(n), raw=b"") for n in range(ROWS)]
    await crawled.save(Page(users=(user("1"),), posts=tuple(posts)), TIMELINE, "1")
    body = zstandard.train_dictionary(8_192, [payload(n) for n in range(1_000)], k=256, d=6, dict_id=40_001).as_bytes()
    assert b"secret words" in body
    packer = zstandard.ZstdCompressor(dict_data=zstandard.ZstdCompressionDict(body), write_dict_id=False)
    async with crawled.database.transaction() as tx:
        await tx.execute("insert into dictionaries (body, trained_at) values (?, 0)", body)
        await tx.execute_many(
            "update posts set raw = ?, raw_dictionary = (select max(dictionary) from dictionaries) where id = ?",
            [(packer.compress(payload(n)), f"x:{n}") for n in range(ROWS)],
        )


async def raws(crawled: Crawled) -> dict[str, bytes]:
    return {item["id"]: item["raw"] async for item in Reader(crawled.database).posts(with_raw=True)}


async def test_payloads_are_packed_anew_and_the_old_dictionary_goes(crawled: Crawled) -> None:
    await old_store(crawled)
    told: list[tuple[str, int]] = []
    assert await repack(crawled.database, RealClock(), lambda table, rows: told.append((table, rows))) == ROWS
    assert await raws(crawled) == {f"x:{n}": payload(n) for n in range(ROWS)}
    (left,) = await crawled.rows("select kind, body from dictionaries")
    assert left["kind"] == "x/post"
    assert b"secret" not in bytes(left["body"])
    assert told[-1] == ("posts", ROWS)
    assert await repack(crawled.database, RealClock()) == 0


async def test_repacking_that_was_killed_goes_on_where_it_stopped(crawled: Crawled) -> None:
    await old_store(crawled)

    def die(table: str, rows: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await repack(crawled.database, RealClock(), die)
    assert await raws(crawled) == {f"x:{n}": payload(n) for n in range(ROWS)}
    assert await repack(crawled.database, RealClock()) == ROWS - BATCH
    assert await raws(crawled) == {f"x:{n}": payload(n) for n in range(ROWS)}
    assert await crawled.count("dictionaries", "kind is null") == 0


async def test_a_payload_that_was_damaged_before_loses_nothing_but_itself(crawled: Crawled) -> None:
    await old_store(crawled)
    async with crawled.database.transaction() as tx:
        await tx.execute("update posts set raw = ? where id = 'x:3'", b"\x28\xb5\x2f\xfdgarbage")
    await repack(crawled.database, RealClock())
    assert await raws(crawled) == {f"x:{n}": payload(n) for n in range(ROWS)} | {"x:3": None}
