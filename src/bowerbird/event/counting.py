"""What a frame counted, read from what was saved in it: whoever decides, and however often it is read, it is the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.event.rows import MethodRow
from bowerbird.model.terms import Reading, read_text, term_form
from bowerbird.policies.keywords import Frame, FrameCounter, Method, Probe, Sampled, Settings, Volume, probed
from bowerbird.ports import Row, Transaction
from bowerbird.store.posts.by_id import is_same

_POSTS = f"""
select k.post_no, k.methods, k.at, coalesce(p.text, o.text) as text, u.handle from keyword_posts k
join posts p on p.post_no = k.post_no join users u on u.user_no = p.author
left join posts o on p.repost_of is not null and {is_same("o.id", "p.repost_of")}
where k.crawl = ? and k.frame = ? and p.deleted_at is null and coalesce(u.opts_out, 0) = 0 order by k.post_no
"""
_TAGS = """
select t.post_no, t.tag from keyword_posts k join post_tags t on t.post_no = k.post_no where k.crawl = ? and k.frame = ?
"""
_SAMPLES = "select at, terms from keyword_samples where crawl = ? and frame = ? order by sample"
_PROBES = """
select probe, term, answered_at, found from keyword_probes
where crawl = ? and answered_at is not null and used_at is null order by probe
"""
_HEARD = "select heard from keyword_frames where crawl = ? and frame = ?"
_UNDELIVERED = """
select coalesce(sum(g.missing), 0) as missing from gaps g join streams s on s.stream = g.stream
where s.crawl = ? and g.cause = 'undelivered'
"""


class Answered(Struct, frozen=True):
    """A probe that was answered and that no decision has seen."""

    probe: int
    term: str
    at: datetime
    posts: tuple[Sampled, ...]


class Counted(Struct, frozen=True, kw_only=True):
    """One frame, before methods look at it."""

    began: datetime
    posts: tuple[tuple[int, int, datetime, Reading], ...]
    """Number, methods, time and content of each."""
    written: tuple[tuple[str, str], ...]
    """Hashtags whose letters are not plain ones: in normal form, and as somebody wrote them."""
    samples: tuple[tuple[datetime, Reading], ...]
    share: float
    probes: tuple[Answered, ...]
    heard: int
    undelivered: int
    """Posts that services held back until now, in all."""
    volume: Volume


async def read_frame(tx: Transaction, crawl: int, began: datetime, cap: int | None) -> Counted:
    """The frame as it was saved; `cap`: posts that its streams bring at most in such a time."""
    frame = to_micros(began)
    tags: dict[int, list[str]] = {}
    for row in await tx.fetch(_TAGS, crawl, frame):
        tags.setdefault(row["post_no"], []).append(row["tag"])
    posts = tuple(_post(row, tags) for row in await tx.fetch(_POSTS, crawl, frame))
    heard = await tx.fetch_one(_HEARD, crawl, frame)
    progress = await tx.fetch_one("select share, undelivered from keyword_progress where crawl = ?", crawl)
    (missing,) = await tx.fetch(_UNDELIVERED, crawl)
    before = progress["undelivered"] if progress is not None else 0
    return Counted(
        began=began,
        posts=posts,
        written=tuple(_written(tag) for each in tags.values() for tag in each if not tag.isascii()),
        samples=tuple(_sample(row) for row in await tx.fetch(_SAMPLES, crawl, frame)),
        share=progress["share"] if progress is not None else 1.0,
        probes=tuple(_answered(row) for row in await tx.fetch(_PROBES, crawl)),
        heard=heard["heard"] if heard is not None else 0,
        undelivered=int(missing["missing"]),
        volume=Volume(used=len(posts), cap=cap, lost=max(0, int(missing["missing"]) - before)),
    )


def frame_for(counted: Counted, row: MethodRow, method: Method, settings: Settings) -> Frame:
    """The frame as one method sees it: the posts that its own keywords collected. Pure."""
    counter = FrameCounter(counted.began, row.state, settings, method.kinds)
    for number, methods, at, reading in counted.posts:
        if methods >> row.bit & 1:
            counter.add(reading, at, str(number))
    for term, written in counted.written:
        counter.spell(term, written)
    for at, reading in counted.samples:
        counter.sample(reading, at, counted.share)
    return counter.end(_probes(counted, row), counted.volume)


def _probes(counted: Counted, row: MethodRow) -> list[Probe]:
    return [probed(each.term, each.posts, row.state, each.at) for each in counted.probes]


def _post(row: Row, tags: Mapping[int, Sequence[str]]) -> tuple[int, int, datetime, Reading]:
    number = row["post_no"]
    reading = read_text(row["text"] or "", sorted(tags.get(number, ())), row["handle"] or "")
    return number, row["methods"], from_micros(row["at"]), reading


def _written(tag: str) -> tuple[str, str]:
    return term_form(f"#{tag}"), f"#{tag.lower()}"


def _sample(row: Row) -> tuple[datetime, Reading]:
    return from_micros(row["at"]), Reading(tuple(row["terms"].split(" ")))


def _answered(row: Row) -> Answered:
    posts = msgspec.json.decode(row["found"], type=tuple[Sampled, ...])
    return Answered(row["probe"], row["term"], from_micros(row["answered_at"]), posts)
