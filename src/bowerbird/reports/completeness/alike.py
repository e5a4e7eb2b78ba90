"""The ledger by user without a line for each: accounts of whom the same is known are judged once, and counted.

The database tells of every account only what decides about it: not when its counter was seen, but whether its posts were written
before that. So hundreds of thousands of accounts are a few thousand different ones. Whoever is judged by a time of its own (what
was written since then, what a listing left out) is read by itself, as for a line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from msgspec import Struct

from bowerbird.clock import to_micros
from bowerbird.model import TaskState
from bowerbird.ports import Transaction
from bowerbird.reports.completeness.entries import Entry
from bowerbird.reports.completeness.facts import BATCH, Stored, TaskFacts, user_of
from bowerbird.reports.completeness.judging import UNLISTED, Evidence, Habits, habits_of
from bowerbird.reports.completeness.lines.accounts import (
    Account,
    Authors,
    Lists,
    account_entry,
    doubtful,
)
from bowerbird.reports.completeness.rates import WEEK
from bowerbird.reports.completeness.told import Told
from bowerbird.reports.completeness.world import LaneFacts
from bowerbird.reports.texts import plain

_MOST = 50_000
"""Different accounts that are remembered at once."""
_COMMON = f"""
t.state, t.ready, case when t.due <= w.as_of then 1 else 0 end as is_due, case when t.cursor is null then 0 else 1 end as is_cut,
    case when t.visits > 0 then 1 else 0 end as is_visited, case when t.visited_at is null then 0 else 1 end as is_dated,
    case when t.state in ('{TaskState.FAILED}', '{TaskState.RETIRED}') then t.failure end as failure,
    coalesce(u.is_protected, 0) as is_protected, coalesce(u.opts_out, 0) as opts_out,
    (select max(a.reason) from unavailable a where a.user_no = u.user_no and a.until is null) as absence,
    case when exists (select 1 from shortfalls s where s.lane = w.lane and s.target = t.target) then 1 else 0 end as is_short
