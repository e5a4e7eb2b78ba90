"""The ledger by user: the posts and lists of every account that a crawl wants them of."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct, structs

from bowerbird.clock import to_micros
from bowerbird.model import Subject
from bowerbird.model.wording import outcome_words
from bowerbird.ports import Database, Transaction
from bowerbird.reports.completeness.entries import Cause, Entry
from bowerbird.reports.completeness.facts import AccountReader, Look, ShortfallFacts, Stored, TaskFacts, UserFacts, counts_reposts
from bowerbird.reports.completeness.judging import UNLISTED, Evidence, Habits, boundless, habits_of, judge_account
from bowerbird.reports.completeness.told import Told
from bowerbird.reports.completeness.world import LaneFacts, Surroundings
from bowerbird.reports.seeds.unknown_seeds import UnknownHandle, left_alone_seeds, unknown_handles
from bowerbird.store.people.names import has_local_keys

OWN_POSTS = ("timeline", "repo", "records")
"""Facets that list what an account wrote, the best one first."""


_UNFOUND = {
    "not_found": "no account of this name: deleted, renamed or never there",
    "opted_out": "the account asked not to be collected",
}
"""Why a seed by handle brought nothing."""


class Account(Struct, frozen=True, kw_only=True):
    """One line to be: what it will be about, and what is known."""

    lane: LaneFacts
    target: str
    user: UserFacts | None
    items: str
    captured: int
    deleted: int
    evidence: Evidence


async def user_entries(database: Database, around: Surroundings) -> AsyncIterator[Entry]:
    """One entry per lane, account and kind of item; memory stays bounded."""
    reader, told = AccountReader(database), Told()
    for authors in posting(reader, around):
        habits: Habits | None = None
        async for batch in _authors(database, authors):
            habits = habits or habits_of([account.evidence for account in batch])
            for account in batch:
                yield account_entry(account, habits, told)
    for lists in listing(reader, around):
        async for tasks in reader.tasks(lists.lane):
            async with database.reading() as tx:
                accounts = await lists.accounts(tx, {task.target: task for task in tasks})
            for account in accounts:
                yield account_entry(account, lists.habits, told)
    async for entry in seed_entries(database, around, told):
        yield entry


async def _authors(database: Database, authors: Authors) -> AsyncIterator[list[Account]]:
    """Accounts whose posts are asked for, then those that were looked up and found closed."""
    async for tasks in authors.reader.tasks(authors.lane):
        async with database.reading() as tx:
            accounts = await authors.accounts(tx, {task.target: task for task in tasks})
        yield accounts
    async for closed in authors.unasked(database):
        yield closed


async def seed_entries(database: Database, around: Surroundings, told: Told) -> AsyncIterator[Entry]:
    """Seeds that brought nothing."""
    # By its id it has a line already, where posts are asked for.
    lanes = {(lane.crawl, lane.service_name) for lane in _posting(around.wanted)}
    alone = await left_alone_seeds(database)
    nameless = [seed for seed in alone if seed.target.startswith("@") or (seed.crawl, seed.service) not in lanes]
    for seed in (*await unknown_handles(database), *nameless):
        if around.crawl in (None, seed.crawl):
            yield _unfound(seed, told)


def _unfound(seed: UnknownHandle, told: Told) -> Entry:
    """A seed by handle that led to nobody, or to somebody who is left alone: what its account wrote cannot be told."""
    is_gone = seed.reason in ("not_found", "suspended", "deactivated")
    cause = Cause.OPTED_OUT if seed.reason == Cause.OPTED_OUT else Cause.DELETED if is_gone else Cause.PROTECTED
    missing = boundless(cause, _UNFOUND.get(seed.reason) or f"it is {outcome_words(seed.reason)}")
    return Entry(
        subject=seed.target,
        name=seed.target.removeprefix("@"),
        crawl=seed.crawl,
        service=seed.service,
        facet=seed.facet,
        high=None,
        missing=(missing,),
        certainty="no counter to compare with: how much it is cannot be told",
        is_repeated=told.again("posts", None, f"{seed.service}/{seed.target}"),
    )


def _posting(lanes: Sequence[LaneFacts]) -> list[LaneFacts]:
    """For each crawl and service the lane that lists what accounts wrote."""
    chosen: dict[tuple[str, int], LaneFacts] = {}
    for name in OWN_POSTS:
        for lane in lanes:
            if lane.facet.name == name:
                chosen.setdefault((lane.crawl, lane.service), lane)
    numbers = {lane.lane for lane in chosen.values()}
    return [lane for lane in lanes if lane.lane in numbers]


def posting(reader: AccountReader, around: Surroundings) -> list[Authors]:
    """Those whose posts are asked for, by lane."""
    return [Authors(reader, around, lane) for lane in _posting(around.wanted)]


def listing(reader: AccountReader, around: Surroundings) -> list[Lists]:
    """Those whose followers or following are asked for, by lane."""
    lanes = [lane for lane in around.wanted if lane.facet.side is not None and lane.facet.subject is Subject.USER]
    return [Lists(reader, around, lane) for lane in lanes if lane.facet.name not in OWN_POSTS]


def _same_place(one: LaneFacts, other: LaneFacts) -> bool:
    return (one.crawl, one.service) == (other.crawl, other.service)


def _same_keys(one: LaneFacts, other: LaneFacts) -> bool:
    """Whether a target of one lane means the same account in the other."""
    return one.service == other.service or (one.network == other.network and not has_local_keys(one.network))


class Authors:
    """Accounts whose posts one lane asks for."""

    items = "posts"

    def __init__(self, reader: AccountReader, around: Surroundings, lane: LaneFacts) -> None:
        self.reader, self.around, self.lane = reader, around, lane
        looking = [each for each in around.lanes if each.facet.is_lookup]
        self.lookups = [each for each in looking if _same_place(each, lane)]
        # There is one counter for each account, whichever crawl looked it up last.
        self.others = [each for each in looking if _same_keys(each, lane)]

    async def unasked(self, database: Database) -> AsyncIterator[list[Account]]:
        """Those that were looked up and found closed, or wait for it."""
        for lookup in self.lookups:
            async for tasks in self.reader.unasked(self.lane, lookup, self.lookups):
                pending = {task.target: task for task in tasks}
                async with database.reading() as tx:
                    closed = await self.accounts(tx, dict.fromkeys(pending))
                found = [self._closed(account, pending[account.target]) for account in closed]
                yield [account for account in found if account is not None]

    def _closed(self, account: Account, lookup: TaskFacts) -> Account | None:
        """An account whose timeline was never asked for: closed to us, or not looked up yet; any other the flow did not want."""
        user = account.user
        is_closed = user is not None and (user.is_protected or user.opts_out or user.absence is not None)
        if is_closed:
            return account
        # Its profile may have been seen on the way, by its handle or beside a post: then there is a counter.
        is_unseen = lookup.visits == 0 or user is None or user.seen_at is None
        as_of = account.lane.as_of
        if not (is_unseen and lookup.is_pending(as_of)):
            return None
        was_out = self.around.was_out(account.lane, lookup.waits_since(as_of))
        return structs.replace(account, evidence=structs.replace(account.evidence, task=lookup, was_out=was_out))

    async def accounts(self, tx: Transaction, tasks: Mapping[str, TaskFacts | None]) -> list[Account]:
        reader, around, lane, targets = self.reader, self.around, self.lane, list(tasks)
        users = await reader.users(tx, lane, targets)
        looked = await reader.lookups(tx, self.lookups, targets)
        latest = looked if self.others == self.lookups else await reader.lookups(tx, self.others, targets)
        claimed_at = {target: _claimed_at(user, latest.get(target)) for target, user in users.items()}
        unwatched = {target: _unwatched(around, lane, looked.get(target)) for target in users}
        looks = {user.user_no: _look(lane, user, claimed_at[target], unwatched[target]) for target, user in users.items()}
        stored = await reader.stored(tx, looks)
        shortfalls = await reader.shortfalls(tx, lane, targets)
        found = []
        for target, task in tasks.items():
            user = users.get(target)
            posts = stored.get(user.user_no, Stored()) if user else Stored()
            evidence = Evidence(
                claimed=user.posts if user else None,
                claimed_at=claimed_at.get(target),
                counted=posts.counted,
                doubtful=doubtful(lane, posts),
                unconfirmed=posts.unconfirmed,
                recent=posts.recent,
                unwatched=unwatched.get(target),
                task=task,
                shortfalls=shortfalls.get(target, ()),
                as_of=lane.as_of,
                was_out=task is not None and around.was_out(lane, task.waits_since(lane.as_of)),
                absence=user.absence if user else None,
                is_protected=user.is_protected if user else False,
                opts_out=user.opts_out if user else False,
                emptied=posts.captured if user and user.opts_out else 0,
                left_out=lane.left_out,
            )
            found.append(
                Account(
                    lane=lane,
                    target=target,
                    user=user,
                    items=self.items,
                    captured=posts.captured - evidence.emptied,
                    deleted=posts.deleted,
                    evidence=evidence,
                )
            )
        return found


def doubtful(lane: LaneFacts, posts: Stored) -> int:
    """Reposts that a counter may leave out."""
    return 0 if counts_reposts(lane.network) else posts.reposts


def _claimed_at(user: UserFacts, looked: TaskFacts | None) -> datetime | None:
    """When the counter was seen: on some networks other pages show the profile without it."""
    if user.posts == user.checked_posts and looked is not None:
        return looked.visited_at
    return user.seen_at


def _look(lane: LaneFacts, user: UserFacts, claimed_at: datetime | None, unwatched: tuple[Cause, str] | None) -> Look:
    is_open = unwatched is not None and not user.is_protected and user.absence is None
    since = lane.as_of - claimed_at if is_open and claimed_at is not None else timedelta(0)
    return Look(to_micros(claimed_at or lane.as_of), is_counter=user.posts is not None, since=since)


def _unwatched(around: Surroundings, lane: LaneFacts, looked: TaskFacts | None) -> tuple[Cause, str] | None:
    """Why nobody knows what an account wrote since its counter was seen; None where nobody wanted to look again."""
    if looked is None or not (looked.due is not None or looked.ready):
        return None
    if around.was_out(lane, looked.waits_since(lane.as_of)):
        return Cause.OUTAGE, "the service was down since its profile was looked up last"
    return Cause.BUDGET, "its profile has not been looked up again yet"


class Lists:
    """Accounts whose followers, or those whom they follow, one lane asks for."""

    habits = Habits(deleted=0.0)

    def __init__(self, reader: AccountReader, around: Surroundings, lane: LaneFacts) -> None:
        self.reader, self.around, self.lane = reader, around, lane
        self.items = str(lane.facet.side)

    async def accounts(self, tx: Transaction, tasks: Mapping[str, TaskFacts]) -> list[Account]:
        around, lane, targets = self.around, self.lane, list(tasks)
        users = await self.reader.users(tx, lane, targets)
        related = await self.reader.related(tx, self.items, [user.user_no for user in users.values()])
        shortfalls = await self.reader.shortfalls(tx, lane, targets)
        found = []
        for target, task in tasks.items():
            user = users.get(target)
            there, ended = related.get(user.user_no, (0, 0)) if user else (0, 0)
            claimed = getattr(user, self.items) if user else None
            evidence = Evidence(
                claimed=claimed,
                claimed_at=user.seen_at if user else None,
                counted=there,
                task=task,
                shortfalls=[_counted(each, claimed, there) for each in shortfalls.get(target, ())],
                as_of=lane.as_of,
                was_out=around.was_out(lane, task.waits_since(lane.as_of)),
                absence=user.absence if user else None,
                is_protected=user.is_protected if user else False,
                opts_out=user.opts_out if user else False,
                hidden=UNLISTED,
                left_out=lane.left_out,
            )
            found.append(
                Account(lane=lane, target=target, user=user, items=self.items, captured=there, deleted=ended, evidence=evidence)
            )
        return found


def _counted(short: ShortfallFacts, claimed: int | None, there: int) -> ShortfallFacts:
    """A list that the service cut: all that its counter has more is beyond the cut."""
    return structs.replace(short, missing=max(0, (claimed or 0) - there))


def account_entry(account: Account, habits: Habits, told: Told) -> Entry:
    verdict, evidence, user = judge_account(account.evidence, habits), account.evidence, account.user
    return Entry(
        subject=user.id if user else account.target,
        name=(user.handle if user else account.target.removeprefix("@") if account.target.startswith("@") else None) or "",
        crawl=account.lane.crawl,
        service=account.lane.service_name,
        facet=account.lane.facet.name,
        items=account.items,
        captured=account.captured,
        deleted=account.deleted,
        claimed=evidence.claimed,
        claimed_at=evidence.claimed_at if evidence.claimed is not None else None,
        low=verdict.low,
        likely=verdict.likely,
        high=verdict.high,
        missing=verdict.missing,
        certainty=verdict.certainty,
        is_repeated=told.again(account.items, user.user_no if user else None, f"{account.lane.service_name}/{account.target}"),
    )
