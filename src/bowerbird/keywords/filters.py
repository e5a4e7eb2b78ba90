"""Filters for the pages of an event crawl: which posts are stored, and what is counted and sampled.

Each post that is stored is noted in `keyword_posts` with the methods whose keywords it contains and the frame
that counts it, in the transaction that stores it. Posts of full streams and public timelines are counted and
sampled in the same transaction, so that a response that is processed twice counts once. A frame that was
decided never changes: a post that arrives up to two minutes late counts in the oldest open frame, and an older
post is part of no frame.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from zlib import crc32

from msgspec import Struct, structs

from bowerbird.clock import to_micros
from bowerbird.keywords import rows
from bowerbird.keywords.frames import Grid
from bowerbird.keywords.rows import Progress
from bowerbird.model import Page, Post, Saved, Service, Subject, Task
from bowerbird.model.terms import Matcher, Reading, read_text
from bowerbird.ports import Database, Transaction
from bowerbird.store.posts.by_id import with_ids

LATE = timedelta(minutes=2)
"""A post that arrives at most this late is counted in the oldest open frame."""
_COUNT = """
insert into keyword_frames (crawl, frame, ends, heard, visits, rate) values (?, ?, ?, ?, ?, ?)
on conflict (crawl, frame) do update set heard = keyword_frames.heard + excluded.heard,
    visits = keyword_frames.visits + excluded.visits, rate = keyword_frames.rate + excluded.rate
