"""What the store knows of the accounts whose posts or lists a crawl wants, read in batches."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from bowerbird.clock import from_micros
from bowerbird.model import NETWORKS, TaskState
from bowerbird.ports import Database, Row, Transaction
from bowerbird.reports.completeness.rates import WEEK, is_notable
from bowerbird.reports.completeness.world import LaneFacts
from bowerbird.store.people.names import has_local_keys, id_for

BATCH = 2_000
_STATES = {state.value: state for state in TaskState}
_TASK = "target, state, ready, cursor, due, attempts, visits, added_at, visited_at, failure"
_TASKS = f"""
select {_TASK} from tasks where lane = ? and target > ? order by target limit ?
"""
_END = "select max(target) as target from (select target from tasks where lane = ? and target > ? order by target limit ?) as b"
_IS_ANSWERED = "(substr({0}.target, 1, 1) = '@' and {0}.visits > 0)"
_UNASKED = f"""
select {", ".join(f"t.{name.strip()}" for name in _TASK.split(","))} from tasks t {{user}}
where t.lane = ? and t.target > ? and t.target <= ? and not {_IS_ANSWERED.format("t")}
    and not exists (select 1 from tasks p where p.lane = ? and p.target = t.target)
    and not exists (select 1 from tasks e where e.lane in ({{before}}) and e.target = t.target and not {_IS_ANSWERED.format("e")})
    and (u.user_no is null or u.seen_at is null or t.visits = 0 or u.is_protected = 1 or u.opts_out = 1
        or exists (select 1 from unavailable a where a.user_no = u.user_no and a.until is null))
