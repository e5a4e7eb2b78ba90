"""What pages show, made from what was counted: the rows of `statistics`, numbers alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from bowerbird.clock import to_micros
from bowerbird.model import from_micros
from bowerbird.modules.statistics.parts import PartState, read_parts
from bowerbird.modules.statistics.places import read_cells
from bowerbird.modules.statistics.tally import DAY, HOUR
from bowerbird.modules.statistics.users import joined
from bowerbird.ports import Database, Row, Transaction

TOPS = ("author", "answered", "reposted", "mention", "tag", "link", "domain")
LISTED = 100
"""How many of each are kept, of all times and of each month."""
_FROM = f"""
from statistic_parts p join statistic_counts c on c.part = p.part
where p.subject = 'posts' and p.state = '{PartState.COUNTED}' and c.measure = ?
"""
_SUMS = f"select c.at, c.key, cast(sum(c.n) as bigint) as n {_FROM} group by c.at, c.key order by c.at, c.key"
_ALL_TIMES = f"""
select 0 as at, c.key, cast(sum(c.n) as bigint) as n, max(c.example) as example {_FROM} group by c.key order by 3 desc, 2 limit ?
"""
_BY_MONTH = f"""
select at, key, n, example from (
    select s.at, s.key, s.n, s.example, row_number() over (partition by s.at order by s.n desc, s.key) as place
    from (select c.at, c.key, cast(sum(c.n) as bigint) as n, max(c.example) as example {_FROM} group by c.at, c.key) s
) ranked where place <= ? order by at, place
"""
_INFLUENCE = f"""
select c.key, cast(sum(case when c.measure = 'reposted' then c.n else 0 end) as bigint) as reposted,
    cast(sum(case when c.measure = 'mention' then c.n else 0 end) as bigint) as mention,
    cast(sum(case when c.measure = 'answered' then c.n else 0 end) as bigint) as answered
