"""What was collected of a community, held against the truth of its world."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any

import numpy as np
from msgspec import Struct, to_builtins

from bowerbird.evaluate.coverage.truth import Written, captured, written
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.evaluate.nationality.candidates import HOME, START
from bowerbird.model.subjects.community import JUDGE, NO, UNDECIDED, YES
from bowerbird.ports import Database
from bowerbird.reports.community.reading import read_community, share_of_mentioned
from bowerbird.simulated.world.people.population import Array
from bowerbird.simulated.world.settings import to_ms

_SAID = f"select id, value from judgements where judge = '{JUDGE}' and subject = 'user'"
_SINCE = f"""
select id, min(at) as at from (
    select id, at from judgements where judge = '{JUDGE}' and subject = 'user' and value = '{YES}'
    union all select id, at from judgement_history where judge = '{JUDGE}' and value = '{YES}'
) as said group by id
"""
_CALLS = "select count(*) as n from calls"
_STORED = "select substr(id, 3) as key, found_at from posts where found_at <= ?"
_BY_FACET = "select facet, count(*) as n from calls group by facet order by facet"


class Course(Struct, frozen=True):
    """How far a crawl has come at one time."""

    hours: float
    members: int
    """Judged to belong, and rightly."""
    others: int
    """Judged to belong, and wrongly."""
    calls: int
    added: int
    """Of the members those that were not known at the beginning."""


async def read_course(database: Database, laboratory: Laboratory, hours: float, seeds: Collection[int]) -> Course:
    values = await _values(database, laboratory)
    is_member = laboratory.service.world.people.community == HOME
    yes = [account for account, value in values.items() if value == YES]
    members = {account for account in yes if is_member[account]}
    async with database.reading() as tx:
        calls = await tx.fetch_one(_CALLS)
    return Course(hours, len(members), len(yes) - len(members), calls["n"] if calls else 0, len(members.difference(seeds)))


async def figures_of(database: Database, laboratory: Laboratory, length: timedelta, seeds: int) -> dict[str, Any]:
    """Who was found, how rightly, and how much of what members wrote was captured."""
    values = await _values(database, laboratory)
    is_member = laboratory.service.world.people.community == HOME
    right = {value: sum(bool(is_member[a]) for a, said in values.items() if said == value) for value in (YES, NO, UNDECIDED)}
    counts = {value: sum(said == value for said in values.values()) for value in (YES, NO, UNDECIDED)}
    async with database.reading() as tx:
        community = await read_community(tx, database)
        by_facet = {row["facet"]: row["n"] for row in await tx.fetch(_BY_FACET)}
    reachable = int(_reachable(laboratory, is_member).sum())
    return {
        "seeds": seeds,
        "members": right[YES],
        "members_there": reachable,
        "precision": _share(right[YES], counts[YES]),
        "precision_no": _share(counts[NO] - right[NO], counts[NO]),
        "recall": _share(right[YES], reachable),
        "undecided": _share(counts[UNDECIDED], len(values)),
        "looked_at": len(values),
        "belong_of_mentioned": share_of_mentioned(community.mentioned),
        "still_to_be_found": to_builtins(community.missed),
        "calls": by_facet,
        **await _posts(database, laboratory, length, is_member),
    }


async def _posts(database: Database, laboratory: Laboratory, length: timedelta, is_member: Array) -> dict[str, Any]:
    """Of all members' posts, and of those that were written after their author was found, as TwitterEcho measured it."""
    end, days = START + length, length / timedelta(days=1)
    there = written(laboratory.service.world, START, end)
    async with database.reading() as tx:
        stored = {int(row["key"]): row["found_at"] // 1000 for row in await tx.fetch(_STORED, to_ms(end) * 1000)}
        since = {laboratory.service.account(row["id"][2:]): row["at"] // 1000 for row in await tx.fetch(_SINCE)}
    begun = np.full(there.accounts, np.iinfo(np.int64).max)
    begun[list(since)] = list(since.values())
    of_all = captured(_part(there, is_member[there.author]), stored, days)
    of_found = captured(_part(there, is_member[there.author] & (there.ms > begun[there.author])), stored, days)
    return {"captured_of_all": to_builtins(of_all), "captured_of_found": to_builtins(of_found)}


def _part(there: Written, keep: Array) -> Written:
    return Written(there.number[keep], there.author[keep], there.ms[keep], there.is_left[keep], there.accounts)


def _reachable(laboratory: Laboratory, is_member: Array) -> Array:
    """Members who are there at the beginning, and do not ask to be left alone."""
    people, now = laboratory.service.world.people, to_ms(START)
    is_there = (people.created <= now) & (now < people.left) & ~((people.suspended <= now) & (now < people.returned))
    found: Array = is_member & is_there & ~people.says_nobot
    return found


async def _values(database: Database, laboratory: Laboratory) -> dict[int, str]:
    async with database.reading() as tx:
        return {laboratory.service.account(row["id"][2:]): row["value"] for row in await tx.fetch(_SAID)}


def _share(part: int, whole: int) -> float:
    return round(part / max(1, whole), 4)
