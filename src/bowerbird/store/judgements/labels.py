"""Samples of judged accounts, drawn once, and what people say of those in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from random import Random

from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.errors import UserError
from bowerbird.ports import Database, Transaction

# Seeds were put there by hand; so were those that a person named.
_BY_HAND = """
select coalesce(
    (select k.user_no from user_keys k where k.service = l.service and k.key = t.target),
    (select x.user_no from users x where x.id in (t.target, s.network || ':' || t.target))) as user_no
from tasks t join lanes l on l.lane = t.lane join services s on s.service = l.service where l.crawl = ? and t.depth = 0
"""
_NAMED = "select user_no from candidates where crawl = ? and source = 'person'"
_SAID = """
select u.user_no from judgements j join users u on u.id = j.id
where j.judge = ? and j.subject = 'user' and j.value = ? and j.decided_by is null and coalesce(u.opts_out, 0) = 0
"""
# Of whom the judge said neither: those that were looked at and are readable.
_OPEN = """
select c.user_no from candidates c join users u on u.user_no = c.user_no
where c.crawl = ? and c.state = 'valid' and c.source <> 'member' and coalesce(u.opts_out, 0) = 0 and not exists (
    select 1 from judgements j where j.judge = ? and j.subject = 'user' and j.id = u.id)
"""
_DRAWN = "select user_no from label_samples where crawl = ? and judge = ?"
_PLACES = (
    "select coalesce(max(abs(place)), 0) as last, count(*) as n from label_samples where crawl = ? and judge = ? and said = ?"
)
_DRAW = "insert into label_samples (crawl, judge, said, place, user_no, drawn_at) values (?, ?, ?, ?, ?, ?)"
_KEEP = """
insert into labels (crawl, judge, user_no, who, label, at) values (?, ?, ?, ?, ?, ?)
on conflict (crawl, judge, user_no, who) do update set label = excluded.label, at = excluded.at
"""
_JUDGES = "select judge, value, count(*) as n from judgements where subject = 'user' group by judge, value order by 1, 3 desc"
_FIND = """
select u.user_no from label_samples s join users u on u.user_no = s.user_no
where s.crawl = ? and s.judge = ? and s.said = ? and (u.id = ? or u.handle = ?)
"""
_MOST_TOLD = 8


class Group(Struct, frozen=True):
    """The accounts of a crawl of which one judge said one thing."""

    crawl: int
    judge: str
    said: str


class Label(Struct, frozen=True):
    """What a person says of an account."""

    user: int
    who: str
    word: str


async def draw(tx: Transaction, group: Group, size: int, lots: Random, now: datetime) -> int:
    """Makes the sample of a group as large as is wanted, as far as there are accounts; answers how large it is. Who is in it
    stays."""
    crawl, judge, said = group.crawl, group.judge, group.said
    row = await tx.fetch_one(_PLACES, crawl, judge, said)
    last, had = (int(row["last"]), int(row["n"])) if row is not None else (0, 0)
    if had >= size:
        return had
    left_out = {row["user_no"] for sql in (_BY_HAND, _NAMED) for row in await tx.fetch(sql, crawl)}
    left_out |= {row["user_no"] for row in await tx.fetch(_DRAWN, crawl, judge)}
    found = {row["user_no"] for row in await tx.fetch(_SAID, judge, said)}
    if said == "undecided":
        found |= {row["user_no"] for row in await tx.fetch(_OPEN, crawl, judge)}
    new = lots.sample(sorted(found - left_out), min(size - had, len(found - left_out)))
    if not new and not had:
        words = await _nobody(tx, judge, said, has_any=bool(found))
        raise UserError(words, code="" if found else "unknown_name")
    rows = [(crawl, judge, said, place, number, to_micros(now)) for place, number in enumerate(new, last + 1)]
    await tx.execute_many(_DRAW, rows)
    return had + len(new)


async def _nobody(tx: Transaction, judge: str, said: str, *, has_any: bool) -> str:
    """Why there is nobody to label."""
    if has_any:
        return f"all accounts of which {judge!r} says {said!r} were added by hand: there is none to judge it by"
    rows = await tx.fetch(_JUDGES)
    told = ", ".join(f"{row['judge']} {row['value']} ({row['n']:,})" for row in rows[:_MOST_TOLD])
    return f"the judge {judge!r} says {said!r} of no account here; there are: {told or 'no judgements of accounts'}"


async def keep_label(tx: Transaction, group: Group, label: Label, now: datetime) -> None:
    await tx.execute(_KEEP, group.crawl, group.judge, label.user, label.who, label.word, to_micros(now))


async def keep_labels(database: Database, group: Group, labels: Iterable[tuple[str, str, str]], now: datetime) -> Sequence[str]:
    """Keeps labels by id or handle, person and word; answers which ids and handles are in no sample."""
    unknown = []
    async with database.transaction() as tx:
        for named, who, label in labels:
            row = await tx.fetch_one(_FIND, group.crawl, group.judge, group.said, named, named.removeprefix("@"))
            if row is None:
                unknown.append(named)
            else:
                await keep_label(tx, group, Label(row["user_no"], who, label), now)
    return unknown