"""
_SAMPLE = "insert into keyword_samples (crawl, at, draw, terms) values (?, ?, ?, ?)"
_SAMPLED = "select at, draw from keyword_samples where crawl = ? and at between ? and ?"
_COLLECTED = """
insert into keyword_posts (crawl, post_no, at, frame, methods) values (?, ?, ?, ?, ?)
on conflict (crawl, post_no) do update set methods = keyword_posts.methods | excluded.methods
"""


class Followed(Struct, frozen=True):
    """The keywords of all methods."""

    progress: Progress
    matcher: Matcher
    methods: dict[str, int]
    """By keyword: a bit for each method that follows it."""

    def methods_of(self, reading: Reading) -> int:
        """Return the bits of the methods whose keywords the post contains."""
        found = 0
        for term in self.matcher.matched(reading):
            found |= self.methods[term]
        return found


class KeywordCache:
    """A copy of the keywords in the database, read again when their version changes."""

    def __init__(self, crawl: int) -> None:
        self.crawl = crawl
        self._known: Followed | None = None

    async def read(self, tx: Transaction) -> Followed:
        """Return the keywords as they are in this transaction."""
        progress = await rows.read_progress(tx, self.crawl)
        if self._known is None or self._known.progress.version != progress.version:
            bits: dict[str, int] = {}
            for row in await rows.read_methods(tx, self.crawl):
                for term in row.state.keywords:
                    bits[term] = bits.get(term, 0) | 1 << row.bit
            self._known = Followed(progress, Matcher(bits), bits)
        self._known = structs.replace(self._known, progress=progress)
        return self._known


class KeywordFilter(Struct, frozen=True):
    """For streams that the network filters and for searches: stores every post and notes its methods."""

    cache: KeywordCache
    grid: Grid
    database: Database
    terms_by_place: Mapping[tuple[int, str], str]
    """By queue and target of a search, the keyword that it searches for."""

    async def sift(self, tx: Transaction, tasks: Sequence[Task], page: Page, service: Service, now: datetime) -> Page:
        return page

    async def note(self, tx: Transaction, tasks: Sequence[Task], page: Page, saved: Saved, now: datetime) -> None:
        """Note which methods collected the posts that were stored."""
        followed = await self.cache.read(tx)
        listed = {post.key: post for post in page.posts if post.id not in page.along}
        readings = readings_of(page, listed.values())
        # Posts that a search found belong to its keyword even if our own reading of them does not contain it.
        searched = 0
        for task in tasks:
            searched |= followed.methods.get(self.terms_by_place.get((task.lane, task.target), ""), 0)
        stored = {each.id: listed[each.key] for each in saved.posts if each.key in listed}
        if not stored:
            return
        of_posts = with_ids(self.database, "p")
        sql = f"select p.post_no, p.id from posts p where p.deleted_at is null and {of_posts} order by p.post_no"
        collected = []
        for row in await tx.fetch(sql, self.database.members(sorted(stored))):
            post = stored[row["id"]]
            at, methods = time_of(post, now), followed.methods_of(readings[post.key]) | searched
            frame = self._frame_of(followed, at)
            counted = None if frame is None else to_micros(frame)
            collected.append((self.cache.crawl, row["post_no"], to_micros(at), counted, methods))
        await tx.execute_many(_COLLECTED, collected)

    async def without_opted_out(self, tx: Transaction, page: Page, posts: Sequence[Post]) -> list[Post]:
        """Return the posts whose authors did not opt out; of reposts neither did the first author."""
        if not posts:
            return []
        first = {post.id: post.author for post in page.posts}
        authors = {post.id: {post.author, first.get(post.repost_of or "", post.author)} for post in posts}
        sql = f"select id from users where opts_out = 1 and id {self.database.any('text')}"
        opted_out = {row["id"] for row in await tx.fetch(sql, self.database.members(sorted(set().union(*authors.values()))))}
        opted_out.update(user.id for user in page.users if user.opts_out)
        return [post for post in posts if opted_out.isdisjoint(authors[post.id])]

    def _frame_of(self, followed: Followed, at: datetime) -> datetime | None:
        """Return the start of the frame that counts a post written at `at`; None: no frame does."""
        frame, oldest = self.grid.start_of(at), followed.progress.decided + self.grid.frame
        if frame >= oldest:
            return frame
        return oldest if at >= oldest - max(LATE, self.grid.grace) else None


class FullStreamFilter(KeywordFilter, frozen=True):
    """For full streams and public timelines: stores posts with a keyword, counts all, and samples some."""

    async def sift(self, tx: Transaction, tasks: Sequence[Task], page: Page, service: Service, now: datetime) -> Page:
        """Count and sample the posts of a page; return the page with only those that contain a keyword."""
        followed = await self.cache.read(tx)
        listed = [post for post in page.posts if post.id not in page.along]
        readings = readings_of(page, listed)
        # Where each visit of a timeline shows the newest posts, the last visit has counted the older ones.
        visits = [task.visited_at for task in tasks if task.visited_at is not None and not task.progress.newest]
        new = {}
        for post in listed:
            at = time_of(post, now)
            if all(at > visit for visit in visits) and (frame := self._frame_of(followed, at)) is not None:
                new[post.id] = post, frame
        counts, rate = Counter(frame for _, frame in new.values()), posts_per_second(page, tasks, now)
        for frame, heard in sorted(counts.items()):
            visit = (1, rate) if rate is not None and frame == max(counts) else (0, 0.0)
            await tx.execute(_COUNT, self.cache.crawl, to_micros(frame), to_micros(frame + self.grid.frame), heard, *visit)
        # The id decides, so that a post that a stream repeats is drawn, or not, each time.
        draws = {key: crc32(key.encode()) / 2**32 for key in new}
        drawn = [post for post, _ in new.values() if draws[post.id] < followed.progress.share]
        samples = [
            (self.cache.crawl, to_micros(time_of(post, now)), draws[post.id], terms)
            for post in await self.without_opted_out(tx, page, drawn)
            if (terms := terms_without_names(readings[post.key]))
        ]
        if samples:
            # After a restart, pages that fill the gap contain posts that were sampled before it.
            times = [at for _, at, _, _ in samples]
            rows = await tx.fetch(_SAMPLED, self.cache.crawl, min(times), max(times))
            known = {(row["at"], row["draw"]) for row in rows}
            await tx.execute_many(_SAMPLE, [each for each in samples if each[1:3] not in known])
        kept = {post.id for post in listed if followed.methods_of(readings[post.key])}
        return reduced(page, kept, await self._stored(tx, page, service))

    async def _stored(self, tx: Transaction, page: Page, service: Service) -> frozenset[str]:
        """Return the keys of stored posts and accounts among the deletions and users of a page."""
        users = {each.key for each in page.gone if each.subject is Subject.USER} | {user.id for user in page.users}
        posts = {each.key for each in page.gone if each.subject is Subject.POST}
        in_list = self.database.any("text")
        found: set[str] = set()
        for keys, table, sql in (
            (users, "user_keys", f"select id as key from users where id {in_list}"),
            (posts, "post_keys", f"select p.id as key from posts p where {with_ids(self.database, 'p')}"),
        ):
            if keys:
                known = f"select key from {table} where key {in_list} and service = (select service from services where name = ?)"
                members = self.database.members(sorted(keys))
                found.update(row["key"] for row in await tx.fetch(f"{sql} union {known}", members, members, service.name))
        return frozenset(found)


def posts_per_second(page: Page, tasks: Sequence[Task], now: datetime) -> float | None:
    """Estimate the traffic of a public timeline from one page of it; None for streams and pages that show too little.

    A page that goes back to the last visit shows all posts since then. A page that was cut off shows the
    newest posts only: their number is divided by the time that they span."""
    if len(tasks) != 1:
        return None
    times, task = [time_of(post, now) for post in page.posts if post.id not in page.along], tasks[0]
    if page.cursor is None and task.progress.newest and task.visited_at is not None and task.visited_at < now:
        return len(times) / (now - task.visited_at).total_seconds()
    span = (max(times) - min(times)).total_seconds() if times else 0.0
    return (len(times) - 1) / span if span > 0 else None


def reduced(page: Page, chosen: Collection[str], stored: Collection[str]) -> Page:
    """Return the page with the posts `chosen`, the posts inside them, and its statements about stored items."""
    posts = [post for post in page.posts if post.id in chosen]
    named = {each for post in posts for each in (post.reply_to, post.root) if each in page.along}
    inside = _posts_inside(page, {*chosen, *named})
    posts += [post for post in page.posts if post.id in inside and post.id not in chosen]
    authors = {post.author for post in posts}
    return structs.replace(
        page,
        posts=tuple(posts),
        along=(page.along | (inside - set(chosen))) & {post.id for post in posts},
        users=tuple(user for user in page.users if user.id in authors or user.id in stored),
        gone=tuple(each for each in page.gone if each.key in stored),
        relations=(),
        ended=(),
        reactions=(),
    )


def _posts_inside(page: Page, outer: set[str]) -> set[str]:
    """Return the posts `outer` and those that their payloads contain, at any depth.

    A post inside a stored payload is stored too: otherwise its copy would stay when the post is deleted."""
    posts = {post.id: post for post in page.posts}
    found = outer & posts.keys()
    waiting = [posts[each] for each in found]
    while waiting:
        post = waiting.pop()
        for each in (post.repost_of, post.quote_of):
            if each in posts and each not in found and (each in page.along or (posts[each].raw and posts[each].raw in post.raw)):
                found.add(each)
                waiting.append(posts[each])
    return found


def readings_of(page: Page, posts: Iterable[Post]) -> dict[str, Reading]:
    """Return the readings of posts by key; the text of a repost is that of the original."""
    by_id = {post.id: post for post in page.posts}
    handles = {user.id: user.handle or "" for user in page.users}
    found = {}
    for post in posts:
        original = by_id.get(post.repost_of or "", post)
        found[post.key] = read_text(original.text or "", original.tags, handles.get(post.author, ""))
    return found


def terms_without_names(reading: Reading) -> str:
    """Return the terms of a post in their order, without mentions and the author's handle."""
    return " ".join(token for token in reading.tokens if token[0] != "@")


def time_of(post: Post, now: datetime) -> datetime:
    """Return when a post was written, or `now` if its own date is missing, doubtful or in the future."""
    at = post.listed_at or (None if post.is_time_doubtful else post.created_at) or now
    return min(at, now)
