"""Who belongs to the community of a crawl: those that its judge says so of, or its seeds where nobody judges."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from bowerbird.model.modules import ModuleOption
from bowerbird.ports import ModuleContext, Transaction

JUDGE = ModuleOption("community", "The judge whose `yes` makes an account a member.")
"""The option of all modules that ask who belongs."""
_IS_JUDGED = "select 1 as there from judgements where judge = ? and subject = 'user' limit 1"
_JUDGED = """
select u.user_no from judgements j join users u on u.id = j.id
where j.judge = ? and j.subject = 'user' and j.value = 'yes' and coalesce(u.opts_out, 0) = 0
"""
# A key is a number of one service, or an id, or what follows the name of the network in it.
_SEEDS = """
select distinct u.user_no from tasks t join lanes l on l.lane = t.lane join services s on s.service = l.service
join users u on u.user_no = coalesce(
    (select k.user_no from user_keys k where k.service = l.service and k.key = t.target),
    (select x.user_no from users x where x.id in (t.target, s.network || ':' || t.target)))
where l.crawl = ? and t.depth = 0 and coalesce(u.opts_out, 0) = 0
"""


class Members(Struct, frozen=True):
    """The members as a part of a statement: numbers of accounts, and the values for its marks."""

    sql: str
    values: tuple[Any, ...]
    is_judged: bool
    """By a judge, as against the seeds."""


async def members(tx: Transaction, context: ModuleContext) -> Members:
    judge = context.options["judge"]
    if await tx.fetch_one(_IS_JUDGED, judge) is not None:
        return Members(_JUDGED, (judge,), True)
    return Members(_SEEDS, (context.crawl,), False)


def first_of(facets: frozenset[str], wanted: tuple[str, ...]) -> str:
    """The first of some facets that the crawl asks."""
    return next(facet for facet in wanted if facet in facets)


async def shares(tx: Transaction, context: ModuleContext, which: str) -> dict[str, int | float]:
    """How accounts that were found in some way are judged by now, members included: how many, and which part of those decided
    belongs. `which`: a condition on candidates `c`."""
    rows = await tx.fetch(
        "select j.value, count(*) as n from candidates c join users u on u.user_no = c.user_no "
        "join judgements j on j.judge = ? and j.subject = 'user' and j.id = u.id "
        f"where c.crawl = ? and {which} group by j.value",
        *(context.options["judge"], context.crawl),
    )
    found = {row["value"]: int(row["n"]) for row in rows}
    decided = found.get("yes", 0) + found.get("no", 0)
    told: dict[str, int | float] = {name: found.get(name, 0) for name in ("yes", "no", "undecided")}
    return told | ({"share_that_belongs": round(found.get("yes", 0) / decided, 4)} if decided else {})
