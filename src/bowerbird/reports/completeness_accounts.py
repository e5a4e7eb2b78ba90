"""Completeness by account: counters of posts, followers and following, compared with what is stored."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

from msgspec import Struct, structs

from bowerbird.model import NETWORKS, Subject
from bowerbird.model.wording import outcome_words
from bowerbird.ports import Database, Row, Transaction
from bowerbird.reports.completeness_entries import (
    BATCH,
    NO_COUNTER,
    OPTED_OUT,
    TASK_COLUMNS,
    WEEK,
    Cause,
    Entry,
    Missing,
    Queue,
    Shortfall,
    TaskFacts,
    add_up,
    estimate,
    exactly,
    is_notable,
    part_of,
    queues_of,
    read_shortfalls,
    read_task,
    to_time,
    unbounded,
    upper_bound,
)
from bowerbird.reports.seeds.unknown_seeds import left_alone_seeds, unknown_handles
from bowerbird.store.people.names import has_local_keys, id_for
from bowerbird.store.posts.counting import DAY

YOUNG_ACCOUNT = 90 * DAY
LEAST_DELETED = 0.005
"""Lowest share of stored posts that is assumed to be deleted without our knowledge."""
POST_FACETS = ("timeline", "repo", "records")
"""Facets that list the posts of an account, the best one first."""
HIDDEN = {
    "posts": "counted by the service but not listed: followers-only posts, or reposts of hidden or deleted posts",
    "followers": "counted by the service but not listed: hidden list, or hidden, suspended or deleted accounts",
}
HIDDEN["following"] = HIDDEN["followers"]


class Account(Struct, frozen=True, kw_only=True):
    """What is known of the posts, followers or following of one account."""

    queue: Queue
    target: str
    user_no: int | None = None
    id: str | None = None
    handle: str | None = None
    items: str = "posts"
    absence: str | None = None
    is_protected: bool = False
    opts_out: bool = False
    claimed: int | None = None
    claimed_at: int | None = None
    captured: int = 0
    deleted: int = 0
    emptied: int = 0
    """Posts of an account that opted out: stored without their content."""
    counted: int = 0
    """Stored items that the counter includes, because they are older."""
    uncertain: int = 0
    """Counted reposts, where the counter may exclude reposts."""
    unconfirmed: int = 0
    """Counted posts that were not seen again after the counter was read: they may be deleted."""
    recent: int = 0
    """Counted posts of the week before the counter was read."""
    overdue: tuple[Cause, str] | None = None
    """Why the counter was not read again, if it should have been."""
    task: TaskFacts | None = None
    shortfalls: Sequence[Shortfall] = ()

    @property
    def is_closed(self) -> bool:
        return bool(self.is_protected) or self.absence is not None

    @property
    def is_pending(self) -> bool:
        return self.task is not None and self.task.is_pending(self.queue.as_of)

    @property
    def difference(self) -> int:
        return (self.claimed or 0) - self.counted


class Shares(Struct, frozen=True):
    """Shares of posts that are deleted unnoticed, and that are counted but not listed."""

    deleted: float = LEAST_DELETED
    hidden: float = 0.0


LIST_SHARES = Shares(deleted=0.0)


def learn_shares(accounts: Sequence[Account]) -> Shares:
    """Learn the shares from accounts whose listing is complete and up to date."""
    whole = [each for each in accounts if each.claimed is not None and each.task and not each.is_pending and not each.shortfalls]
    stored, claimed = sum(each.counted for each in whole), sum(each.claimed or 0 for each in whole)
    deleted = sum(max(0, -each.difference) for each in whole)
    hidden = sum(max(0, each.difference) for each in whole)
    return Shares(max(LEAST_DELETED, deleted / stored if stored else 0.0), hidden / claimed if claimed else 0.0)


def assess_account(account: Account, shares: Shares, is_repeated: bool = False) -> Entry:
    """Compare the counter of an account with what is stored, and explain the difference."""
    missing = _without_counter(account)
    if missing is not None:
        low, likely, high = add_up(missing)
        certainty = NO_COUNTER
    else:
        low = likely = max(0, account.difference)
        deleted = upper_bound(account.unconfirmed * shares.deleted)
        most = max(0, account.difference + account.uncertain) + deleted
        unread = account.queue.as_of - account.claimed_at if account.overdue and account.claimed_at is not None else 0
        if account.is_closed:
            most += upper_bound((account.claimed or 0) * (unread / YOUNG_ACCOUNT))
        missing, high = _explain(account, shares, low, most), most
        if account.overdue and account.claimed_at is not None and not account.is_closed and is_notable(account.recent, unread):
            later = estimate(account.recent, WEEK, *account.overdue, account.claimed_at, account.queue.as_of)
            missing.append(later)
            likely, high = low + later.likely, most + (later.high or 0)
        certainty = _certainty(account, deleted)
    return Entry(
        subject=account.id or account.target,
        name=account.handle or "",
        crawl=account.queue.crawl,
        service=account.queue.service_name,
        facet=account.queue.facet.name,
        items=account.items,
        captured=account.captured,
        deleted=account.deleted,
        claimed=account.claimed,
        claimed_at=to_time(account.claimed_at) if account.claimed is not None else None,
        low=low,
        likely=likely,
        high=high,
        missing=tuple(missing),
        certainty=certainty,
        is_repeated=is_repeated,
    )


def _without_counter(account: Account) -> list[Missing] | None:
    """Return what is missing of an account that has no usable counter; None if it has one."""
    if account.absence in ("not_found", "suspended", "deactivated"):
        return [unbounded(Cause.DELETED, f"account {account.absence.replace('_', ' ')}")]
    if account.opts_out:
        return [*exactly(Cause.OPTED_OUT, account.emptied, OPTED_OUT), unbounded(Cause.OPTED_OUT, "the account opted out")]
    if account.claimed is not None:
        return None
    if account.is_closed:
        return [unbounded(Cause.PROTECTED, "account protected")]
    if account.task is None or not account.is_pending:
        return [unbounded(Cause.UNKNOWN, "the service has no counter")]
    return [unbounded(*account.task.why_waiting(account.queue))]


def _explain(account: Account, shares: Shares, low: int, high: int) -> list[Missing]:
    """Split what is missing by cause: first cut listings, then what waits, then what the service hides."""
    if account.is_closed:
        why = "account protected" if account.is_protected else f"account {account.absence}"
        return [Missing(cause=Cause.PROTECTED, low=low, likely=low, high=high, why=why)] if high else []
    parts, left, before = [], low, 0
    for short in account.shortfalls:
        if short.missing is not None and short.missing > before:  # each is the sum of all up to then
            count, before = min(short.missing - before, left), short.missing
            left -= count
            parts.append(part_of(short.cause, 0, count, high, short.detail, short.after, short.before))
    waiting = 0
    if account.task is not None and account.is_pending:
        task, waiting = account.task, left
        if task.visits and task.cursor is None:
            waiting = min(left, max(1, left - round(shares.hidden * (account.claimed or 0))))
        least = min(1, left) if task.visits else waiting
        cause, why = task.why_waiting(account.queue)
        parts.append(part_of(cause, least, waiting, high, why, task.visited_at, account.claimed_at))
    if left > waiting:
        parts.append(part_of(Cause.PROTECTED, 0, left - waiting, left - waiting, HIDDEN[account.items]))
    return [part for part in parts if part.likely or part.low]


def _certainty(account: Account, deleted: int) -> str:
    at = f"{str(to_time(account.claimed_at))[:16]} UTC" if account.claimed_at is not None else "an unknown time"
    parts = [f"counter of {at} compared with the store"]
    if account.overdue is not None:
        parts.append("later posts estimated from the week before")
    if account.uncertain:
        parts.append(f"the counter may exclude {account.uncertain:,} reposts")
    if deleted:
        parts.append(f"up to {deleted:,} stored posts may be deleted")
    return "; ".join(parts)


async def read_users(database: Database, queues: Sequence[Queue], crawl: str | None) -> AsyncIterator[Entry]:
    """Yield one entry per queue, account and kind of item; then seeds that led to no account."""
    wanted = queues_of(queues, crawl)
    best: dict[tuple[str, int], int] = {}
    for name in POST_FACETS:
        for queue in wanted:
            if queue.facet.name == name:
                best.setdefault((queue.crawl, queue.service), queue.lane)
    posting = [queue for queue in wanted if queue.lane in best.values()]
    listing = [
        queue
        for queue in wanted
        if queue.facet.side is not None and queue.facet.subject is Subject.USER and queue.facet.name not in POST_FACETS
    ]
    seen: set[tuple[str, int | str]] = set()

    def is_repeated(items: str, user: int | str) -> bool:
        if (items, user) in seen:
            return True
        seen.add((items, user))
        return False

    for queue in (*posting, *listing):
        is_list = queue.lane not in best.values()
        shares = LIST_SHARES if is_list else None
        async for accounts in read_accounts(database, queues, queue, is_list=is_list):
            shares = shares or learn_shares(accounts)
            for account in accounts:
                user = account.user_no or f"{queue.service_name}/{account.target}"
                yield assess_account(account, shares, is_repeated(account.items, user))
    services = {(queue.crawl, queue.service_name) for queue in posting}
    # Seeds that opted out have an entry by id where posts are requested.
    left_alone = await left_alone_seeds(database)
    opted_out = [seed for seed in left_alone if seed.target.startswith("@") or (seed.crawl, seed.service) not in services]
    for seed in (*await unknown_handles(database), *opted_out):
        if crawl in (None, seed.crawl):
            is_deleted = seed.reason in ("not_found", "suspended", "deactivated")
            cause = Cause.OPTED_OUT if seed.reason == "opted_out" else Cause.DELETED if is_deleted else Cause.PROTECTED
            why = {"not_found": "no account has this name", "opted_out": "the account opted out"}.get(seed.reason)
            yield Entry(
                subject=seed.target,
                name=seed.target.removeprefix("@"),
                crawl=seed.crawl,
                service=seed.service,
                facet=seed.facet,
                high=None,
                missing=(unbounded(cause, why or f"account {outcome_words(seed.reason)}"),),
                certainty=NO_COUNTER,
                is_repeated=is_repeated("posts", f"{seed.service}/{seed.target}"),
            )


_ACCOUNTS = f"""
select t.*, u.id, u.handle, u.posts, u.checked_posts, u.followers, u.following, u.seen_at,
    coalesce(u.is_protected, 0) as is_protected, coalesce(u.opts_out, 0) as opts_out,
    (select max(a.reason) from unavailable a where a.user_no = t.user_no and a.until is null) as absence,
    c.stored, c.deleted, c.reposts, c.first_found, c.last_written, c.last_seen
