"""Payloads of posts that are compressed together: read as they came, and each deleted alone, on both databases."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta

import msgspec
import pytest
import zstandard
from store_pages import TIMELINE, Crawled, post

from bowerbird.model import Gone, Outcome, Page, Place, Post, PostKind, Subject, WithdrawnPlaces
from bowerbird.ports import Database
from bowerbird.reports.reader import Reader
from bowerbird.store.payloads.frames import LONGEST, MOST, Frames


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    return await Crawled(database).register()


def written(number: int, version: int = 1, **fields: object) -> Post:
    """Its payload has the text, which the frame leaves out, and a note that is nowhere else."""
    payload = b'{"id":%d,"text":"words %d-%d","note":"note %d-%d"}' % (number, number, version, number, version)
    return post(str(number), text=f"words {number}-{version}", **{"raw": payload} | fields)


async def payloads(crawled: Crawled) -> dict[str, bytes | None]:
    return {item["id"]: item["raw"] async for item in Reader(crawled.database).posts(with_raw=True)}


async def framed(crawled: Crawled) -> bytes:
    """Everything that stands in frames."""
    frames = Frames(crawled.database)
    return b"\n".join(b"\n".join(frames.unpacked(row["body"])) for row in await crawled.rows("select body from frames"))


async def test_payloads_of_a_page_are_kept_together_and_read_as_they_came(crawled: Crawled) -> None:
    page = [written(number) for number in range(1, 2 * MOST + 2)]
    await crawled.save(Page(posts=tuple(page)), TIMELINE, "1")
    assert await payloads(crawled) == {each.id: each.raw for each in page}
    assert await crawled.count("frames") == 3
    assert await crawled.count("posts", "raw is not null") == 0


async def test_a_deleted_post_leaves_its_frame_and_the_others_stay(crawled: Crawled) -> None:
    await crawled.save(Page(posts=tuple(written(number) for number in range(1, 21))), TIMELINE, "1")
    await crawled.save(Page(gone=(Gone(Subject.POST, "7", Outcome.NOT_FOUND, is_stated=True),)), TIMELINE, "1")
    kept = await payloads(crawled)
    assert (b"note 7-1" in await framed(crawled), kept["x:7"]) == (False, None)
    assert [kept[f"x:{number}"] for number in range(1, 21) if number != 7] == [written(n).raw for n in range(1, 21) if n != 7]
    assert await crawled.count("posts", "id = 'x:7' and (frame is not null or frame_place is not null)") == 0


async def test_payloads_that_are_deleted_at_the_same_time_all_leave_their_frame(crawled: Crawled) -> None:
    await crawled.save(Page(posts=tuple(written(number, author=f"x:{number}") for number in range(1, 21))), TIMELINE, "1")
    gone = (Gone(Subject.POST, str(number), Outcome.NOT_FOUND, is_stated=True) for number in range(1, 11))
    await asyncio.gather(*(crawled.save(Page(gone=(each,)), TIMELINE, "1") for each in gone))
    left = await framed(crawled)
    assert [number for number in range(1, 21) if b"note %d-1" % number in left] == list(range(11, 21))


async def test_copies_of_a_deleted_post_leave_their_frames(crawled: Crawled) -> None:
    copies = [
        post(str(number), "2", kind=kind, **{column: "x:7"}, raw=b'{"copy %d":"words 7-1"}' % number)
        for number in range(30, 40)
        for kind, column in [(PostKind.REPOST, "repost_of") if number % 2 else (PostKind.QUOTE, "quote_of")]
    ]
    await crawled.save(Page(posts=(*(written(number) for number in range(1, 21)), *copies)), TIMELINE, "1")
    await crawled.save(Page(gone=(Gone(Subject.POST, "7", Outcome.NOT_FOUND, is_stated=True),)), TIMELINE, "1")
    left = await framed(crawled)
    assert (b"words 7-1" in left, b"note 7-1" in left, b"note 8-1" in left) == (False, False, True)


async def test_of_an_account_that_is_gone_no_frame_is_left(crawled: Crawled) -> None:
    await crawled.save(Page(posts=tuple(written(number) for number in range(1, 41))), TIMELINE, "1")
    await crawled.save(Page(gone=(Gone(Subject.USER, "1", Outcome.SUSPENDED, is_stated=True),)), TIMELINE, "1")
    assert await crawled.count("frames") == 0
    assert set((await payloads(crawled)).values()) == {None}


async def test_a_newer_payload_takes_the_place_of_the_older_one(crawled: Crawled) -> None:
    await crawled.save(Page(posts=tuple(written(number) for number in range(1, 21))), TIMELINE, "1")
    await crawled.save(
        Page(posts=tuple(written(number, 2) for number in range(1, 21, 2))), TIMELINE, "1", after=timedelta(days=2)
    )
    kept, left = await payloads(crawled), await framed(crawled)
    assert [kept[f"x:{number}"] for number in range(1, 21)] == [written(n, 2 if n % 2 else 1).raw for n in range(1, 21)]
    assert (b"note 3-1" in left, await crawled.count("frames")) == (False, 1)


async def test_a_very_long_payload_stands_alone_and_the_shorter_one_before_it_is_gone(crawled: Crawled) -> None:
    await crawled.save(Page(posts=tuple(written(number) for number in range(1, 21))), TIMELINE, "1")
    long = written(5, 2, raw=b'{"text":"' + b"x" * LONGEST + b'"}')
    await crawled.save(Page(posts=(long, *(written(number) for number in range(50, 60)))), TIMELINE, "1")
    assert (await payloads(crawled))["x:5"] == long.raw
    assert b"note 5-1" not in await framed(crawled)


async def test_a_place_that_is_taken_back_leaves_the_frames_too(crawled: Crawled) -> None:
    here = Place(name="words of a place")
    page = [written(n, place=here, raw=b'{"id":%d,"place":"words of a place"}' % n) for n in range(1, 11)]
    await crawled.save(Page(posts=tuple(page)), TIMELINE, "1")
    await crawled.save(Page(withdrawn_places=(WithdrawnPlaces("1", "10"),)), TIMELINE, "1")
    assert b"words of a place" not in await framed(crawled)


async def test_a_payload_keeps_its_words_when_the_post_is_shown_with_others_and_without_a_payload(crawled: Crawled) -> None:
    """Frames leave out what the columns say: these change, the payload does not."""
    await crawled.save(Page(posts=tuple(written(number) for number in range(1, 21))), TIMELINE, "1")
    assert b"words 7-1" not in await framed(crawled)
    await crawled.save(Page(posts=(written(7, 2, raw=b""),)), TIMELINE, "1", after=timedelta(days=2))
    assert await crawled.count("posts", "id = 'x:7' and text = 'words 7-2'") == 1
    assert (await payloads(crawled))["x:7"] == written(7, 1).raw


async def test_payloads_of_an_earlier_version_are_read_and_deleted_like_the_others(crawled: Crawled) -> None:
    """Before, frames had whole payloads."""
    await crawled.save(Page(posts=tuple(written(number) for number in range(1, 21))), TIMELINE, "1")
    whole = zstandard.ZstdCompressor().compress(msgspec.msgpack.encode([written(number).raw for number in range(1, 21)]))
    async with crawled.database.transaction() as tx:
        await tx.execute("update frames set body = ?", whole)
    assert (await payloads(crawled))["x:7"] == written(7).raw
    await crawled.save(Page(gone=(Gone(Subject.POST, "7", Outcome.NOT_FOUND, is_stated=True),)), TIMELINE, "1")
    kept = await payloads(crawled)
    assert (kept["x:7"], kept["x:8"], b"note 7-1" in await framed(crawled)) == (None, written(8).raw, False)


_HOSTILE = (
    "",
    "u1",
    "short",
    "a text that stands twice a text that stands twice",
    "\x00\x01\x02 marks of frames \x03\x07\x08",
    "\x01\x01\x01\x01\x01\x01\x01\x01",
    "no NUL \x00 is stored here",
    "a lone \ud83d surrogate",
    "\\u0000\\u0001\\ud83d as letters",
    'quotes " and \\" and \\\\',
    "slashes </script> and http:\\/\\/x",
    "emoji 👩‍👩‍👧 and\u2028line",
    "\x7f\x80\x9f controls",
    "x:1000000001",
    "https://x.example/1000000001",
    "x" * 3000,
    "👋" * 20_000,
    '{"text":"a payload as a text"}',
    "null",
    "ends with a backslash \\",
)


def _hostile(number: int, text: str, shape: int) -> Post:
    """A payload may spell a text in several ways, may have it often, or that of another post."""
    id_, url = f"x:{1000000001 + number}", f"https://x.example/{1000000001 + number}"
    other = _HOSTILE[(number + 1) % len(_HOSTILE)]
    item = {"id": id_, "note": other, "text": text, "again": [text, url, "x:1000000001"], "quote": {"id": "x:1000000001"}}
    raw = json.dumps(item, ensure_ascii=shape != 1).encode(errors="surrogatepass")
    raw = {2: raw.replace(b"/", b"\\/"), 3: b"\x01\x02" + raw, 4: b"\0" + raw}.get(shape, raw)
    return post(str(1000000001 + number), text=text, url=url, quote_of="x:1000000001", kind=PostKind.QUOTE, raw=raw)


@pytest.mark.parametrize("shape", range(5))
async def test_payloads_of_hostile_texts_are_read_as_they_came_also_after_an_edit(crawled: Crawled, shape: int) -> None:
    page = [_hostile(number, text, shape) for number, text in enumerate(_HOSTILE)]
    await crawled.save(Page(posts=tuple(page)), TIMELINE, "1")
    expected = {each.id: each.raw for each in page}
    assert await payloads(crawled) == expected
    # Each gets the text of its neighbour: every third without a payload, the others with one that is spelled otherwise.
    edited = [_hostile(number, _HOSTILE[number - 1], shape) for number in range(len(_HOSTILE))]
    edited = [msgspec.structs.replace(each, raw=b"") if number % 3 == 0 else each for number, each in enumerate(edited)]
    await crawled.save(Page(posts=tuple(edited)), TIMELINE, "1", after=timedelta(days=2))
    assert await payloads(crawled) == expected | {each.id: each.raw for each in edited if each.raw}
