"""The ledger by id: of the posts that were asked for by their ids, how many are here, and what became of the others."""

from __future__ import annotations

from collections.abc import Mapping

from bowerbird.model import Subject
from bowerbird.ports import Transaction
from bowerbird.reports.completeness.entries import Cause, Entry, Missing, left_out, opted_out, summed
from bowerbird.reports.completeness.world import LaneFacts, Surroundings
from bowerbird.store.people.names import has_local_keys, id_for

# What a server calls a post is remembered where it means nothing elsewhere; on other networks the id says it.
_BY_KEY = "post_keys k join posts p on p.post_no = k.post_no where k.service = ? and k.key = t.target"
_BY_ID = "posts p where p.id = cast(? as text) || t.target"
_ASKED = """
select count(*) as asked,
    sum(case when p.deleted_at is null and coalesce(u.opts_out, 0) = 0 then 1 else 0 end) as captured,
    sum(case when p.deleted_at is not null then 1 else 0 end) as deleted,
    sum(case when p.deleted_at is null and u.opts_out = 1 then 1 else 0 end) as opted_out
from tasks t join posts p on p.post_no = (select p.post_no from {here}) join users u on u.user_no = p.author where t.lane = ?
"""
_ABSENT = """
select case when t.state = 'failed' then 'failed' when t.visits > 0 then 'asked' else 'waiting' end as fate, count(*) as posts
from tasks t where t.lane = ? and not (t.state = 'retired' and t.visits = 0) and not exists (select 1 from {here})
group by fate
"""
_FATES = {
    "asked": (Cause.DELETED, "not there when asked for: deleted, or never there"),
    "waiting": (Cause.BUDGET, "their turn to be asked for has not come"),
    "failed": (Cause.UNKNOWN, "given up after many tries"),
}
_ASKED_FOR = "every id asked for is looked up in the store"


async def id_entries(tx: Transaction, around: Surroundings) -> list[Entry]:
    """One entry for each lane that asks for posts by their ids."""
    lanes = [lane for lane in around.wanted if lane.facet.subject is Subject.POST and lane.facet.is_own_route]
    return [entry for lane in lanes if (entry := await _entry(tx, lane)) is not None]


async def _entry(tx: Transaction, lane: LaneFacts) -> Entry | None:
    is_local = has_local_keys(lane.network)
    here, named = (_BY_KEY, lane.service) if is_local else (_BY_ID, id_for(lane.network, lane.service_name, ""))
    found = await tx.fetch_one(_ASKED.format(here=here), named, lane.lane)
    row = {name: int(found[name] or 0) if found else 0 for name in ("asked", "captured", "deleted", "opted_out")}
    absent = {each["fate"]: int(each["posts"]) for each in await tx.fetch(_ABSENT.format(here=here), lane.lane, named)}
    if not row["asked"] and not absent:
        return None
    parts = [*_missing(absent, lane), *opted_out(row["opted_out"])]
    low, likely, high = summed(parts)
    return Entry(
        subject=f"{lane.facet.name} of {lane.crawl}",
        crawl=lane.crawl,
        service=lane.service_name,
        facet=lane.facet.name,
        captured=row["captured"],
        deleted=row["deleted"],
        low=low,
        likely=likely,
        high=high,
        missing=tuple(parts),
        certainty=_ASKED_FOR,
    )


def _missing(absent: Mapping[str, int], lane: LaneFacts) -> list[Missing]:
    fates = _FATES | (dict.fromkeys(("waiting", "failed"), left_out(lane.left_out)) if lane.left_out else {})
    return [
        Missing(cause=cause, low=absent[fate], likely=absent[fate], high=absent[fate], why=why)
        for fate, (cause, why) in fates.items()
        if absent.get(fate)
    ]