order by t.target
"""
_USER = "u.user_no, u.id, u.handle, u.posts, u.checked_posts, u.followers, u.following, u.is_protected, u.opts_out, u.seen_at"

_COUNTED = "p.deleted_at is null and coalesce(p.listed_at, p.created_at, p.found_at) <= w.at"
_SUMS = f"""
select p.author, sum(case when p.deleted_at is null then 1 else 0 end) as captured,
    sum(case when p.deleted_at is not null then 1 else 0 end) as deleted,
    sum(case when {_COUNTED} then 1 else 0 end) as counted,
    sum(case when {_COUNTED} and p.kind = 'repost' then 1 else 0 end) as reposts,
    sum(case when {_COUNTED} and p.seen_at < w.at then 1 else 0 end) as unconfirmed,
    sum(case when {_COUNTED} and p.created_at > w.at - {WEEK // timedelta(microseconds=1)} then 1 else 0 end) as recent
from w cross join posts p where p.author = w.user_no group by p.author
"""
_POSTS = {
    "sqlite": "with w as materialized (select value ->> 0 as user_no, value ->> 1 as at from json_each(?))" + _SUMS,
    "postgresql": "with w as (select * from unnest(cast(? as bigint[]), cast(? as bigint[])) as pair (user_no, at))" + _SUMS,
}


class TaskFacts(Struct, frozen=True, kw_only=True):
    """How far a task has come."""

    target: str
    state: TaskState
    ready: bool
    cursor: str | None
    due: datetime | None
    attempts: int
    visits: int
    added_at: datetime
    visited_at: datetime | None
    failure: str | None

    def is_pending(self, as_of: datetime) -> bool:
        """Whether it has been promised a visit that did not come, or did not end."""
        is_due = self.due is not None and self.due <= as_of
        is_unended = self.cursor is not None or self.state in (TaskState.LEASED, TaskState.FAILED)
        return self.visits == 0 or self.ready or is_due or is_unended

    def waits_since(self, as_of: datetime) -> datetime:
        is_told = self.due is not None and self.due <= as_of and self.attempts == 0 and self.state != TaskState.LEASED
        return self.due if is_told and self.due is not None else self.visited_at or self.added_at


class ShortfallFacts(Struct, frozen=True, kw_only=True):
    cause: str
    detail: str
    missing: int | None
    after: datetime | None
    before: datetime | None


class Stored(Struct, frozen=True, kw_only=True):
    """The stored posts of one account."""

    captured: int = 0
    deleted: int = 0
    counted: int = 0
    """Those captured that the counter of the profile counts: it was seen after they were written."""
    reposts: int = 0
    """Of those counted."""
    unconfirmed: int = 0
    """Of those counted: not seen again since the counter was, so they may be gone."""
    recent: int = 0
    """Of those counted: written in the week before the counter was seen."""


class Look(Struct, frozen=True):
    """A look at the counter of an account, which its posts are held against."""

    at: int
    """In microseconds."""
    is_counter: bool = True
    """Whether a counter was seen; else it matters only how many posts there are."""
    since: timedelta = timedelta(0)
    """How long ago it was, where what was written since then is to be told from the week before."""


class UserFacts(Struct, frozen=True, kw_only=True):
    user_no: int
    id: str
    handle: str | None
    posts: int | None
    checked_posts: int | None
    followers: int | None
    following: int | None
    is_protected: bool
    opts_out: bool
    seen_at: datetime | None
    absence: str | None = None


class AccountReader:
    """Batches of tasks with their users, posts, relations and shortfalls."""

    def __init__(self, database: Database) -> None:
        self._database = database
        bigint, text = database.any("bigint"), database.any("text")
        self._by_id = f"select {_USER}, u.id as key from users u where u.id {text}"
        self._by_key = (
            f"select {_USER}, k.key from user_keys k join users u on u.user_no = k.user_no where k.service = ? and k.key {text}"
        )
        self._by_handle = f"select {_USER}, lower(u.handle) as key from users u where u.network = ? and lower(u.handle) {text}"
        self._absent = f"select user_no, reason from unavailable where until is null and user_no {bigint}"
        self._short = (
            "select target, cause, detail, missing, after_at, before_at from shortfalls "
            f"where lane = ? and target {text} order by shortfall"
        )
        self._kept = (
            "select user_no, stored, deleted, reposts, first_found, last_written, last_seen from post_counts "
            f"where user_no {bigint}"
        )
        self._looked = f"select {_TASK} from tasks where lane = ? and visited_at is not null and target {text}"
        self._relations = {
            side: (
                f"select {column} as user_no, count(*) as ever, count(removed_at) as ended "
                f"from relations where kind = 'follow' and {column} {bigint} group by {column}"
            )
            for side, column in (("followers", "target"), ("following", "source"))
        }

    async def tasks(self, lane: LaneFacts) -> AsyncIterator[list[TaskFacts]]:
        """The tasks of a lane in batches, in the order of their targets."""
        after = ""
        while True:
            async with self._database.reading() as tx:
                rows = await tx.fetch(_TASKS, lane.lane, after, BATCH)
            if not rows:
                return
            after = rows[-1]["target"]
            yield [_task(row) for row in rows]

    async def tasks_of(self, tx: Transaction, lane: LaneFacts, targets: Sequence[str]) -> dict[str, TaskFacts]:
        """The tasks about some targets, in the order of these."""
        sql = f"select {_TASK} from tasks where lane = ? and target {self._database.any('text')}"
        rows = {row["target"]: row for row in await tx.fetch(sql, lane.lane, self._database.members(list(targets)))}
        return {target: _task(rows[target]) for target in targets if target in rows}

    async def users(self, tx: Transaction, lane: LaneFacts, targets: Sequence[str]) -> dict[str, UserFacts]:
        """By target the account it means, as far as it is known."""
        ids = {id_for(lane.network, lane.service_name, key): key for key in targets}
        rows = {ids[row["key"]]: row for row in await tx.fetch(self._by_id, self._database.members(list(ids)))}
        if has_local_keys(lane.network):
            known = await tx.fetch(self._by_key, lane.service, self._database.members(list(targets)))
            rows |= {row["key"]: row for row in known}
        else:
            rows |= await self._called(tx, lane, [target for target in targets if target.startswith("@") and target not in rows])
        numbers = self._database.members([row["user_no"] for row in rows.values()])
        absences = {row["user_no"]: row["reason"] for row in await tx.fetch(self._absent, numbers)}
        return {target: _user(row, absences.get(row["user_no"])) for target, row in rows.items()}

    async def _called(self, tx: Transaction, lane: LaneFacts, targets: Sequence[str]) -> dict[str, Row]:
        """Accounts that a service was asked about by handle; of several that bore it, the one seen last."""
        names = {target: target.removeprefix("@").lower() for target in targets}
        if not names:
            return {}
        found = await tx.fetch(self._by_handle, lane.network, self._database.members(list(set(names.values()))))
        rows = {row["key"]: row for row in sorted(found, key=lambda row: row["seen_at"] or 0)}
        return {target: rows[name] for target, name in names.items() if name in rows}

    async def unasked(self, lane: LaneFacts, lookup: LaneFacts, lookups: Sequence[LaneFacts]) -> AsyncIterator[list[TaskFacts]]:
        """Look-ups of accounts that a lane does not ask about and that may be closed, or not looked up yet, in batches; none that
        another lane before has looked up, nor handles that were: their accounts go on by their keys, or there are none."""
        before = [each.lane for each in lookups[: lookups.index(lookup)]]
        user, whose = user_of(lane)
        sql = _UNASKED.format(user=user, before=", ".join(map(str, before)) or "null")
        after = ""
        while True:
            async with self._database.reading() as tx:
                (end,) = await tx.fetch(_END, lookup.lane, after, BATCH)
                rows = await tx.fetch(sql, *whose, lookup.lane, after, end["target"], lane.lane) if end["target"] else ()
            if end["target"] is None:
                return
            after = end["target"]
            yield [_task(row) for row in rows]

    async def shortfalls(self, tx: Transaction, lane: LaneFacts, targets: Sequence[str]) -> Mapping[str, list[ShortfallFacts]]:
        found: dict[str, list[ShortfallFacts]] = {}
        for row in await tx.fetch(self._short, lane.lane, self._database.members(list(targets))):
            found.setdefault(row["target"], []).append(_shortfall(row))
        return found

    async def lookups(self, tx: Transaction, lanes: Sequence[LaneFacts], targets: Sequence[str]) -> dict[str, TaskFacts]:
        """The tasks that looked each profile up last."""
        rows: dict[str, Row] = {}
        for lane in lanes:
            for row in await tx.fetch(self._looked, lane.lane, self._database.members(list(targets))):
                before = rows.get(row["target"])
                if before is None or before["visited_at"] < row["visited_at"]:
                    rows[row["target"]] = row
        return {target: _task(row) for target, row in rows.items()}

    async def stored(self, tx: Transaction, looks: Mapping[int, Look]) -> dict[int, Stored]:
        """The posts of accounts by number; where the kept counts do not tell which ones a counter counts, the posts are read."""
        found = await self.kept(tx, looks)
        unsure = {number: look.at for number, look in looks.items() if number not in found}
        return found | (await self.read(tx, unsure) if unsure else {})

    async def kept(self, tx: Transaction, looks: Mapping[int, Look]) -> dict[int, Stored]:
        """What the kept counts tell, as far as they tell it. What was written in the week before is left out where it makes no
        difference."""
        rows = await tx.fetch(self._kept, self._database.members(list(looks)))
        kept = {row["user_no"]: _kept(row, looks[row["user_no"]]) for row in rows}
        return {number: stored for number, stored in kept.items() if stored is not None}

    async def read(self, tx: Transaction, at: Mapping[int, int]) -> dict[int, Stored]:
        """Counts the posts of accounts; `at`: when the counter of each was seen, in microseconds."""
        found: dict[int, Stored] = {}
        pairs = _pairs(self._database, at)
        for row in await tx.fetch(_POSTS[self._database.dialect], *pairs):
            values = {name: int(row[name] or 0) for name in Stored.__struct_fields__}
            found[row["author"]] = Stored(**values)
        return found

    async def related(self, tx: Transaction, side: str, users: Sequence[int]) -> dict[int, tuple[int, int]]:
        """How many relations of one side each account has now, and has had."""
        rows = await tx.fetch(self._relations[side], self._database.members(list(users)))
        return {row["user_no"]: (row["ever"] - row["ended"], row["ended"]) for row in rows}


def user_of(lane: LaneFacts) -> tuple[str, Sequence[Any]]:
    """How a task `t` finds the account `u` that it is about, by its key or id, with the values for that; a few are known in other
    ways (`AccountReader.users`)."""
    if has_local_keys(lane.network):
        keys = "left join user_keys k on k.service = ? and k.key = t.target left join users u on u.user_no = k.user_no"
        return keys, [lane.service]
    return "left join users u on u.id = cast(? as text) || t.target", [id_for(lane.network, lane.service_name, "")]


def _pairs(database: Database, at: Mapping[int, int]) -> tuple[Any, ...]:
    if database.dialect == "sqlite":
        return (str([list(pair) for pair in at.items()]),)
    return list(at), list(at.values())


def _kept(row: Row, look: Look) -> Stored | None:
    """What the kept counts say; None where they do not tell enough."""
    live = row["stored"] - row["deleted"]
    if not look.is_counter:
        return Stored(captured=live, deleted=row["deleted"])
    is_seen_before, is_found_since = row["last_seen"] < look.at, row["first_found"] >= look.at
    is_recent = row["last_written"] > look.at - WEEK // timedelta(microseconds=1) and is_notable(live, look.since)
    if row["last_written"] > look.at or is_recent or not (is_seen_before or is_found_since):
        return None
    unconfirmed = live if is_seen_before else 0
    return Stored(captured=live, deleted=row["deleted"], counted=live, reposts=row["reposts"], unconfirmed=unconfirmed)


def _task(row: Row) -> TaskFacts:
    return TaskFacts(
        target=row["target"],
        state=_STATES[row["state"]],
        ready=bool(row["ready"]),
        cursor=row["cursor"],
        due=_when(row["due"]),
        attempts=row["attempts"],
        visits=row["visits"],
        added_at=from_micros(row["added_at"]),
        visited_at=_when(row["visited_at"]),
        failure=row["failure"],
    )


def _user(row: Row, absence: str | None) -> UserFacts:
    return UserFacts(
        user_no=row["user_no"],
        id=row["id"],
        handle=row["handle"],
        posts=row["posts"],
        checked_posts=row["checked_posts"],
        followers=row["followers"],
        following=row["following"],
        is_protected=bool(row["is_protected"]),
        opts_out=bool(row["opts_out"]),
        seen_at=_when(row["seen_at"]),
        absence=absence,
    )


def _shortfall(row: Row) -> ShortfallFacts:
    return ShortfallFacts(
        cause=row["cause"],
        detail=row["detail"],
        missing=row["missing"],
        after=_when(row["after_at"]),
        before=_when(row["before_at"]),
    )


def _when(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def counts_reposts(network: str) -> bool:
    """Whether a profile's counter of posts surely counts reposts too."""
    return NETWORKS[network].counts_reposts
