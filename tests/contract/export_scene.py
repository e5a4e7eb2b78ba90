"""A small store with everything that an export must get right: hostile texts, deleted and unwanted content, lists, places."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from store_pages import FOLLOWERS, PROFILES, START, TIMELINE, Crawled, followers, post, user

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.db.moment import one_moment
from bowerbird.export.jobs.manifest import Manifest, Source
from bowerbird.export.jobs.request import Request, export
from bowerbird.model import Gone, Media, Outcome, Page, Place, PostKind, Reaction, ReactionKind, Subject
from bowerbird.ports import Database

HOSTILE = [
    *("=1+1", "+CMD|' /C calc'!A0", "@u2 hello", "-1", "'quoted", "\t=1", 'a "b", c', "two\r\nlines", "\u202ertl"),
    *("\U0001f469\u200d\U0001f469\u200d\U0001f467", "x" * 70_000),
]
"""Texts of the first posts."""
SOURCE = Source("store", 1)


async def filled(database: Database) -> Crawled:
    """Accounts 1 to 5: 4 asked not to be collected, 5 is suspended. Posts 10 to 20 have the hostile texts, 30 has everything."""
    crawled = await Crawled(database).register()
    people = [user(str(n), name=f"Person {n}", description=f"Likes @u2 and {n}", followers=n, language="en") for n in range(1, 6)]
    texts = [post(str(10 + n), text=text, created_at=START + timedelta(hours=13 * n)) for n, text in enumerate(HOSTILE)]
    rich = post(
        "30", "2", text="Flood in #Porto, says @u1", language="pt-BR", kind=PostKind.REPLY, reply_to="x:10", likes=3,
        tags=("Porto", "Flood"), mentions=("1",), links=("https://example.org/a|b",),
        place=Place(name="Porto", country="PT", latitude=41.1, longitude=-8.6),
        media=(Media(id="m1", kind="image", url="https://example.org/m.jpg", description="=a picture"),), is_sensitive=False,
        created_at=START + timedelta(days=40),
    )  # fmt: skip
    others = (
        post("31", "2", kind=PostKind.REPOST, repost_of="x:10", text="=1+1"),
        post("32", "3", kind=PostKind.QUOTE, quote_of="x:30", text="Look", tags=("porto", "rain", "flood")),
        post("33", "4", text="of somebody who opts out"),
        post("34", "5", text="of somebody who is suspended"),
        post("35", "1", text="deleted"),
    )
    await crawled.save(Page(users=tuple(people)), PROFILES)
    await crawled.save(Page(posts=(*texts, rich, *others)), TIMELINE, "1")
    await crawled.save(Page(relations=followers("1", "2", "3", "4")), FOLLOWERS, "1")
    await crawled.save(
        Page(reactions=(Reaction(ReactionKind.LIKE, "30", "1", START), Reaction(ReactionKind.REPOST, "30", "3"))), TIMELINE, "1"
    )
    gone = (
        Gone(Subject.POST, "35", Outcome.NOT_FOUND, is_stated=True),
        Gone(Subject.USER, "5", Outcome.SUSPENDED, is_stated=True),
    )
    await crawled.save(Page(users=(user("4", opts_out=True),), gone=gone), PROFILES)
    return crawled


async def exported(database: Database, what: str, out: Path | str, **options: Any) -> Manifest:
    async with one_moment(database) as moment:
        return await export(moment, Request(what=what, out=str(out), **options), SOURCE, RealClock())


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[Database]:
    database = await open_database(str(path), RealClock())
    try:
        await database.create_tables()
        yield database
    finally:
        await database.close()
