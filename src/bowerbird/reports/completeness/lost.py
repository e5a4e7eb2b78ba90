"""What was lost by caps: lists that services cut, messages that they held back, posts above what they send."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.ports import Transaction
from bowerbird.reports.completeness.entries import Cause

_MOST = 5_000
_SHORT = """
select l.facet, s.cause, s.detail, s.missing, s.at from
    (select * from shortfalls where lane in (select lane from lanes where crawl = ?) order by shortfall desc limit ?) s
join lanes l on l.lane = s.lane
"""
_HELD = """
select coalesce(sum(g.missing), 0) as missing, count(*) as gaps, max(g.began_at) as at from gaps g
join streams s on s.stream = g.stream where s.crawl = ? and g.cause = 'undelivered'
"""
_FRAMES = """
select coalesce(sum(lost), 0) as lost, count(*) as frames, max(frame) as at from
    (select * from keyword_frames where crawl = ? order by frame desc limit ?) as f where f.lost > 0
"""


class Loss(Struct, frozen=True, kw_only=True):
    """One reason for which something was cut."""

    what: str
    cause: str
    why: str
    times: int
    missing: int | None
    """How many items, where the service says so."""
    last_at: datetime


async def read_lost(tx: Transaction, crawl: int) -> list[Loss]:
    """By what was cut and why, what was lost most often first; of lists the newest five thousand that were cut."""
    times, missing = Counter[tuple[str, str, str]](), defaultdict[tuple[str, str, str], list[int]](list)
    last: dict[tuple[str, str, str], int] = {}
    for row in await tx.fetch(_SHORT, crawl, _MOST):
        key = (row["facet"], row["cause"], row["detail"])
        times[key] += 1
        last[key] = max(last.get(key, 0), row["at"])
        if row["missing"] is not None:
            missing[key].append(row["missing"])
    found = [
        Loss(
            what=facet,
            cause=cause,
            why=why,
            times=count,
            missing=sum(missing[facet, cause, why]) if missing[facet, cause, why] else None,
            last_at=from_micros(last[facet, cause, why]),
        )
        for (facet, cause, why), count in times.most_common()
    ]
    return found + await _held_back(tx, crawl)


async def _held_back(tx: Transaction, crawl: int) -> list[Loss]:
    held, frames = await tx.fetch_one(_HELD, crawl), await tx.fetch_one(_FRAMES, crawl, _MOST)
    found = []
    if held is not None and held["gaps"]:
        why = "the service says that it held messages back"
        found.append(_loss("stream", why, held["gaps"], held["missing"], held["at"]))
    if frames is not None and frames["frames"]:
        why = "more posts fitted the keywords than the service sends in a frame"
        found.append(_loss("keywords", why, frames["frames"], frames["lost"], frames["at"]))
    return found


def _loss(what: str, why: str, times: int, missing: int, at: int) -> Loss:
    return Loss(what=what, cause=Cause.REACH, why=why, times=int(times), missing=int(missing), last_at=from_micros(at))
