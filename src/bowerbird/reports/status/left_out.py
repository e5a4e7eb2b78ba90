"""What crawls want and do not ask, with the reason, and how many targets wait for it."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.errors import Failure
from bowerbird.flows.flow import Flow
from bowerbird.model import TaskState
from bowerbird.ports import Transaction

# Who was asked before and sleeps until the next time waits for nothing.
_WAITS = f"(t.ready = 1 or t.state = '{TaskState.FAILED}' or (t.due is not null and (t.visits = 0 or t.attempts > 0)))"
_LEFT_OUT = f"""
select l.lane, l.facet, l.left_out, l.left_out_at, c.name as crawl, c.flow, s.name as service,
    (select count(*) from tasks t where t.lane = l.lane and {_WAITS}) as waiting
from lanes l join crawls c on c.crawl = l.crawl join services s on s.service = l.service
where l.left_out is not null order by l.lane
"""
_flows = msgspec.json.Decoder(Flow)


class NotAsked(Struct, frozen=True, kw_only=True):
    """One facet that is not asked, and how many targets wait for it."""

    crawl: str
    service: str
    facet: str
    code: str
    why: str
    advice: str
    """What to do about it; empty where nothing can be done."""
    since: datetime
    targets: int


async def read_left_out(tx: Transaction, crawl: str | None = None) -> list[NotAsked]:
    """What is left out, of one crawl or of all."""
    rows = [row for row in await tx.fetch(_LEFT_OUT) if crawl in (None, row["crawl"])]
    waiting = {(row["crawl"], row["service"], row["facet"]): int(row["waiting"]) for row in rows}
    found = []
    for row in rows:
        why = Failure.from_json(row["left_out"])
        before = _leading(_flows.decode(row["flow"]), row["facet"])
        found.append(
            NotAsked(
                crawl=row["crawl"],
                service=row["service"],
                facet=row["facet"],
                code=why.code,
                why=why.problem,
                advice=why.advice,
                since=from_micros(row["left_out_at"]),
                # What waits for a facet that leads to this one waits for this one too.
                targets=max(waiting.get((row["crawl"], row["service"], name), 0) for name in before),
            )
        )
    return found


def _leading(flow: Flow, facet: str) -> set[str]:
    """The facet with those that lead to it from the accounts or posts they are asked about."""
    found, last = {facet}, 0
    while len(found) > last:
        last = len(found)
        found |= {edge.source for edge in flow.edges if edge.to in found and edge.take in ("asked", "owners")}
    return found
