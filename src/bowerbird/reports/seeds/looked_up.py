"""Accounts as people look for them: those that a look-up led to, and those of the store that are called so."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from bowerbird.model.subjects.telling import may_be_told
from bowerbird.ports import Database, Row, Transaction
from bowerbird.reports.histories.find_account import find_accounts

_MOST = 100
_COLUMNS = "u.user_no, u.id, u.network, u.handle, u.name, u.description, u.location, u.followers, u.posts"
_THERE = may_be_told("u")
_LED_TO = f"""
select distinct {_COLUMNS} from tasks t join lanes l on l.lane = t.lane join crawls w on w.crawl = l.crawl
join services s on s.service = l.service
join users u on u.user_no = coalesce(
    (select k.user_no from user_keys k where k.service = l.service and k.key = t.target),
    (select x.user_no from users x where x.id in (t.target, s.network || ':' || t.target)))
where w.name = ? and {_THERE} order by u.user_no limit {_MOST}
"""


class Found(Struct, frozen=True, kw_only=True):
    """An account that somebody may have meant."""

    number: int
    id: str
    network: str
    handle: str | None
    name: str | None
    description: str | None
    location: str | None
    followers: int | None
    posts: int | None

    @property
    def seed(self) -> str:
        """What a crawl file says for it."""
        return f"@{self.handle}" if self.handle else self.id.partition(":")[2] if ":" in self.id[:12] else self.id


async def read_led_to(tx: Transaction, crawl: str) -> Sequence[Found]:
    """Whom a look-up found."""
    return [_found(row) for row in await tx.fetch(_LED_TO, crawl)]


async def read_called(database: Database, tx: Transaction, text: str) -> Sequence[Found]:
    """Those of the store that are called so, now or once, by handle or id."""
    accounts = (await find_accounts(database, tx, text))[:_MOST]
    sql = f"select {_COLUMNS} from users u where {_THERE} and u.user_no {database.any('bigint')} order by u.user_no"
    rows = await tx.fetch(sql, database.members([each.number for each in accounts])) if accounts else ()
    return [_found(row) for row in rows]


def _found(row: Row) -> Found:
    told = ("id", "network", "handle", "name", "description", "location", "followers", "posts")
    return Found(number=row["user_no"], **{name: row[name] for name in told})
