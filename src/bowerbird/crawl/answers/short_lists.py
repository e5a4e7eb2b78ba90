"""Listings that ended before their end: written down when it happens, because nobody can tell it afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from bowerbird.clock import from_micros, to_micros
from bowerbird.crawl.answers.unreadable import is_of_items
from bowerbird.crawl.work.lanes import Lane
from bowerbird.model import Lease, Outcome, Page, Settled, Task, asked_about
from bowerbird.model.wording import outcome_words
from bowerbird.ports import Transaction

SPOILT = "some of what the server listed could not be read and was set aside"
_NOBODY: frozenset[str] = frozenset()
_NEARLY = 0.9
"""A service leaves out what it does not show from a full list: a cap is reached a little below its number."""
_LONG = 5
"""A first listing of so many pages is compared with the account's counter: not every service tells how far back it goes."""
_ADD = """
insert into shortfalls (lane, target, cause, detail, after_at, before_at, missing, at, call) values (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_KNOWN = "select shortfall, missing from shortfalls where lane = ? and target = ? and detail = ?"
_MORE = "update shortfalls set missing = ?, at = ?, call = ? where shortfall = ?"
_LAST = "select cause, detail from shortfalls where lane = ? and target = ? order by shortfall desc limit 1"
_OF_ACCOUNT = """
from lanes l join services s on s.service = l.service join users u on u.user_no = coalesce(
    (select k.user_no from user_keys k where k.service = l.service and k.key = ?),
    (select x.user_no from users x where x.id = s.network || ':' || ?), (select x.user_no from users x where x.id = ?))
where l.lane = ?
"""
_CLAIMED = f"select u.posts {_OF_ACCOUNT}"
_OWED = f"""
select u.posts - (select count(*) from posts p where p.author = u.user_no and p.deleted_at is null) as missing,
    (select min(p.created_at) from posts p where p.author = u.user_no) as oldest {_OF_ACCOUNT}
