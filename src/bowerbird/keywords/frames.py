"""Frames: the grid on the clock, and reading one frame from the database.

Rules:

- All workers see the same grid. A frame is decided a little after its end, when posts written in it have arrived.
- A frame that ended while no process was running is missed, not decided: no keyword leaves because the crawl was down.
- A frame is read from the database, so every worker reads the same.
- Deleted posts, and posts of accounts that opted out, do not reach a method, nor do the names of authors in samples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import chain

import msgspec
from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.keywords.rows import MethodRow
from bowerbird.keywords.values import HISTORY, SPAN_FRAMES, Frame, Post, Probe
from bowerbird.model import EPOCH
from bowerbird.model.terms import Reading, read_text, term_form
from bowerbird.ports import Database, Row, Transaction
from bowerbird.store.forgetting.tombstones import FORGOTTEN
from bowerbird.store.posts.by_id import is_same

OLDEST_SAMPLE = timedelta(days=1)
MOST_POSTS = 20_000
"""Collected posts of a frame that methods read; of more a random sample."""
_SELECT_POSTS = f"""
select k.post_no, k.methods, k.at, u.handle,
    coalesce(p.text, case when coalesce(w.opts_out, 0) = 0 then o.text end) as text
from keyword_posts k join posts p on p.post_no = k.post_no join users u on u.user_no = p.author
left join posts o on p.repost_of is not null and {is_same("o.id", "p.repost_of")} and o.deleted_at is null
left join users w on w.user_no = o.author
where k.crawl = ? and p.deleted_at is null and coalesce(u.opts_out, 0) = 0
"""
_POSTS = f"""
select * from ({_SELECT_POSTS} and k.frame = ? order by k.post_no * 48271 % 65537, k.post_no limit ?) chosen order by at, post_no
"""
_COUNT_POSTS = "select count(*) as posts from keyword_posts where crawl = ? and frame = ?"
_EARLIER = f"""
{_SELECT_POSTS} and k.at < ? and (k.frame is null or k.frame < ?) and (k.methods & ?) <> 0
order by k.at desc, k.post_no desc limit {HISTORY}
"""
_SAMPLES = f"""
select at, terms from keyword_samples where crawl = ? and at >= ? and at < ? and draw < ?
order by at desc, sample desc limit {HISTORY}
"""
_PROBES = """
select probe, term, answered_at, found from keyword_probes
where crawl = ? and answered_at is not null and used_at is null and found is not null order by probe
"""
_VOLUMES = f"""
select frame, heard, visits, rate, decided_at from keyword_frames where crawl = ? and frame <= ?
order by frame desc limit {SPAN_FRAMES}
"""
_LOST = """
select coalesce(sum(g.missing), 0) - (select coalesce(sum(f.lost), 0) from keyword_frames f where f.crawl = ?) as posts
from gaps g join streams s on s.stream = g.stream where s.crawl = ? and g.cause = 'undelivered'
"""


class Grid(Struct, frozen=True):
    """Frames of equal length, side by side since the epoch."""

    frame: timedelta
    grace: timedelta
    """How long after its end a frame is decided."""

    def start_of(self, when: datetime) -> datetime:
        """Return when the frame that contains `when` started."""
        return EPOCH + (when - EPOCH) // self.frame * self.frame

    def due(self, start: datetime) -> datetime:
        """Return when a frame is decided."""
        return start + self.frame + self.grace

    def last_missed(self, watched_at: datetime, now: datetime) -> datetime:
        """Return the start of the newest frame that is missed, given when the crawl was last seen running."""
        if now - watched_at > max(self.frame / 2, timedelta(minutes=1)):
            return self.start_of(now) - self.frame
        return self.start_of(watched_at - OLDEST_SAMPLE) - self.frame


class FrameRows(Struct, frozen=True, kw_only=True):
    """A frame as stored, for all methods."""

    start: datetime
    length: timedelta
    posts: Sequence[Row]
    earlier: dict[int, Sequence[Row]]
    """By method."""
    tags: dict[int, list[str]]
    """By post."""
    samples: Sequence[Row]
    probes: Sequence[Row]
    volumes: tuple[int, ...]
    collected: int
    lost: int
    """Posts that networks withheld because of caps, and that no earlier frame has counted."""
    heard: int
    """Posts of the frame on full streams and public timelines, with or without a keyword."""
    share: float
    """Share of such posts to sample from now on."""


async def read_frame(
    tx: Transaction,
    database: Database,
    crawl: int,
    start: datetime,
    length: timedelta,
    methods: Sequence[MethodRow],
    *,
    full_services: int,
    most_posts: int = MOST_POSTS,
) -> FrameRows:
    """Read the frame that started at `start`; `full_services`: how many are read, if all show everything; otherwise 0."""
    at, end = to_micros(start), start + length
    posts = await tx.fetch(_POSTS, crawl, at, most_posts)
    earlier = {row.method: await tx.fetch(_EARLIER, crawl, at, at, 1 << row.bit) for row in methods}
    tags: dict[int, list[str]] = {}
    tagged = f"select post_no, tag from post_tags where post_no {database.any('bigint')} order by post_no, tag"
    for row in await tx.fetch(tagged, database.members(sorted({row["post_no"] for row in chain(posts, *earlier.values())}))):
        tags.setdefault(row["post_no"], []).append(row["tag"])
    traffic = _since_last_missed(await tx.fetch(_VOLUMES, crawl, at), at, length)
    heard = sum(row["heard"] for row in traffic)
    # The share makes the samples of all frames in view a random sample of about `HISTORY` posts.
    share = min(1.0, HISTORY / heard) if heard else 1.0
    (counted,) = await tx.fetch(_COUNT_POSTS, crawl, at)
    (lost,) = await tx.fetch(_LOST, crawl, crawl)
    return FrameRows(
        start=start,
        length=length,
        posts=posts,
        earlier=earlier,
        tags=tags,
        samples=await tx.fetch(_SAMPLES, crawl, to_micros(end - OLDEST_SAMPLE), to_micros(end), share),
        probes=await tx.fetch(_PROBES, crawl),
        volumes=_volumes(traffic, length, full_services),
        collected=counted["posts"],
        lost=max(0, int(lost["posts"])),
        heard=traffic[-1]["heard"],
        share=share,
    )


def _since_last_missed(newest_first: Sequence[Row], at: int, length: timedelta) -> list[Row]:
    """Return the traffic of the frames up to the one that started at `at`, oldest first, back to the last missed one."""
    by_frame = {row["frame"]: row for row in newest_first}
    found: list[Row] = [by_frame.get(at, {"heard": 0, "visits": 0, "rate": 0.0})]
    step = to_micros(EPOCH + length)
    while (before := by_frame.get(at := at - step)) is not None and before["decided_at"] is not None:
        found.append(before)
    return found[::-1]


def _volumes(traffic: Sequence[Row], length: timedelta, full_services: int) -> tuple[int, ...]:
    """Return the posts on the whole network in each of these frames; empty: unknown.

    Full streams count them. Pages of public timelines show how fast posts follow each other. A frame in which
    nothing was read has the volume of the frame before."""
    volumes: list[int] = []
    for row in traffic if full_services else ():
        rate = row["rate"] / row["visits"] * full_services if row["visits"] else 0.0
        volume = max(row["heard"], round(rate * length.total_seconds()))
        if volume or volumes:
            volumes.append(volume or volumes[-1])
    return tuple(volumes)


def frames_of(rows: FrameRows, methods: Sequence[MethodRow]) -> dict[int, Frame]:
    """Return by method the frame as it sees it: only posts that its own keywords collected."""
    posts: dict[int, Post] = {}
    for row in chain(rows.posts, *rows.earlier.values()):
        if row["post_no"] not in posts:
            text, tags = (row["text"] or "").replace(FORGOTTEN, " "), rows.tags.get(row["post_no"], ())
            posts[row["post_no"]] = Post(from_micros(row["at"]), read_text(text, tags, row["handle"] or ""))
    background = tuple(_stored_post(row["at"], row["terms"]) for row in reversed(rows.samples))
    probes = tuple(_probe(row) for row in rows.probes)
    frames = {}
    for method in methods:
        own = [row["post_no"] for row in rows.posts if row["methods"] >> method.bit & 1]
        earlier = [row["post_no"] for row in reversed(rows.earlier[method.method])]
        frames[method.method] = Frame(
            start=rows.start,
            length=rows.length,
            posts=tuple(posts[number] for number in own),
            earlier=tuple(posts[number] for number in earlier),
            background=background,
            volumes=rows.volumes,
            probes=probes,
            spellings=_rank_spellings(tag for number in (*own, *earlier) for tag in rows.tags.get(number, ())),
        )
    return frames


def _probe(row: Row) -> Probe:
    found = msgspec.json.decode(row["found"], type=list[tuple[int, str]])
    posts = tuple(_stored_post(at, terms) for at, terms in sorted(found) if terms)
    return Probe(term=row["term"], at=from_micros(row["answered_at"]), posts=posts)


def _stored_post(at: int, terms: str) -> Post:
    """Return a post of which only the terms are stored."""
    return Post(from_micros(at), Reading(tuple(term for term in terms.split(" ") if term != FORGOTTEN)))


def _rank_spellings(tags: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the spellings of hashtags with accents, by their normal form, the most frequent first."""
    counts: dict[str, Counter[str]] = {}
    for tag in tags:
        if not tag.isascii() and (term := term_form(f"#{tag}")):
            counts.setdefault(term, Counter())[f"#{tag.lower()}"] += 1
    return {term: tuple(written for written, _ in count.most_common(3)) for term, count in counts.items()}
