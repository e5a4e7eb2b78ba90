"""The opt-out list of a crawl file, before the first call: marks that others share, and pictures on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from store_pages import SKY, TIMELINE, Crawled

from bowerbird.app import open_store, vocabulary
from bowerbird.app.opt_outs import heed_opt_outs
from bowerbird.clock import RealClock
from bowerbird.errors import UserError
from bowerbird.flows.files.crawl_file import CrawlPlan, parse_crawl
from bowerbird.model import Page, Post, User
from bowerbird.ports import Database
from bowerbird.store import Store
from bowerbird.store.forgetting.requests import Forgetter, Wish
from bowerbird.store.forgetting.tombstones import shared_marks
from failures import raises_code

ALICE, BOB = "did:plc:alicealicealicealicealic", "did:plc:bobbobbobbobbobbobbobbob"

_KEPT = """
insert into media_files (id, kind, url, state, path, due, found_at) values ('m', 'image', 'https://cdn/m', 'kept', 'm.jpg', 0, 0)
"""
_AUTHORS = "select u.id from posts p join users u on u.user_no = p.author"


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    found = await Crawled(database).register()
    people = tuple(User(id=did, key=did, handle=name) for did, name in ((ALICE, "alice.example"), (BOB, "bob.example")))
    keys = {did: f"at://{did}/app.bsky.feed.post/3k" for did in (ALICE, BOB)}
    posts = tuple(Post(id=key, key=key, author=did, text="words") for did, key in keys.items())
    await found.save(Page(users=people, posts=posts), TIMELINE, ALICE, service=SKY)
    return found


def plan(folder: Path, *lines: str, more: str = "") -> CrawlPlan:
    (folder / "not.txt").write_text("\n".join(lines), "utf-8")
    service = f'[service]\nname = "sky"\nprovider = "bluesky"\nbase = "{SKY.base}"\n'
    text = f'flow = "timelines"\nseeds = ["@bob.example"]\n{service}{more}[consent]\nopt_out = "not.txt"\n'
    return parse_crawl(text, folder / "study.toml", vocabulary())


async def marks_of(handle: str) -> list[str]:
    """What somebody shares who forgot one person in a store of their own."""
    async with open_store(":memory:", RealClock()) as other:
        wish = Wish(who="her", why="asked", names=frozenset({f"handle bluesky {handle}", f"user {ALICE}"}))
        await Forgetter(other, RealClock()).forget(wish)
        async with other.reading() as tx:
            return list(await shared_marks(tx))


async def test_marks_that_others_share_are_taken_in(crawled: Crawled, tmp_path: Path) -> None:
    shared = plan(tmp_path, "# from our neighbours", *await marks_of("alice.example"))
    for _ in range(2):
        await heed_opt_outs(shared, crawled.database, RealClock())
        assert [row["id"] for row in await crawled.rows("select id from users")] == [BOB]
        assert [row["id"] for row in await crawled.rows(_AUTHORS)] == [BOB]
        assert await crawled.count("forget_requests") == 1


async def test_a_name_that_nobody_bears_yet_is_kept_out(crawled: Crawled, tmp_path: Path) -> None:
    await heed_opt_outs(plan(tmp_path, "carol.example"), crawled.database, RealClock())
    carol = User(id="did:plc:carol", key="did:plc:carol", handle="carol.example")
    async with crawled.database.transaction() as tx:
        assert (await Store(crawled.database).allowed(tx, Page(users=(carol,)), SKY)).users == ()
    assert await crawled.count("users") == 2


async def test_an_empty_list_changes_nothing(crawled: Crawled, tmp_path: Path) -> None:
    await heed_opt_outs(plan(tmp_path, "# nobody yet"), crawled.database, RealClock())
    assert (await crawled.count("users"), await crawled.count("forget_requests")) == (2, 0)


async def test_pictures_of_which_nobody_says_where_they_are_stop_it_before_anything_is_deleted(
    crawled: Crawled, tmp_path: Path
) -> None:
    async with crawled.database.transaction() as tx:
        await tx.execute(_KEPT)
    with raises_code(UserError, "needs_option") as caught:
        await heed_opt_outs(plan(tmp_path, "alice.example"), crawled.database, RealClock())
    assert f"bowerbird forget {tmp_path / 'not.txt'} --media FOLDER" in caught.value.advice
    assert await crawled.count("users") == 2
    await heed_opt_outs(plan(tmp_path, "alice.example", more='[media]\nfolder = "media"\n'), crawled.database, RealClock())
    assert await crawled.count("users") == 1
