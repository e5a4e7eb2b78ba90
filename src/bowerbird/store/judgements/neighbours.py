"""How judged accounts stand around others: who follows them, who mentions them, whom they follow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from bowerbird.model.subjects.community import JUDGE, NO, YES, Neighbours
from bowerbird.ports import Database, Transaction

# Cross joins: SQLite goes from the accounts asked about to those around them, and never through all that were judged.
_JUDGED = f"j.judge = '{JUDGE}' and j.subject = 'user' and j.id = u.id and j.value in ('{YES}', '{NO}')"
_FOLLOWED = f"""
select r.target as user_no, j.value, count(*) as n from relations r cross join users u cross join judgements j
where r.kind = 'follow' and r.removed_at is null and r.target {{these}} and u.user_no = r.source and {_JUDGED}
group by r.target, j.value
"""
_FOLLOWS = f"""
select r.source as user_no, j.value, count(*) as n from relations r cross join users u cross join judgements j
where r.kind = 'follow' and r.removed_at is null and r.source {{these}} and u.user_no = r.target and {_JUDGED}
group by r.source, j.value
"""
_MENTIONED = f"""
select m.user_no, j.value, count(distinct p.author) as n
from post_mentions m cross join posts p cross join users u cross join judgements j
where m.user_no {{these}} and p.post_no = m.post_no and p.author <> m.user_no and u.user_no = p.author and {_JUDGED}
group by m.user_no, j.value
"""
COUNTED = {"followed": _FOLLOWED, "mentioned": _MENTIONED, "follows": _FOLLOWS}


async def neighbours_of(tx: Transaction, database: Database, users: Collection[int]) -> Mapping[int, Neighbours]:
    """By number of the account, for those that have any."""
    counts: defaultdict[int, dict[str, int]] = defaultdict(dict)
    members = database.members(sorted(users))
    for field, statement in COUNTED.items():
        for row in await tx.fetch(statement.format(these=database.any("bigint")), members) if users else ():
            counts[row["user_no"]][f"{field}_{'in' if row['value'] == YES else 'out'}"] = row["n"]
    return {user: Neighbours(**found) for user, found in counts.items()}


async def users_named(tx: Transaction, database: Database, service: int, network: str, keys: Sequence[str]) -> Mapping[str, int]:
    """The numbers of accounts by the keys that a service knows them by."""
    these = database.any("text")
    named = {**{f"{network}:{key}": key for key in keys}, **{key: key for key in keys}}
    by_id = await tx.fetch(f"select id, user_no from users where id {these}", database.members(sorted(named)))
    by_key = await tx.fetch(
        f"select key, user_no from user_keys where service = ? and key {these}", service, database.members(sorted(keys))
    )
    return {**{named[row["id"]]: row["user_no"] for row in by_id}, **{row["key"]: row["user_no"] for row in by_key}}
