"""How often words and hashtags occur over time, and when they were asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from string import ascii_lowercase, ascii_uppercase

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.model.subjects.hashtags import tag_form
from bowerbird.ports import Transaction
from bowerbird.reports.counting.by_time import Unit
from bowerbird.reports.figures.written import HOUR, WRITTEN, Chosen

_TAG = f"""
select {WRITTEN} / {HOUR} as hour, count(*) as posts from post_tags t join posts p on p.post_no = t.post_no
where t.tag = ? and {{chosen}} group by 1
"""
_WORD = f"""
select {WRITTEN} / {HOUR} as hour, count(*) as posts from posts p where ({{spelled}}) and {{chosen}} group by 1
"""
_SPELLED = "lower(p.text) like ? escape '\\'"
_TOP = """
select t.tag, count(*) as posts from post_tags t join posts p on p.post_no = t.post_no where {chosen}
group by t.tag order by 2 desc, 1 limit ?
"""
_ASKED = """
select k.target, min(k.added_at) as since, max(case when k.state = 'retired' then g.at end) as until,
    max(case when k.state = 'retired' then 0 else 1 end) as is_asked
from tasks k join lanes l on l.lane = k.lane
left join changes g on g.lane = k.lane and g.target = k.target and g.kind = 'retired'
where l.facet in ('search', 'hashtag', 'counts') group by k.target order by 2, 1 limit ?
"""
_FOLLOWED = """
select term as target, min(since) as since, max(until) as until, max(case when until is null then 1 else 0 end) as is_asked
from keywords group by term order by 2, 1 limit ?
"""


_SMALL = str.maketrans(ascii_uppercase, ascii_lowercase)


class WordHistory(Struct, frozen=True, kw_only=True):
    """One word or hashtag (written with #): posts by stretch of time, and when it was asked for."""

    word: str
    posts: dict[datetime, int]
    asked_since: datetime | None = None
    """None: nobody asked for it by search; it occurs in what was collected."""
    asked_until: datetime | None = None
    """None: it is still asked for."""

    @property
    def total(self) -> int:
        return sum(self.posts.values())


async def read_words(tx: Transaction, words: Sequence[str], chosen: Chosen, unit: Unit) -> list[WordHistory]:
    """These words; without any those that were asked for, and where nothing was, the most frequent hashtags."""
    asked = {str(row["target"]): row for row in await tx.fetch(_ASKED, 1_000)}
    asked |= {str(row["target"]): row for row in await tx.fetch(_FOLLOWED, 1_000)}
    wanted = list(words) or list(asked)[:12] or await _frequent(tx, chosen)
    found: list[WordHistory] = []
    for word in wanted:
        span = asked.get(word) or asked.get(word.removeprefix("#"))
        until = None if span is None or span["is_asked"] or span["until"] is None else from_micros(span["until"])
        posts = await _posts_of(tx, word, chosen, unit)
        since = None if span is None else from_micros(span["since"])
        found.append(WordHistory(word=word, posts=posts, asked_since=since, asked_until=until))
    return found


async def _frequent(tx: Transaction, chosen: Chosen) -> list[str]:
    condition, values = chosen.condition()
    return [f"#{row['tag']}" for row in await tx.fetch(_TOP.format(chosen=condition), *values, 8)]


async def _posts_of(tx: Transaction, word: str, chosen: Chosen, unit: Unit) -> dict[datetime, int]:
    condition, values = chosen.condition()
    if word.startswith("#"):
        rows = await tx.fetch(_TAG.format(chosen=condition), tag_form(word[1:]), *values)
    else:
        patterns = _patterns(word)
        spelled = " or ".join([_SPELLED] * len(patterns))
        rows = await tx.fetch(_WORD.format(chosen=condition, spelled=spelled), *patterns, *values)
    counts: Counter[datetime] = Counter()
    for row in rows:
        counts[unit.begin(from_micros(int(row["hour"]) * HOUR))] += int(row["posts"])
    return dict(sorted(counts.items()))


def _patterns(word: str) -> list[str]:
    """SQLite's `lower` knows ASCII only: other letters are looked for small, large, and large at the beginning."""
    ways = {word, word.lower(), word.upper(), word.capitalize()}
    return sorted({f"%{_literally(way).translate(_SMALL)}%" for way in ways})


def _literally(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