from (
    select {TASK_COLUMNS}, {{user_no}} as user_no from tasks t
    where t.lane = ? and t.target > ? {{where}} order by t.target limit {BATCH}
) t left join users u on u.user_no = t.user_no left join post_counts c on c.user_no = t.user_no order by t.target
"""
_BY_ID = "(select x.user_no from users x where x.id = cast(? as text) || t.target)"
_BY_KEY = "(select k.user_no from user_keys k where k.service = ? and k.key = t.target)"
_BY_HANDLE = """
case when t.target like '@%' then (
    select x.user_no from users x where x.network = ? and lower(x.handle) = lower(substr(t.target, 2))
    order by coalesce(x.seen_at, 0) desc limit 1
) end
"""
# Lookups of accounts that the queue itself does not request. A handle that was visited continues under its key.
_NOT_REQUESTED = """
and not (t.target like '@%' and t.visits > 0)
and not exists (select 1 from tasks p where p.lane = {lane} and p.target = t.target)
and not exists (
    select 1 from tasks e where e.lane in ({earlier}) and e.target = t.target and not (e.target like '@%' and e.visits > 0)
)
"""


async def read_accounts(
    database: Database, queues: Sequence[Queue], queue: Queue, *, is_list: bool
) -> AsyncIterator[list[Account]]:
    """Yield the accounts of a queue in batches; then, of posts, those that were looked up and found closed, or wait for it."""
    async for rows in _account_rows(database, queue, queue.lane):
        async with database.reading() as tx:
            tasks = {row["target"]: read_task(row) for row in rows}
            yield await (_lists if is_list else _authors)(database, tx, queues, queue, rows, tasks)
    if is_list:
        return
    lookups = [each for each in queues if each.facet.is_lookup and (each.crawl, each.service) == (queue.crawl, queue.service)]
    for number, lookup in enumerate(lookups):
        earlier = ", ".join(str(each.lane) for each in lookups[:number]) or "null"
        async for rows in _account_rows(database, queue, lookup.lane, _NOT_REQUESTED.format(lane=queue.lane, earlier=earlier)):
            async with database.reading() as tx:
                accounts = await _authors(database, tx, queues, queue, rows, {})
            found = []
            for row, account in zip(rows, accounts, strict=True):
                task = read_task(row)
                if account.is_closed or account.opts_out:
                    found.append(account)
                elif (task.visits == 0 or row["seen_at"] is None) and task.is_pending(queue.as_of):
                    found.append(structs.replace(account, task=task))
            yield found


async def _account_rows(database: Database, queue: Queue, lane: int, where: str = "") -> AsyncIterator[Sequence[Row]]:
    """Yield the tasks of a lane with their accounts and counts of posts, in batches ordered by target."""
    prefix = id_for(queue.network, queue.service_name, "")
    values: tuple[object, ...]
    if has_local_keys(queue.network):
        user_no, values = f"coalesce({_BY_KEY}, {_BY_ID})", (queue.service, prefix)
    else:
        user_no, values = f"coalesce({_BY_ID}, {_BY_HANDLE})", (prefix, queue.network)
    sql, after = _ACCOUNTS.format(user_no=user_no, where=where), ""
    while True:
        async with database.reading() as tx:
            rows = await tx.fetch(sql, *values, lane, after)
        if not rows:
            return
        yield rows
        after = rows[-1]["target"]


async def _authors(
    database: Database,
    tx: Transaction,
    queues: Sequence[Queue],
    queue: Queue,
    rows: Sequence[Row],
    tasks: Mapping[str, TaskFacts],
) -> list[Account]:
    """Return accounts with the counts of their posts."""
    targets = [row["target"] for row in rows]
    shortfalls = await read_shortfalls(database, tx, queue, targets)
    claimed_at, overdue = await _counter_times(database, tx, queues, queue, rows)
    posts: dict[int, Mapping[str, int]] = {}
    unsure: dict[int, int] = {}
    # An account that is requested by key and by handle is counted once, as of the lookup by handle.
    known_last = sorted((row for row in rows if row["user_no"] is not None), key=lambda row: row["target"].startswith("@"))
    for user_no, row in {row["user_no"]: row for row in known_last}.items():
        at = claimed_at[row["target"]]
        is_open = overdue[row["target"]] is not None and not row["is_protected"] and row["absence"] is None
        known = kept_counts(row, at, queue.as_of if is_open else at)
        if known is None:
            unsure[user_no] = queue.as_of if at is None else at
        else:
            posts[user_no] = known
    posts |= await count_posts(database, tx, unsure)
    accounts = []
    for row in rows:
        target, counts = row["target"], posts.get(row["user_no"], NO_POSTS)
        account = Account(
            queue=queue,
            target=target,
            user_no=row["user_no"],
            id=row["id"],
            handle=row["handle"] if row["user_no"] else _handle(target),
            absence=row["absence"],
            is_protected=row["is_protected"],
            opts_out=row["opts_out"],
            claimed=row["posts"],
            claimed_at=claimed_at.get(target),
            captured=0 if row["opts_out"] else counts["captured"],
            deleted=counts["deleted"],
            emptied=counts["captured"] if row["opts_out"] else 0,
            counted=counts["counted"],
            uncertain=0 if NETWORKS[queue.network].counts_reposts else counts["reposts"],
            unconfirmed=counts["unconfirmed"],
            recent=counts["recent"],
            overdue=overdue.get(target),
            task=tasks.get(target),
            shortfalls=shortfalls.get(target, ()),
        )
        accounts.append(account)
    return accounts


def _handle(target: str) -> str:
    return target.removeprefix("@") if target.startswith("@") else ""


async def _counter_times(
    database: Database, tx: Transaction, queues: Sequence[Queue], queue: Queue, rows: Sequence[Row]
) -> tuple[dict[str, int | None], dict[str, tuple[Cause, str] | None]]:
    """Return by target when the counter of the account was read, and why it was not read again since, if that is overdue."""
    own = {each.lane for each in queues if each.facet.is_lookup and (each.crawl, each.service) == (queue.crawl, queue.service)}
    is_global = not has_local_keys(queue.network)  # then lookups of other services of the network read the same counter
    lanes = [
        each.lane
        for each in queues
        if each.facet.is_lookup and (each.service == queue.service or (is_global and each.network == queue.network))
    ]
    sql = f"""
        select {TASK_COLUMNS}, t.lane from tasks t
        where t.lane {database.any("bigint")} and t.target {database.any("text")} and t.visited_at is not null
        order by t.visited_at, t.lane desc
    """
    targets = [row["target"] for row in rows if row["user_no"] is not None]
    lookups = await tx.fetch(sql, database.members(lanes), database.members(targets))
    latest = {row["target"]: row["visited_at"] for row in lookups}
    own_latest = {row["target"]: read_task(row) for row in lookups if row["lane"] in own}
    claimed_at, overdue = {}, {}
    for row in rows:
        if row["user_no"] is not None:
            target = row["target"]
            # On some networks other pages show a profile without its counter: only a lookup reads it.
            is_read_by_lookup = row["posts"] == row["checked_posts"] and target in latest
            claimed_at[target] = latest[target] if is_read_by_lookup else row["seen_at"]
            overdue[target] = _why_overdue(queue, own_latest.get(target))
    return claimed_at, overdue


def _why_overdue(queue: Queue, lookup: TaskFacts | None) -> tuple[Cause, str] | None:
    if lookup is None or not (lookup.due is not None or lookup.ready):
        return None
    if queue.was_down(lookup.waits_since(queue.as_of)):
        return Cause.OUTAGE, "the service was down since the last profile lookup"
    return Cause.BUDGET, "the profile was not looked up again yet"


COUNTS = ("captured", "deleted", "counted", "reposts", "unconfirmed", "recent")
NO_POSTS = dict.fromkeys(COUNTS, 0)


def kept_counts(row: Row, claimed_at: int | None, until: int | None) -> Mapping[str, int] | None:
    """Return the counts of an account's posts from the table `post_counts`; None if only the posts tell which ones the counter
    of `claimed_at` includes. Posts of the last week matter only if later ones are estimated from them, `until` a later time."""
    if row["stored"] is None:
        return None
    live = row["stored"] - row["deleted"]
    counts = NO_POSTS | {"captured": live, "deleted": row["deleted"]}
    if row["posts"] is None:
        return counts
    if claimed_at is None or until is None:
        return None
    is_recent = row["last_written"] > claimed_at - WEEK and is_notable(live, until - claimed_at)
    is_seen_before, is_found_since = row["last_seen"] < claimed_at, row["first_found"] >= claimed_at
    if row["last_written"] > claimed_at or is_recent or not (is_seen_before or is_found_since):
        return None
    return counts | {"counted": live, "reposts": row["reposts"], "unconfirmed": live if is_seen_before else 0}


async def count_posts(database: Database, tx: Transaction, claimed_at: Mapping[int, int]) -> dict[int, Mapping[str, int]]:
    """Count the posts of accounts by reading them; `claimed_at`: by account the time of its counter."""
    if not claimed_at:
        return {}
    counted = "p.deleted_at is null and coalesce(p.listed_at, p.created_at, p.found_at) <= w.at"
    sql = f"""
        select p.author, count(*) filter (where p.deleted_at is null) as captured,
            count(*) filter (where p.deleted_at is not null) as deleted,
            count(*) filter (where {counted}) as counted,
            count(*) filter (where {counted} and p.kind = 'repost') as reposts,
            count(*) filter (where {counted} and p.seen_at < w.at) as unconfirmed,
            count(*) filter (where {counted} and p.created_at > w.at - {WEEK}) as recent
        from w cross join posts p where p.author = w.user_no group by p.author
    """
    if database.dialect == "sqlite":
        pairs = "with w as materialized (select value ->> 0 as user_no, value ->> 1 as at from json_each(?))"
        rows = await tx.fetch(pairs + sql, str([list(pair) for pair in claimed_at.items()]))
    else:
        pairs = "with w as (select * from unnest(cast(? as bigint[]), cast(? as bigint[])) as pair (user_no, at))"
        rows = await tx.fetch(pairs + sql, list(claimed_at), list(claimed_at.values()))
    return {row["author"]: row for row in rows}


async def _lists(
    database: Database,
    tx: Transaction,
    queues: Sequence[Queue],
    queue: Queue,
    rows: Sequence[Row],
    tasks: Mapping[str, TaskFacts],
) -> list[Account]:
    """Return accounts with the counts of their followers, or of the accounts that they follow."""
    items = str(queue.facet.side)
    column = {"followers": "target", "following": "source"}[items]
    sql = f"""
        select {column} as user_no, count(*) - count(removed_at) as current, count(removed_at) as ended
        from relations where kind = 'follow' and {column} {database.any("bigint")} group by {column}
    """
    numbers = [row["user_no"] for row in rows if row["user_no"] is not None]
    related = {row["user_no"]: row for row in await tx.fetch(sql, database.members(numbers))}
    shortfalls = await read_shortfalls(database, tx, queue, list(tasks))
    accounts = []
    for row in rows:
        counts, claimed = related.get(row["user_no"], {"current": 0, "ended": 0}), row[items]
        account = Account(
            queue=queue,
            target=row["target"],
            user_no=row["user_no"],
            id=row["id"],
            handle=row["handle"] if row["user_no"] else _handle(row["target"]),
            items=items,
            absence=row["absence"],
            is_protected=row["is_protected"],
            opts_out=row["opts_out"],
            claimed=claimed,
            claimed_at=row["seen_at"],
            captured=counts["current"],
            deleted=counts["ended"],
            counted=counts["current"],
            task=tasks[row["target"]],
            # Everything that the counter exceeds a cut list by is beyond the cut.
            shortfalls=[
                structs.replace(short, missing=max(0, (claimed or 0) - counts["current"]))
                for short in shortfalls.get(row["target"], ())
            ],
        )
        accounts.append(account)
    return accounts
