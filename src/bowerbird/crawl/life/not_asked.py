"""Facets that a crawl wants and does not ask: for want of a credential, because the server does not offer them, or refused them.

Each keeps its lane, and what the other facets lead to it waits there: a later start that may ask it picks up everything. Why it
is left out stands in the store until then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from bowerbird.clock import to_micros
from bowerbird.crawl.access.how_to_add import NOBODY, USUAL_KIND
from bowerbird.errors import Failure, joined
from bowerbird.flows.flow import WALKS, Flow
from bowerbird.model import Facet
from bowerbird.ports import Transaction

if TYPE_CHECKING:
    from bowerbird.crawl.process.workers.enrolment import Enrolment
    from bowerbird.crawl.work.lanes import Lane

_MARK = "update lanes set left_out_at = case when left_out = ? then left_out_at else ? end, left_out = ? where lane = ?"
_CLEAR = "update lanes set left_out = null, left_out_at = null where lane = ?"
_KNOWN = "select lane from lanes where crawl = ? and left_out is not null"
_OF_SERVICE = "select l.facet from lanes l join services s on s.service = l.service where s.name = ? and l.left_out is not null"
_BY_OTHERS = """
select 1 as found from calls where lane = ? and outcome = 'ok' and call > ?
    and worker in (select worker from workers where ended_at is null)
    and worker <> (select worker from calls where call = ?) limit 1
"""
_LATELY = 10_000
"""Calls: as far back as one looks for an answer."""
_MOST_WORDS = 1000


def kept(flow: Flow, lost: Collection[str]) -> Flow:
    """The flow with the lost facets that go on collecting targets; a walk goes along the lists it may ask, if there are any."""
    walked = [use.name for use in flow.facets if use.ranker in WALKS]
    is_walking = any(name not in lost for name in walked)
    return flow.without(frozenset(name for name in walked if name in lost)) if is_walking else flow


async def mark(tx: Transaction, crawl: int, me: Enrolment, waiting: Mapping[int, Lane], now: datetime) -> None:
    """Writes down which lanes of a crawl are left out by now, and why; all others are asked.

    Workers have different credentials: a lane that one worker leaves out may be asked by another.
    """
    known = [row["lane"] for row in await tx.fetch(_KNOWN, crawl)]
    await tx.execute_many(_CLEAR, [(lane,) for lane in known if lane not in waiting])
    if await me.is_lone(tx, now):
        for number, lane in waiting.items():
            if lane.left_out is not None:
                await mark_lane(tx, number, lane.left_out, now)


async def mark_lane(tx: Transaction, lane: int, why: Failure, now: datetime) -> None:
    stored = why.clipped(_MOST_WORDS).to_json()
    await tx.execute(_MARK, stored, to_micros(now), stored, lane)


async def is_asked_by_others(tx: Transaction, lane: int, call: int) -> bool:
    """Whether a lane lately answered another worker than the one of this call, which still runs."""
    return await tx.fetch_one(_BY_OTHERS, lane, call - _LATELY, call) is not None


async def left_out_of(tx: Transaction, service: str) -> set[str]:
    """The facets of a service that some crawl left out when it ran last."""
    return {row["facet"] for row in await tx.fetch(_OF_SERVICE, service)}


def main_facets(facets: Iterable[Facet]) -> frozenset[str]:
    """What a flow is there for: the facets that bring posts; if it has none, those that bring lists; or else all."""
    asking = [facet for facet in facets if not facet.is_lookup]
    posts = [facet.name for facet in asking if "posts" in facet.yields]
    lists = [facet.name for facet in asking if facet.side is not None]
    return frozenset(posts or lists or [facet.name for facet in facets])


def barred(lanes: Sequence[Lane], reasons: Mapping[int, Failure]) -> Failure | None:
    """Why a crawl of these lanes could not do what it is there for, and what to do; None: it could.

    `reasons`: by lane why it is not asked.
    """
    wanted = main_facets([lane.facet for lane in lanes])
    main = [lane for lane in lanes if lane.facet.name in wanted]
    if not main or any(lane.lane not in reasons for lane in main):
        return None
    by_reason: dict[Failure, list[str]] = {}
    for lane in main:
        by_reason.setdefault(reasons[lane.lane], []).append(f"{lane.facet.name} of {lane.service.name}")
    return joined(_barred(names, why) for why, names in by_reason.items())


def _barred(names: Sequence[str], why: Failure) -> Failure:
    asked = f"{' and '.join(names)} could not be asked for ({why.problem})"
    return Failure(why.code, asked, f"{why.advice}, and start again: what waits is asked then" if why.advice else "")


def takers(lane: Lane) -> list[str]:
    """The kinds of credential that may ask a lane's facet."""
    speaks = lane.provider
    return [kind for kind, table in speaks.tables.items() if kind != NOBODY and lane.facet.name in table] or [USUAL_KIND]