from statistic_parts p join statistic_counts c on c.part = p.part
where p.subject = 'posts' and p.state = '{PartState.COUNTED}' and c.measure in ('reposted', 'mention', 'answered')
group by c.key order by sum(case when c.measure = 'answered' then 0 else c.n end) desc, c.key limit ?
"""
FRIENDS = 2
"""Replies in each direction that make two people friends, as Huberman, Romero and Wu counted them."""
_PAIRS = f"""
with replies as materialized (
    select c.key, c.other, cast(sum(c.n) as bigint) as n {_FROM} group by c.key, c.other having sum(c.n) >= {FRIENDS}
)
select a.key as one, a.other as two, a.n as there, b.n as back, count(*) over () as pairs
from replies a join replies b on b.key = a.other and b.other = a.key where a.key < a.other
order by a.n + b.n desc, a.key, a.other limit ?
"""
_MOST_PAIRS = 1_000
_HOURS, _DAYS = 60 * 24, 4_000
"""How many of the latest are shown one by one."""
_LANGUAGES = 8
_KEEP = """
insert into statistics (name, at, body) values (?, ?, ?)
on conflict (name) do update set at = excluded.at, body = excluded.body
"""

Document = Mapping[str, Any]


async def made(database: Database, sign: Callable[[], Awaitable[None]]) -> Mapping[str, Document]:
    """Everything that is shown, as it is counted now. Each is one reading, so that none is long; after each a `sign` is given."""
    documents: dict[str, Document] = {}
    for name, make in _MAKERS.items():
        documents[name] = await _read(database, make)
        await sign()
    for measure in TOPS:
        documents[f"top {measure}"] = await _read(database, _top, measure)
        await sign()
    volumes: Mapping[str, Document] = await _read(database, _volumes)
    await sign()
    return {**documents, **volumes, "map": await read_cells(database)}


async def _read(database: Database, make: Any, *values: Any) -> Any:
    async with database.reading() as tx:
        return await make(tx, *values)


async def publish(tx: Transaction, documents: Mapping[str, Document], at: int) -> None:
    rows = [(name, at, msgspec.json.encode(document).decode()) for name, document in sorted(documents.items())]
    await tx.execute_many(_KEEP, rows)


async def _top(tx: Transaction, measure: str) -> Document:
    """By month, and of all times under 0: key, number, a post."""
    found: defaultdict[str, list[list[int]]] = defaultdict(list)
    for row in (*await tx.fetch(_ALL_TIMES, measure, LISTED), *await tx.fetch(_BY_MONTH, measure, LISTED)):
        found[str(row["at"])].append([row["key"], row["n"], row["example"]])
    return found


async def _influence(tx: Transaction) -> Document:
    rows = await tx.fetch(_INFLUENCE, LISTED)
    return {"users": [[row["key"], row["reposted"], row["mention"], row["answered"]] for row in rows]}


async def _friends(tx: Transaction) -> Document:
    rows = await tx.fetch(_PAIRS, "reply", _MOST_PAIRS)
    pairs = int(rows[0]["pairs"]) if rows else 0
    return {"pairs": pairs, "strongest": [[row["one"], row["two"], row["there"], row["back"]] for row in rows]}


async def _people(tx: Transaction) -> Document:
    parts = [part for part in await read_parts(tx) if part.subject == "users" and part.state is PartState.COUNTED]
    people: Document = msgspec.to_builtins(joined(part.body for part in parts if part.body))
    oldest = min((to_micros(part.counted_at) for part in parts), default=0)
    return {**people, "since": oldest}


async def _totals(tx: Transaction) -> Document:
    sums, delays = await tx.fetch(_SUMS, "total"), await tx.fetch(_SUMS, "delay")
    return {"sums": {str(row["key"]): row["n"] for row in sums}, "delays": {str(row["key"]): row["n"] for row in delays}}


async def _languages(tx: Transaction) -> Document:
    """The most frequent ones by day; the others together under 0."""
    rows = await tx.fetch(_SUMS, "language")
    whole: defaultdict[int, int] = defaultdict(int)
    for row in rows:
        whole[row["key"]] += row["n"]
    shown = sorted(whole, key=lambda key: (-whole[key], key))[:_LANGUAGES]
    series = {key: defaultdict[int, int](int) for key in (*shown, 0)}
    for row in rows:
        series[row["key"] if row["key"] in shown else 0][row["at"]] += row["n"]
    return {"all": sorted(whole.items(), key=lambda item: -item[1])[:LISTED], **_filled(series, DAY, _DAYS)}


async def _volumes(tx: Transaction) -> Mapping[str, Document]:
    rows = await tx.fetch(_SUMS, "posts")
    return {
        "volumes hour": _filled(_summed(rows, HOUR), HOUR, _HOURS),
        "volumes day": _filled(_summed(rows, DAY), DAY, _DAYS),
        "volumes month": _by_month(rows),
        "rhythm": {"week": _week(rows)},
    }


def _summed(rows: Sequence[Row], unit: int) -> dict[int, defaultdict[int, int]]:
    series: dict[int, defaultdict[int, int]] = {}
    for row in rows:
        series.setdefault(row["key"], defaultdict(int))[row["at"] // unit * unit] += row["n"]
    return series


def _filled(series: Mapping[int, Mapping[int, int]], unit: int, most: int) -> Document:
    """Numbers from the first time to the last without a break, of the latest times; `before`: how many are older."""
    times = [at for values in series.values() for at in values]
    if not times:
        return {"times": [], "series": {}, "before": 0}
    last = max(times)
    first = max(min(times), last - (most - 1) * unit)
    shown = range(first, last + 1, unit)
    told = {str(key): [values.get(at, 0) for at in shown] for key, values in series.items()}
    before = sum(n for values in series.values() for at, n in values.items() if at < first)
    return {"times": list(shown), "series": told, "before": before}


def _by_month(rows: Sequence[Row]) -> Document:
    series: dict[int, defaultdict[int, int]] = {}
    for row in rows:
        month = from_micros(row["at"]).replace(day=1, hour=0)
        series.setdefault(row["key"], defaultdict(int))[to_micros(month)] += row["n"]
    times = sorted({at for values in series.values() for at in values})
    return {"times": times, "series": {str(key): [values[at] for at in times] for key, values in series.items()}, "before": 0}


def _week(rows: Sequence[Row]) -> list[list[int]]:
    """Posts by day of the week (Monday first) and hour of the day, in UTC, as they were written."""
    found = [[0] * 24 for _ in range(7)]
    for row in rows:
        if row["key"] >= 0:
            when = from_micros(row["at"])
            found[when.weekday()][when.hour] += row["n"]
    return found


_MAKERS = {
    "influence": _influence,
    "friends": _friends,
    "people": _people,
    "totals": _totals,
    "languages": _languages,
}
