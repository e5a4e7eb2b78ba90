"""Frames: the grid on the clock, and reading one frame from the database.

Rules:

- All workers see the same grid. A frame is decided a little after its end, when posts written in it have arrived.
- A frame that ended while no process was running is missed, not decided: no keyword leaves because the crawl was down.
- A frame is read from the database, so every worker reads the same.
- Deleted posts, and posts of accounts that opted out, do not reach a method, nor do the names of authors in samples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.keywords.rows import MethodRow
from bowerbird.keywords.values import HISTORY, SPAN_FRAMES, Frame, Load, Post, Probe
from bowerbird.model import EPOCH
from bowerbird.model.terms import Reading, read_text, term_form
from bowerbird.ports import Database, Row, Transaction
from bowerbird.store.posts.by_id import is_same

OLDEST_SAMPLE = timedelta(days=1)
MOST_POSTS = 20_000
"""Collected posts of a frame that methods read; of more a random sample."""
_MOST_SPELLINGS = 3
_AWAY = timedelta(minutes=1)
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
where crawl = ? and answered_at is not null and used_at is null order by probe
"""
_VOLUMES = f"""
select frame, heard, visits, rate, decided_at from keyword_frames where crawl = ? and frame <= ?
order by frame desc limit {SPAN_FRAMES}
"""
_UNDELIVERED = """
select coalesce(sum(g.missing), 0) as missing from gaps g join streams s on s.stream = g.stream
where s.crawl = ? and g.cause = 'undelivered'
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
        if now - watched_at > max(self.frame / 2, _AWAY):
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
    """By post, of posts that were not read before."""
    samples: Sequence[Row]
    probes: Sequence[Row]
    volumes: tuple[int, ...]
    load: Load
    heard: int
    """Posts of the frame on full streams and public timelines, with or without a keyword."""
    share: float
    """Share of such posts to sample from now on."""
    undelivered: int
    """Posts withheld because of caps since the crawl began."""

    @property
    def end(self) -> datetime:
        return self.start + self.length


class _Known(Struct, frozen=True):
    """A post that was split into terms."""

    text: str
    handle: str
    reading: Reading
    spellings: tuple[tuple[str, str], ...]
    """Hashtags with accents: normal form, and as written."""


class FrameReader:
    """Reads frames of one crawl. Posts are split into terms once, and again if their text changes."""

    def __init__(self, crawl: int, database: Database, frame: timedelta, services: int, most_posts: int = MOST_POSTS) -> None:
        """`services`: how many are read, if all show everything that is posted there; otherwise 0."""
        self._most_posts = most_posts
        self._crawl = crawl
        self._frame = frame
        self._services = services
        self._database = database
        self._known: dict[int, _Known] = {}
        self._tags = f"select post_no, tag from post_tags where post_no {database.any('bigint')} order by post_no, tag"

    async def read(self, tx: Transaction, start: datetime, methods: Sequence[MethodRow], cap: int | None) -> FrameRows:
        """Read the frame that started at `start`; `cap`: posts that its streams deliver at most in a frame."""
        at, end = to_micros(start), start + self._frame
        posts = await tx.fetch(_POSTS, self._crawl, at, self._most_posts)
        collected = len(posts)
        if collected == self._most_posts:
            (counted,) = await tx.fetch(_COUNT_POSTS, self._crawl, at)
            collected = counted["posts"]
        earlier = {row.method: await tx.fetch(_EARLIER, self._crawl, at, at, 1 << row.bit) for row in methods}
        new = {row["post_no"] for row in posts if not self._is_known(row)}
        new.update(row["post_no"] for found in earlier.values() for row in found if not self._is_known(row))
        tags: dict[int, list[str]] = {}
        for row in await tx.fetch(self._tags, self._database.members(sorted(new))):
            tags.setdefault(row["post_no"], []).append(row["tag"])
        traffic = self._since_last_missed(await tx.fetch(_VOLUMES, self._crawl, at), at)
        heard = sum(row["heard"] for row in traffic)
        progress = await tx.fetch_one("select undelivered from keyword_progress where crawl = ?", self._crawl)
        (withheld,) = await tx.fetch(_UNDELIVERED, self._crawl)
        undelivered, before = int(withheld["missing"]), progress["undelivered"] if progress is not None else 0
        # The share makes the samples of all frames in view a random sample of about `HISTORY` posts.
        share = min(1.0, HISTORY / heard) if heard else 1.0
        oldest = to_micros(end - OLDEST_SAMPLE)
        return FrameRows(
            start=start,
            length=self._frame,
            posts=posts,
            earlier=earlier,
            tags=tags,
            samples=await tx.fetch(_SAMPLES, self._crawl, oldest, to_micros(end), share),
            probes=await tx.fetch(_PROBES, self._crawl),
            volumes=self._volumes(traffic),
            load=Load(used=collected, cap=cap, lost=max(0, undelivered - before)),
            heard=traffic[-1]["heard"],
            share=share,
            undelivered=undelivered,
        )

    def frames_of(self, rows: FrameRows, methods: Sequence[MethodRow]) -> dict[int, Frame]:
        """Return the frame as each method sees it: only posts that its own keywords collected."""
        known = {row["post_no"]: self._read_post(row, rows.tags) for row in rows.posts}
        for found in rows.earlier.values():
            known.update({row["post_no"]: self._read_post(row, rows.tags) for row in found if row["post_no"] not in known})
        self._known = known
        background = tuple(_post(row["at"], Reading(tuple(row["terms"].split(" ")))) for row in reversed(rows.samples))
        probes = tuple(_probe(row) for row in rows.probes)
        frames = {}
        for method in methods:
            own = [row for row in rows.posts if row["methods"] >> method.bit & 1]
            earlier = list(reversed(rows.earlier.get(method.method, ())))
            frames[method.method] = Frame(
                start=rows.start,
                length=rows.length,
                posts=tuple(_post(row["at"], known[row["post_no"]].reading) for row in own),
                earlier=tuple(_post(row["at"], known[row["post_no"]].reading) for row in earlier),
                background=background,
                volumes=rows.volumes,
                probes=probes,
                spellings=_rank_spellings(known[row["post_no"]] for row in (*own, *earlier)),
                load=rows.load,
            )
        return frames

    def _is_known(self, row: Row) -> bool:
        known = self._known.get(row["post_no"])
        return known is not None and known.text == (row["text"] or "") and known.handle == (row["handle"] or "")

    def _read_post(self, row: Row, tags: Mapping[int, Sequence[str]]) -> _Known:
        if self._is_known(row):
            return self._known[row["post_no"]]
        own, text, handle = tags.get(row["post_no"], ()), row["text"] or "", row["handle"] or ""
        spellings = tuple((term_form(f"#{tag}"), f"#{tag.lower()}") for tag in own if not tag.isascii())
        return _Known(text, handle, read_text(text, own, handle), spellings)

    def _since_last_missed(self, newest_first: Sequence[Row], at: int) -> list[Row]:
        """Return the traffic of the frames up to the one that started at `at`, oldest first, back to the last missed one."""
        by_frame = {row["frame"]: row for row in newest_first}
        found: list[Row] = [by_frame.get(at, {"heard": 0, "visits": 0, "rate": 0.0})]
        step = to_micros(EPOCH + self._frame)
        while (before := by_frame.get(at := at - step)) is not None and before["decided_at"] is not None:
            found.append(before)
        return found[::-1]

    def _volumes(self, traffic: Sequence[Row]) -> tuple[int, ...]:
        """Return the posts on the whole network in each of these frames; empty: unknown.

        Full streams count them. Pages of public timelines show how fast posts follow each other. A frame in which
        nothing was read has the volume of the frame before."""
        volumes: list[int] = []
        for row in traffic if self._services else ():
            volume = row["heard"]
            if row["visits"]:
                rate = row["rate"] / row["visits"] * self._services
                volume = max(volume, round(rate * self._frame.total_seconds()))
            if volume or volumes:
                volumes.append(volume or volumes[-1])
        return tuple(volumes)


def encode_probe(posts: Iterable[tuple[datetime, str]]) -> str:
    """Return posts of a probe, each with its time and its terms without names, as stored until a decision has read them."""
    return msgspec.json.encode([(to_micros(at), terms) for at, terms in posts]).decode()


def _probe(row: Row) -> Probe:
    found = msgspec.json.decode(row["found"], type=list[tuple[int, str]])
    posts = tuple(_post(at, Reading(tuple(terms.split(" ")))) for at, terms in sorted(found) if terms)
    return Probe(term=row["term"], at=from_micros(row["answered_at"]), posts=posts)


def _post(at: int, reading: Reading) -> Post:
    return Post(from_micros(at), reading)


def _rank_spellings(posts: Iterable[_Known]) -> dict[str, tuple[str, ...]]:
    counts: dict[str, Counter[str]] = {}
    for post in posts:
        for term, written in post.spellings:
            counts.setdefault(term, Counter())[written] += 1
    return {term: tuple(written for written, _ in count.most_common(_MOST_SPELLINGS)) for term, count in counts.items() if term}