"""
_TASKS = """
from (select cast(? as bigint) as lane, cast(? as bigint) as as_of) w cross join (
    select target, state, ready, due, cursor, visits, visited_at, failure from tasks
    where lane = ? and target > ? order by target limit ?
) t {user}
"""
_LISTS = f"select t.target, u.user_no, {_COMMON}, u.{{side}} as claimed {_TASKS} order by t.target"
# The look-up that was made last, and the last one of any crawl.
_LOOKED = """
left join tasks l on l.task = (
    select x.task from tasks x where x.lane in ({own}) and x.target = t.target and x.visited_at is not null
    order by x.visited_at desc, x.lane limit 1
)
"""
_LATEST = "(select max(x.visited_at) from tasks x where x.lane in ({others}) and x.target = t.target)"
# Materialized: a database that folds the two into one looks the same times up again and again.
_POSTS = f"""
with f as materialized (
    select t.target, u.user_no, w.as_of, {_COMMON}, u.posts as claimed, c.stored, c.deleted, c.reposts, c.last_written,
        c.last_seen, c.first_found, case when l.due is not null or l.ready = 1 then 1 else 0 end as is_again,
        coalesce(case when u.posts is not distinct from u.checked_posts then {{latest}} end, u.seen_at, w.as_of) as at
    {_TASKS} left join post_counts c on c.user_no = u.user_no {_LOOKED}
)
select f.target, f.user_no, f.at, f.state, f.ready, f.is_due, f.is_cut, f.is_visited, f.is_dated, f.failure, f.is_protected,
    f.opts_out, f.absence, f.is_short, f.claimed, f.stored, f.deleted, f.reposts,
    case when f.stored is null and exists (select 1 from posts p where p.author = f.user_no) then 1 else 0 end as is_uncounted,
    case when f.last_written > f.at then 1 else 0 end as is_later,
    case when f.last_written > f.at - {WEEK // timedelta(microseconds=1)} then 1 else 0 end as is_recent,
    case when f.last_seen < f.at then 1 else 0 end as is_seen_before,
    case when f.first_found >= f.at then 1 else 0 end as is_found_since,
    case when f.is_again = 1 and f.at < f.as_of then 1 else 0 end as is_unwatched
from f order by f.target
"""


class Facts(Struct, frozen=True):
    """What decides about an account, as the database tells it."""

    task_state: str | bytes
    is_ready: int
    is_due: int
    is_cut: int
    """Its listing has not come to its end."""
    is_visited: int
    is_dated: int
    """There was a visit that came to its end."""
    failure: str | bytes | None
    is_protected: int
    opts_out: int
    absence: str | bytes | None
    is_short: int
    """A listing left something out."""
    claimed: int | None
    stored: int | None = None
    """Posts, as they are counted with every page; None: they are not."""
    deleted: int | None = None
    reposts: int | None = None
    is_uncounted: int = 0
    """There are posts, and no count of them."""
    is_later: int = 0
    """A post was written after the counter was seen."""
    is_recent: int = 0
    """One was written in the week before it, or later."""
    is_seen_before: int = 0
    """All posts were seen last before the counter was."""
    is_found_since: int = 0
    """All posts were found after it."""
    is_unwatched: int = 0
    """Somebody was to look again and has not, since the counter was seen."""

    @property
    def is_open(self) -> bool:
        return not self.is_protected and self.absence is None

    def task(self, lane: LaneFacts) -> TaskFacts:
        """As far as it matters: times are those of the lane."""
        return TaskFacts(
            target="",
            state=TaskState(plain(self.task_state)),
            ready=bool(self.is_ready),
            cursor="" if self.is_cut else None,
            due=lane.as_of if self.is_due else None,
            attempts=0,
            visits=self.is_visited,
            added_at=lane.as_of,
            visited_at=lane.as_of if self.is_dated else None,
            failure=plain(self.failure),
        )

    def posts(self) -> Stored | None:
        """What the counts say of the posts; None: they must be read. The same rule as for one account (`AccountReader.kept`)."""
        if self.stored is None:
            return None if self.is_uncounted else Stored()
        deleted = self.deleted or 0
        live = self.stored - deleted
        if self.claimed is None:
            return Stored(captured=live, deleted=deleted)
        is_wanted = self.is_recent and self.is_unwatched and self.is_open
        if self.is_later or is_wanted or not (self.is_seen_before or self.is_found_since):
            return None
        unconfirmed = live if self.is_seen_before else 0
        return Stored(captured=live, deleted=deleted, counted=live, reposts=self.reposts or 0, unconfirmed=unconfirmed)


class Alike(Struct, kw_only=True):
    """Accounts of whom the same is known."""

    account: Account
    """Any of them, without its name and its times."""
    entry: Entry | None = None
    """Their line, once it is judged."""
    times: int = 0

    def judge(self, habits: Habits) -> Entry:
        if self.entry is None:
            self.entry = account_entry(self.account, habits, Told())
        return self.entry


class Batch(Struct, frozen=True):
    """Accounts in the order of their targets."""

    targets: Sequence[Any]
    """As the database gives them: `plain` reads them."""
    numbers: Sequence[int | None]
    alike: list[Alike | None]
    """Those that each one is like; None: it must be read by itself."""

    def alone(self) -> list[Any]:
        """The targets that must be read by themselves."""
        return [target for target, alike in zip(self.targets, self.alike, strict=True) if alike is None]

    def different(self) -> list[Alike]:
        return [alike for alike in dict(zip(map(id, self.alike), self.alike, strict=True)).values() if alike is not None]


_Key = tuple[Any, ...]
_Known = dict[_Key, Alike | None]


class AlikeAuthors:
    """Sorts the accounts whose posts one lane asks for."""

    def __init__(self, authors: Authors) -> None:
        self.of = authors
        self.habits: Habits | None = None
        self._known: _Known = {}
        self._unread: set[_Key] = set()
        """What is known of accounts whose posts must be read."""
        user, self._whose = user_of(authors.lane)
        own, others = _numbers(authors.lookups), _numbers(authors.others)
        latest = "l.visited_at" if own == others else _LATEST.format(others=others)
        self._sql = _POSTS.format(user=user, own=own, latest=latest)

    async def batch(self, tx: Transaction, after: str) -> Batch | None:
        """The next accounts; None: there are no more."""
        found = await _fetch(tx, self._sql, self.of.lane, after, self._whose)
        if not found:
            return None
        targets, numbers, at, *columns = found
        keys: list[_Key] = list(zip(*columns, strict=True))
        if len(self._known) > _MOST:
            self._known.clear()
        for key in set(keys).difference(self._known, self._unread):
            posts = Facts(*key).posts()
            if posts is None:
                self._unread.add(key)
            else:
                self._known[key] = self._alike(Facts(*key), posts)
        await self._read(tx, numbers, at, keys)
        return Batch(targets, numbers, _sorted(numbers, keys, self._known))

    async def _read(self, tx: Transaction, numbers: Sequence[int | None], at: Sequence[int], keys: list[_Key]) -> None:
        """Adds to what is known of accounts what is stored of them, where only the posts themselves tell."""
        places = [place for place, key in enumerate(keys) if key in self._unread]
        looks = {number: at[place] for place in places if (number := numbers[place]) is not None}
        stored = await self.of.reader.read(tx, looks) if looks else {}
        for place in places:
            posts = stored.get(numbers[place] or 0, Stored())
            key, keys[place] = keys[place], (keys[place], posts)
            if keys[place] not in self._known:
                self._known[keys[place]] = self._alike(Facts(*key), posts)

    def learn(self, evidence: Sequence[Evidence]) -> Habits:
        """What the first accounts tell about all."""
        self.habits = self.habits or habits_of(evidence)
        return self.habits

    def _alike(self, facts: Facts, posts: Stored) -> Alike | None:
        lane, task = self.of.lane, facts.task(self.of.lane)
        emptied = posts.captured if facts.opts_out else 0
        evidence = Evidence(
            claimed=facts.claimed,
            claimed_at=None,
            counted=posts.counted,
            doubtful=doubtful(lane, posts),
            unconfirmed=posts.unconfirmed,
            task=task,
            as_of=lane.as_of,
            absence=plain(facts.absence),
            is_protected=bool(facts.is_protected),
            opts_out=bool(facts.opts_out),
            emptied=emptied,
            left_out=lane.left_out,
        )
        if self._is_single(facts, posts, evidence):
            return None
        return Alike(
            account=Account(
                lane=lane,
                target="",
                user=None,
                items=self.of.items,
                captured=posts.captured - emptied,
                deleted=posts.deleted,
                evidence=evidence,
            )
        )

    def _is_single(self, facts: Facts, posts: Stored, evidence: Evidence) -> bool:
        """Whether its own times decide: since when it waits, when it was visited, when its counter was seen."""
        if _has_waited(self.of, facts, evidence):
            return True
        if facts.is_unwatched and facts.claimed is not None and (posts.recent or not facts.is_open):
            return True
        return evidence.is_pending and bool(facts.is_dated) and evidence.owed > 0


class AlikeLists:
    """Sorts the accounts whose lists one lane asks for. Lists have no days, so that hardly any time decides."""

    def __init__(self, lists: Lists) -> None:
        self.of = lists
        self._known: _Known = {}
        user, self._whose = user_of(lists.lane)
        self._sql = _LISTS.format(user=user, side=lists.items)

    async def batch(self, tx: Transaction, after: str) -> Batch | None:
        """The next accounts; None: there are no more."""
        found = await _fetch(tx, self._sql, self.of.lane, after, self._whose)
        if not found:
            return None
        targets, numbers, *columns = found
        related = await self.of.reader.related(tx, self.of.items, [number for number in numbers if number is not None])
        keys: list[_Key] = list(zip(*columns, (related.get(number, (0, 0)) for number in numbers), strict=True))
        if len(self._known) > _MOST:
            self._known.clear()
        for key in set(keys).difference(self._known):
            self._known[key] = self._alike(Facts(*key[:-1]), *key[-1])
        return Batch(targets, numbers, _sorted(numbers, keys, self._known))

    def learn(self, evidence: Sequence[Evidence]) -> Habits:
        """Nothing is learned from lists."""
        return self.of.habits

    def _alike(self, facts: Facts, there: int, ended: int) -> Alike | None:
        lane = self.of.lane
        evidence = Evidence(
            claimed=facts.claimed,
            claimed_at=None,
            counted=there,
            task=facts.task(lane),
            as_of=lane.as_of,
            absence=plain(facts.absence),
            is_protected=bool(facts.is_protected),
            opts_out=bool(facts.opts_out),
            hidden=UNLISTED,
            left_out=lane.left_out,
        )
        if _has_waited(self.of, facts, evidence):
            return None
        return Alike(
            account=Account(
                lane=lane, target="", user=None, items=self.of.items, captured=there, deleted=ended, evidence=evidence
            )
        )


def _has_waited(of: Authors | Lists, facts: Facts, evidence: Evidence) -> bool:
    """Whether it matters since when something is missing: what a listing left out, or what may have waited for a service."""
    return bool(facts.is_short) or (evidence.is_pending and bool(of.around.outages.get(of.lane.service_name)))


async def _fetch(tx: Transaction, sql: str, lane: LaneFacts, after: str, whose: Sequence[Any]) -> Sequence[Sequence[Any]]:
    return await tx.fetch_columns(sql, lane.lane, to_micros(lane.as_of), lane.lane, after, BATCH, *whose)


def _sorted(numbers: Sequence[int | None], keys: Sequence[_Key], known: _Known) -> list[Alike | None]:
    """By itself is read who is unknown, and who has several targets in one batch."""
    alike = [None if number is None else known[key] for number, key in zip(numbers, keys, strict=True)]
    if len(set(numbers)) < len(numbers):
        times = Counter(numbers)
        alike = [None if times[number] > 1 else each for number, each in zip(numbers, alike, strict=True)]
    return alike


def _numbers(lanes: Sequence[LaneFacts]) -> str:
    return ", ".join(str(lane.lane) for lane in lanes) or "null"
