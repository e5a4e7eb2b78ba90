"""Relation vote: how those around a candidate are judged, counted exactly. `candidates` keeps the counts for whoever scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from bowerbird.clock import to_micros
from bowerbird.model.modules import CandidateState, Counts, ModuleOption
from bowerbird.modules.members import JUDGE
from bowerbird.ports import ModuleContext, Transaction

_BATCH = 100
# Longest uncounted first, those never counted before all.
_NEXT = f"""
select user_no from candidates where crawl = ? and state = '{CandidateState.VALID}' and (votes_at is null or votes_at < ?)
order by case when votes_at is null then 0 else votes_at end, user_no limit ?
"""
_WAYS = {
    "followed_by": "select r.target as candidate, r.source as other from relations r "
    "where r.kind = 'follow' and r.removed_at is null and r.target {numbers}",
    "follows": "select r.source as candidate, r.target as other from relations r "
    "where r.kind = 'follow' and r.removed_at is null and r.source {numbers}",
    "mentioned_by": "select distinct m.user_no as candidate, p.author as other from post_mentions m "
    "join posts p on p.post_no = m.post_no where p.deleted_at is null and m.user_no {numbers}",
}
"""Who is around a candidate, by how."""
_VOTES = """
select w.candidate, j.value, count(*) as n from ({way}) w join users u on u.user_no = w.other
join judgements j on j.judge = ? and j.subject = 'user' and j.id = u.id and j.value in ('yes', 'no')
where w.other <> w.candidate group by w.candidate, j.value
"""
_COLUMNS = tuple(f"{way}_{value}" for way in _WAYS for value in ("yes", "no"))
_KEEP = f"update candidates set {', '.join(f'{column} = ?' for column in _COLUMNS)}, votes_at = ? where crawl = ? and user_no = ?"


class Vote:
    """Counts the judged neighbours of candidates."""

    name = "vote"
    about = "Counts how those who follow, mention or are followed by each candidate are judged."
    every = timedelta(hours=1)
    options: Mapping[str, ModuleOption] = {
        "judge": JUDGE,
        "accounts": ModuleOption(5_000, "Candidates that one run counts at most.", least=1),
        "again": ModuleOption(timedelta(days=1), "How old counts must be before they are made again."),
    }
    needs: tuple[str, ...] = ()

    async def run(self, context: ModuleContext) -> Counts:
        left, counted, voices = int(context.options["accounts"]), 0, 0
        before = to_micros(context.clock.now() - context.options["again"])
        while left > 0:
            async with context.transaction() as tx:
                rows = await tx.fetch(_NEXT, context.crawl, before, min(left, _BATCH))
                chosen = [row["user_no"] for row in rows]
                voices += await _vote(tx, context, chosen)
            counted += len(chosen)
            left -= _BATCH
            if len(chosen) < _BATCH:
                break
        return {"candidates": counted, "votes": voices}


async def _vote(tx: Transaction, context: ModuleContext, chosen: Sequence[int]) -> int:
    """Counts and keeps the votes for some candidates; answers how many there are."""
    if not chosen:
        return 0
    found = {number: dict.fromkeys(_COLUMNS, 0) for number in chosen}
    numbers = context.database.any("bigint")
    for way, who in _WAYS.items():
        sql = _VOTES.format(way=who.format(numbers=numbers))
        for row in await tx.fetch(sql, context.database.members(list(chosen)), context.options["judge"]):
            found[row["candidate"]][f"{way}_{row['value']}"] = row["n"]
    at = to_micros(context.clock.now())
    await tx.execute_many(_KEEP, [(*votes.values(), at, context.crawl, number) for number, votes in found.items()])
    return sum(sum(votes.values()) for votes in found.values())