"""


class Shortfall(Struct, frozen=True, kw_only=True):
    """Why a finished listing does not hold everything, and when what it lacks was written, as far as that is known."""

    cause: str
    detail: str
    after: datetime | None = None
    before: datetime | None = None
    least: float | None = None
    """Only the account's own counter of posts can show that some are missing: it is then larger than this, and than what is
    stored."""


def shortfall(lane: Lane, task: Task, page: Page, now: datetime) -> Shortfall | None:
    """What a listing that ended with this page left out; None when it was whole. Pure."""
    facet = lane.facet
    if page.outcome is not Outcome.OK:
        return _refused(task, page.outcome)
    if page.cursor is not None:
        return Shortfall(cause="budget", detail=f"the flow ends listings after page {lane.max_pages}", after=task.visited_at)
    if not page.is_whole:
        return Shortfall(cause="unknown", detail=page.detail)
    if facet.falls_short:
        return Shortfall(cause="reach", detail=facet.falls_short)
    if facet.total_results is not None and _is_at_cap(lane, task, page, facet.total_results):
        detail = f"the service lists {facet.total_results:,} items at most"
        return Shortfall(cause="reach", detail=detail, after=task.visited_at, least=facet.total_results)
    if _is_long(lane, task):
        detail = "the list ended although the account counts many more: it goes no farther back"
        return Shortfall(cause="reach", detail=detail, least=(task.pages + 2) * facet.results_per_call)
    if facet.reach is None or task.visited_at is None or now - task.visited_at <= facet.reach:
        return None
    detail = f"the service lists the last {facet.reach.days} days only, and the listing before this one is older"
    return Shortfall(cause="reach", detail=detail, after=task.visited_at, before=now - facet.reach)


def _refused(task: Task, outcome: Outcome) -> Shortfall:
    """A list that could not be had: whether its subject is there at all is another question, for its own facet."""
    is_hidden = outcome in (Outcome.PROTECTED, Outcome.BLOCKED)
    detail = f"the list could not be had: {outcome_words(outcome)}"
    return Shortfall(cause="protected" if is_hidden else "unknown", detail=detail, after=task.visited_at)


def _is_at_cap(lane: Lane, task: Task, page: Page, cap: int) -> bool:
    size = int(lane.hints.get("limit", lane.facet.results_per_call))
    return (task.pages + 1) * size >= cap and task.pages * size + page.results >= cap * _NEARLY


def _is_long(lane: Lane, task: Task) -> bool:
    return task.pages + 1 >= _LONG and task.progress.newest is None and lane.facet.lists_own_posts


async def note_missing(
    tx: Transaction, lane: Lane, lease: Lease, page: Page, ended: list[Settled], now: datetime
) -> tuple[str, ...]:
    """Writes down what this call will never bring; answers the seeds among it that asked not to be collected."""
    await note_shortfall(tx, lane, lease, page, ended, now)
    left_alone = seeds_left_alone(lane, lease.tasks, page)
    if left_alone:
        await note_left_alone(tx, lane, lease.call, left_alone, now)
    return left_alone


def left_alone(page: Page) -> frozenset[str]:
    """Keys of the accounts that asked not to be collected, as far as the page shows."""
    return frozenset(user.key for user in page.users if user.opts_out)


def seeds_left_alone(lane: Lane, tasks: Sequence[Task], page: Page) -> tuple[str, ...]:
    """The seeds among the tasks of a look-up whose accounts turned out to have asked not to be collected."""
    shy = left_alone(page) if lane.facet.is_lookup and not lane.follows_opted_out else _NOBODY
    asked = asked_about(tasks, page) if shy else {}
    found = (task for key, task in asked.items() if key in shy)
    return tuple(task.target for task in found if not task.depth and not task.visits)


async def note_left_alone(tx: Transaction, lane: Lane, call: int, seeds: Sequence[str], now: datetime) -> None:
    """Writes down which seeds asked not to be collected: of such an account the store keeps no name."""
    told = ("opted_out", "the account asked not to be collected", None, None, None, to_micros(now), call)
    await tx.execute_many(_ADD, [(lane.lane, seed, *told) for seed in seeds])


async def note_shortfall(tx: Transaction, lane: Lane, lease: Lease, page: Page, ended: list[Settled], now: datetime) -> None:
    """Writes down what the listing that ends with this call has left out, and what of it could not be read; a whole one, and a
    batch, cost nothing."""
    if any(not broken.is_part for broken in page.broken):
        await _note_spoilt(tx, lane, lease, page, now)
    if len(ended) != 1 or not ended[0].is_visit:
        return
    is_good = page.outcome is Outcome.OK
    is_refused = not is_good and page.outcome.is_about_target and not _speaks_of_subject(lane, lease)
    if not is_refused and not is_good:
        return
    found = shortfall(lane, ended[0].task, page, now)
    is_lasting = is_refused or bool(lane.facet.falls_short)
    if found is not None and not (is_lasting and await _is_known(tx, lane, ended[0].task, found)):
        await _write(tx, lane, lease, found, now)


def _speaks_of_subject(lane: Lane, lease: Lease) -> bool:
    """Whether a refusal is about the account or post itself, and not only about what the server lists of it."""
    return lane.facet.is_own_route and (not lane.facet.knows_own_only or all(task.was_shown for task in lease.tasks))


async def _note_spoilt(tx: Transaction, lane: Lane, lease: Lease, page: Page, now: datetime) -> None:
    """Writes down that of a page of a list something could not be read; once for each list, with how much it was at most."""
    if page.outcome is not Outcome.OK or len(lease.tasks) != 1 or is_of_items(lane.facet):
        return
    task, count = lease.tasks[0], sum(not broken.is_part for broken in page.broken)
    row = await tx.fetch_one(_KNOWN, lane.lane, task.target, SPOILT)
    if row is None:
        known = (lane.lane, task.target, "unknown", SPOILT, _micros(task.visited_at), None, count)
        await tx.execute(_ADD, *known, to_micros(now), lease.call)
    else:
        await tx.execute(_MORE, max(count, row["missing"]), to_micros(now), lease.call, row["shortfall"])


async def _is_known(tx: Transaction, lane: Lane, task: Task, found: Shortfall) -> bool:
    """Whether the last visit ended in the same way: a list that is refused every day is one shortfall."""
    row = await tx.fetch_one(_LAST, lane.lane, task.target)
    return row is not None and (row["cause"], row["detail"]) == (found.cause, found.detail)


async def _write(tx: Transaction, lane: Lane, lease: Lease, found: Shortfall, now: datetime) -> None:
    target = lease.tasks[0].target
    # Looked at first: to count what is stored of an account takes the longer the more it is.
    if found.least is not None and await _claims_no_more(tx, lane, target, found.least):
        return
    owed = await _owed(tx, lane, target)
    before = found.before or (owed.oldest if found.after is None and found.cause == "reach" else None)
    await tx.execute(
        _ADD,
        *(lane.lane, target, found.cause, found.detail[:500], _micros(found.after), _micros(before), owed.missing),
        *(to_micros(now), lease.call),
    )


async def _claims_no_more(tx: Transaction, lane: Lane, target: str, least: float) -> bool:
    """Whether the account's own counter of posts does not exceed so many."""
    row = await tx.fetch_one(_CLAIMED, target, target, target, lane.lane) if lane.facet.lists_own_posts else None
    return row is not None and row["posts"] is not None and row["posts"] <= least


class _Owed(Struct, frozen=True):
    """What an account's own counter of posts says beside what is stored of it."""

    missing: int | None = None
    oldest: datetime | None = None
    """When the oldest stored one was written."""


async def _owed(tx: Transaction, lane: Lane, target: str) -> _Owed:
    if not lane.facet.lists_own_posts:
        return _Owed()
    row = await tx.fetch_one(_OWED, target, target, target, lane.lane)
    if row is None:
        return _Owed()
    return _Owed(row["missing"], None if row["oldest"] is None else from_micros(row["oldest"]))


def _micros(when: datetime | None) -> int | None:
    return None if when is None else to_micros(when)
