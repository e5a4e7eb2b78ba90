"""How good a judge is by what people say of a random sample of those it judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from bowerbird.analysis.agreement import NO, UNSURE, YES, Agreement, Share, majority_label, measure_agreement, wilson_share
from bowerbird.clock import from_micros
from bowerbird.ports import Transaction
from bowerbird.reports.community.judged import COLUMNS, JudgedAccount, fields

_SAMPLE = f"""
select s.place, {COLUMNS}
from label_samples s join users u on u.user_no = s.user_no
left join judgements j on j.judge = s.judge and j.subject = 'user' and j.id = u.id and j.value = s.said
where s.crawl = ? and s.judge = ? and s.said = ? and coalesce(u.opts_out, 0) = 0 order by s.place, s.user_no
"""
_LABELS = """
select l.user_no, l.who, l.label from labels l
join label_samples s on s.crawl = l.crawl and s.judge = l.judge and s.user_no = l.user_no
where l.crawl = ? and l.judge = ? and s.said = ? order by l.who, l.user_no
"""
_POSTS = """
select p.text, p.created_at from posts p where p.author = ? and p.deleted_at is null and p.kind <> 'repost' and p.text is not null
order by p.created_at desc limit ?
"""


class ByPerson(Struct, frozen=True):
    """What one person said."""

    who: str
    labelled: int
    unsure: int
    belongs: Share


class Labelled(Struct, frozen=True, kw_only=True):
    """A sample and what people say of it."""

    judge: str
    said: str
    drawn: int
    labelled: int
    """By anybody."""
    unsure: int
    belongs: Share
    """By what most people say of each; those that are unsure are left out."""
    people: tuple[ByPerson, ...] = ()
    agreement: Agreement | None = None


async def read_drawn_accounts(tx: Transaction, crawl: int, judge: str, said: str) -> Sequence[JudgedAccount]:
    """The accounts of a sample, in the order in which they are shown."""
    return [JudgedAccount(**fields(row)) for row in await tx.fetch(_SAMPLE, crawl, judge, said)]


async def read_latest(tx: Transaction, user: int, most: int) -> Sequence[tuple[datetime | None, str]]:
    """The latest posts of an account, in its own words."""
    rows = await tx.fetch(_POSTS, user, most)
    return [(None if row["created_at"] is None else from_micros(row["created_at"]), row["text"]) for row in rows]


async def read_labels(tx: Transaction, crawl: int, judge: str, said: str) -> Mapping[int, Mapping[str, str]]:
    """By account what each person said of it."""
    found: dict[int, dict[str, str]] = {}
    for row in await tx.fetch(_LABELS, crawl, judge, said):
        found.setdefault(row["user_no"], {})[row["who"]] = row["label"]
    return found


async def read_labelled(tx: Transaction, crawl: int, judge: str, said: str) -> Labelled:
    """How a sample stands."""
    sample, labels = await read_drawn_accounts(tx, crawl, judge, said), await read_labels(tx, crawl, judge, said)
    words = [majority_label(each) for each in labels.values()]
    people = sorted({who for each in labels.values() for who in each})
    return Labelled(
        judge=judge,
        said=said,
        drawn=len(sample),
        labelled=len(labels),
        unsure=words.count(UNSURE),
        belongs=_share(words),
        people=tuple(_by(who, [each[who] for each in labels.values() if who in each]) for who in people),
        agreement=measure_agreement(list(labels.values())),
    )


def _by(who: str, words: Sequence[str]) -> ByPerson:
    return ByPerson(who, len(words), words.count(UNSURE), _share(words))


def _share(words: Sequence[str]) -> Share:
    return wilson_share(words.count(YES), words.count(YES) + words.count(NO))
