"""What is kept of the pages of an event crawl, and what they tell: who collected which post, and what everybody writes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from zlib import crc32

from msgspec import structs

from bowerbird.clock import to_micros
from bowerbird.event.following import Followed, Following
from bowerbird.event.grid import Grid
from bowerbird.model import Page, Post, Saved, Service, Subject, Task
from bowerbird.model.terms import Reading, read_text
from bowerbird.ports import Database, Transaction
from bowerbird.store.posts.by_id import with_ids

LATE = timedelta(minutes=2)
"""What comes so late is still counted, where it came; what is older was caught up."""
_PARTS = 1_000_000
_HEARD = """
insert into keyword_frames (crawl, frame, ends, heard) values (?, ?, ?, ?)
on conflict (crawl, frame) do update set heard = keyword_frames.heard + excluded.heard
"""
_SAMPLE = "insert into keyword_samples (crawl, frame, at, terms) values (?, ?, ?, ?)"
_COLLECTED = """
insert into keyword_posts (crawl, post_no, at, frame, methods) values (?, ?, ?, ?, ?)
on conflict (crawl, post_no) do update set methods = keyword_posts.methods | excluded.methods
"""


class FilteredSieve:
    """Keeps everything: the network itself chose it. Notes which methods it belongs to."""

    def __init__(self, following: Following, grid: Grid, database: Database, by_target: dict[str, str] | None = None) -> None:
        """`by_target`: by what was asked, the keyword that it stands for."""
        self._following = following
        self._grid = grid
        self._by_target = by_target if by_target is not None else {}
        self._numbers = f"select p.post_no, p.id from posts p where p.deleted_at is null and {with_ids(database, 'p')}"
        self._database = database

    async def sift(self, tx: Transaction, tasks: Sequence[Task], page: Page, service: Service, now: datetime) -> Page:
        return page

    async def note(self, tx: Transaction, tasks: Sequence[Task], page: Page, saved: Saved, now: datetime) -> None:
        known = await self._following.now(tx)
        posts = {post.key: post for post in page.posts if post.id not in page.along}
        readings = readings_of(page, posts.values())
        asked = _asked(known, tasks, self._by_target)
        masks = {each.id: (posts[each.key], known.mask(readings[each.key]) | asked) for each in saved.posts if each.key in posts}
        if not masks:
            return
        numbers = {row["id"]: row["post_no"] for row in await tx.fetch(self._numbers, self._database.members(sorted(masks)))}
        rows = [self._row(known, numbers[key], *masks[key], now) for key in sorted(numbers)]
        await tx.execute_many(_COLLECTED, sorted(rows, key=lambda row: row[1]))

    def _row(self, known: Followed, number: int, post: Post, mask: int, now: datetime) -> tuple[int, int, int, int | None, int]:
        at = time_of(post, now)
        frame = self.frame_of(known, at, now)
        return self._following.crawl, number, to_micros(at), None if frame is None else to_micros(frame), mask

    def frame_of(self, known: Followed, at: datetime, now: datetime) -> datetime | None:
        """The frame that counts what was written then and comes now: its own, or the oldest open one if that is decided."""
        frame, oldest = self._grid.began(at), known.decided + self._grid.frame
        if frame >= oldest:
            return frame
        return oldest if at >= oldest - max(LATE, self._grid.grace) else None


class FullSieve(FilteredSieve):
    """Keeps what a keyword matches, of a stream that brings everything; of the rest it counts all and samples some."""

    def __init__(self, following: Following, grid: Grid, database: Database) -> None:
        super().__init__(following, grid, database)
        here, members = "k.service = (select service from services where name = ?)", database.any("text")
        self._known_posts = (
            f"select p.id as key from posts p where {with_ids(database, 'p')} "
            f"union select k.key from post_keys k where {here} and k.key {members}"
        )
        self._known_users = (
            f"select id as key from users where id {members} union select k.key from user_keys k where {here} and k.key {members}"
        )

    async def sift(self, tx: Transaction, tasks: Sequence[Task], page: Page, service: Service, now: datetime) -> Page:
        known = await self._following.now(tx)
        heard = [post for post in page.posts if post.id not in page.along]
        readings = readings_of(page, heard)
        await self._count(tx, known, heard, readings, now)
        kept = {post.id for post in heard if known.mask(readings[post.key])}
        if kept == {post.id for post in page.posts} and not (page.gone or page.relations or page.ended):
            return page
        return reduced(page, kept, await self._stored(tx, page, service))

    async def _count(
        self, tx: Transaction, known: Followed, heard: Sequence[Post], readings: dict[str, Reading], now: datetime
    ) -> None:
        crawl, by_frame, sample = self._following.crawl, dict[datetime, int](), []
        for post in heard:
            at = time_of(post, now)
            frame = self.frame_of(known, at, now)
            if frame is None:
                continue
            by_frame[frame] = by_frame.get(frame, 0) + 1
            if crc32(post.id.encode()) % _PARTS < known.share * _PARTS and (terms := nameless(readings[post.key])):
                sample.append((crawl, to_micros(frame), to_micros(at), terms))
        ends = self._grid.frame
        counts = [(crawl, to_micros(frame), to_micros(frame + ends), count) for frame, count in sorted(by_frame.items())]
        await tx.execute_many(_HEARD, counts)
        await tx.execute_many(_SAMPLE, sample)

    async def _stored(self, tx: Transaction, page: Page, service: Service) -> frozenset[str]:
        """Of the posts that are gone and of the accounts, those that the store knows."""
        found: set[str] = set()
        posts = sorted({each.key for each in page.gone if each.subject is Subject.POST})
        users = sorted({each.key for each in page.gone if each.subject is Subject.USER} | {user.id for user in page.users})
        for sql, keys in ((self._known_posts, posts), (self._known_users, users)):
            if keys:
                members = self._database.members(keys)
                found.update(row["key"] for row in await tx.fetch(sql, members, service.name, members))
        return frozenset(found)


def reduced(page: Page, kept: Collection[str], stored: Collection[str]) -> Page:
    """The page with these posts, what came along with them and who wrote them, and with what it says of what is stored."""
    posts = [post for post in page.posts if post.id in kept]
    named = {each for post in posts for each in (post.reply_to, post.root) if each in page.along}
    shown = _shown(page, {*kept, *named})
    posts += [post for post in page.posts if post.id in shown and post.id not in kept]
    authors = {post.author for post in posts}
    return structs.replace(
        page,
        posts=tuple(posts),
        along=(page.along | (shown - set(kept))) & {post.id for post in posts},
        users=tuple(user for user in page.users if user.id in authors or user.id in stored),
        gone=tuple(each for each in page.gone if each.key in stored),
        relations=(),
        ended=(),
        reactions=(),
    )


def readings_of(page: Page, posts: Iterable[Post]) -> dict[str, Reading]:
    """What posts say, by their keys; a repost says what it passes on."""
    texts = {post.id: post for post in page.posts}
    handles = {user.id: user.handle or "" for user in page.users}
    found = {}
    for post in posts:
        said = texts.get(post.repost_of or "", post)
        found[post.key] = read_text(said.text or "", said.tags, handles.get(post.author, ""))
    return found


def nameless(post: Reading) -> str:
    """The terms of a post in their order, without names of its author and of whom it mentions."""
    return " ".join(token for token in post.tokens if token[0] != "@")


def time_of(post: Post, now: datetime) -> datetime:
    """When a post was written, as far as that can be believed."""
    at = post.listed_at or (None if post.is_time_doubtful else post.created_at) or now
    return min(at, now)


def _asked(known: Followed, tasks: Sequence[Task], by_target: dict[str, str]) -> int:
    """The methods that follow the keyword that was searched for, whatever our own reading of the posts says."""
    terms = (by_target.get(f"{task.lane} {task.target}", "") for task in tasks)
    found = 0
    for term in terms:
        found |= known.bits.get(term, 0)
    return found


def _shown(page: Page, held: set[str]) -> set[str]:
    """Some posts, and those that stand in their payloads, however deep: a copy of one that is not stored itself would stay when
    that one is deleted. Where a stream only names what is quoted there is no copy."""
    posts = {post.id: post for post in page.posts}
    shown, news = set[str](), held & posts.keys()
    while news:
        shown |= news
        named = {(known, each) for known in news for each in (posts[known].repost_of, posts[known].quote_of) if each}
        found = {each for known, each in named if each in posts and _carries(page, posts[known], posts[each])}
        news = found - shown
    return shown


def _carries(page: Page, carrier: Post, other: Post) -> bool:
    return other.id in page.along or bool(other.raw and other.raw in carrier.raw)
