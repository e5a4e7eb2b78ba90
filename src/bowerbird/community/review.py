"""The part of a crawl that learns from its decisions, and decides again with what it learned.

Every half hour one worker of the crawl

1. estimates the prior, the weights of neighbours and, for communities that learn them, of words, if
   enough accounts were judged since the last time;
2. decides about 500 undecided and 500 decided accounts again, with the judged accounts around them;
3. adds new members to the queue of profiles, where members are looked up;
4. requests what is most informative about accounts that are still undecided: posts, or the list of
   accounts they follow. Accounts whose decision another sign would most probably change come first.

All workers use what was learned last, which is in the store; they need no other coordination.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.community.classifier import (
    BY_MACHINE,
    POSTS,
    SEED,
    CommunityClassifier,
    evidence_of,
)
from bowerbird.community.membership import LOG_ODDS, PRIOR, Sign, decision_chance
from bowerbird.community.relations import RELATIONS, relation_sign
from bowerbird.community.rows import (
    Account,
    is_learning_due,
    learn,
    read_accounts,
    read_learned,
    read_seeds,
)
from bowerbird.community.writing import WRITING
from bowerbird.crawl.process.keeping import Keeping
from bowerbird.crawl.process.patience import patiently
from bowerbird.crawl.work.targets import Targets
from bowerbird.model import Arrival, Judgement, Ruling, Subject, to_micros
from bowerbird.model.subjects.community import JUDGE, NOBODY, UNDECIDED, YES
from bowerbird.ports import Database, Part, Transaction
from bowerbird.store.judgements.neighbours import neighbours_of
from bowerbird.store.judgements.rows import RulingWriter, read_judgements

EVERY = timedelta(minutes=30)
_REVIEWED = 500
_REQUESTED = 100
"""Requests about undecided accounts that one review adds, of each kind."""
TIMELINE, FOLLOWING = "timeline", "following"
_SPREAD = {TIMELINE: 2.5, FOLLOWING: 1.5}
"""How much one request moves the log odds, as a standard deviation."""
_MOST_FOLLOWING = 5_000
"""The lists of accounts that follow more are long and uninformative."""
_SEED_WEIGHT = 6.0
_NO_CALL = 0
_JUDGED = f"""
select u.user_no from judgements j join users u on u.id = j.id
where j.judge = '{JUDGE}' and j.subject = 'user' and j.value {{values}} and j.decided_by is null
and u.user_no > ? order by u.user_no limit ?
"""
_UNDECIDED = _JUDGED.format(values=f"= '{UNDECIDED}'")
_DECIDED = _JUDGED.format(values=f"<> '{UNDECIDED}'")
_ALL = """
select u.user_no from users u
where u.seen_at is not null and coalesce(u.opts_out, 0) = 0 and u.user_no > ?
order by u.user_no limit ?
"""
_NEW_MEMBERS = f"""
select id from judgements
where judge = '{JUDGE}' and value = '{YES}' and decided_by is not null and at > ?
"""


class Change(Struct, frozen=True):
    """An account whose decision has changed."""

    id: str
    before: str | None
    value: str


class Reviewer:
    """Decides again about stored accounts."""

    def __init__(self, database: Database, classifier: CommunityClassifier) -> None:
        self._database = database
        self.classifier = classifier

    async def undecided(self, tx: Transaction, after: int, most: int) -> list[int]:
        """Return the numbers of the next undecided accounts after number `after`."""
        return [row["user_no"] for row in await tx.fetch(_UNDECIDED, after, most)]

    async def decided(self, tx: Transaction, after: int, most: int) -> list[int]:
        """Return the numbers of the next accounts that the classifier decided."""
        return [row["user_no"] for row in await tx.fetch(_DECIDED, after, most)]

    async def all_accounts(self, tx: Transaction, after: int, most: int) -> list[int]:
        """Return the numbers of the next accounts with a profile after number `after`."""
        return [row["user_no"] for row in await tx.fetch(_ALL, after, most)]

    async def review(
        self, tx: Transaction, numbers: Collection[int], now: datetime, seeds: Collection[int] = ()
    ) -> list[Change]:
        """Decide again by profiles, what is known of posts, and neighbours; save what changes."""
        accounts = await read_accounts(tx, self._database, numbers, with_posts=False)
        judged = await self._judge(tx, accounts, seeds, WRITING | {POSTS, SEED})
        return await self._save(
            tx,
            [
                (account, judgement)
                for account, judgement in judged
                if RELATIONS in judgement.evidence or _value_before(account) != judgement.value
            ],
            now,
        )

    async def judge_again(
        self, tx: Transaction, numbers: Collection[int], now: datetime
    ) -> list[Change]:
        """Decide again by everything that is stored, and save it."""
        accounts = await read_accounts(tx, self._database, numbers, with_posts=True)
        # Signs of posts were read for the former description of the community: read them again.
        return await self._save(tx, await self._judge(tx, accounts, (), {SEED}), now)

    async def _judge(
        self,
        tx: Transaction,
        accounts: Sequence[Account],
        seeds: Collection[int],
        kept: Collection[str],
    ) -> list[tuple[Account, Judgement]]:
        """Return new decisions, except about accounts that a person decided.

        `kept`: what counts again of the former evidence. Neighbours are counted anew.
        """
        self.classifier.learned = await read_learned(tx)
        community = self.classifier.community
        accounts = [each for each in accounts if not each.earlier or not each.earlier.decided_by]
        numbers = [each.number for each in accounts]
        uses_relations = community.uses_relations and community.is_reviewed
        around = await neighbours_of(tx, self._database, numbers) if uses_relations else {}
        judged: list[tuple[Account, Judgement]] = []
        for each in accounts:
            neighbours = around.get(each.number, NOBODY)
            relations = relation_sign(neighbours, self.classifier.learned.relations)
            more = [relations] if relations is not None else []
            if each.number in seeds:
                more.append(Sign(SEED, _SEED_WEIGHT, "seed of the crawl"))
            former = {
                name: value
                for name, value in evidence_of(each.earlier).items()
                if name.removesuffix("_found") in kept
            }
            judgement = self.classifier.judgement(
                each.user.id, each.user, each.written, former, more
            )
            judged.append((each, judgement))
        return judged

    async def _save(
        self, tx: Transaction, judged: Sequence[tuple[Account, Judgement]], now: datetime
    ) -> list[Change]:
        items = {(Subject.USER, judgement.id) for _, judgement in judged}
        ruling = Ruling(
            judgements=tuple(judgement for _, judgement in judged),
            reviewed=dict.fromkeys(items, BY_MACHINE),
        )
        before = await read_judgements(tx, self._database, items)
        await RulingWriter(self.classifier, _NO_CALL, now).write(tx, ruling, before)
        return [
            Change(judgement.id, _value_before(account), judgement.value)
            for account, judgement in judged
            if _value_before(account) != judgement.value
        ]

    async def most_informative(
        self, tx: Transaction, numbers: Collection[int], facet: str
    ) -> list[str]:
        """Return undecided accounts to request more about, the most probable decisions first."""
        accounts = await read_accounts(tx, self._database, numbers, with_posts=False)
        chances: dict[str, float] = {}
        for account in accounts:
            evidence = evidence_of(account.earlier)
            log_odds, prior = evidence.get(LOG_ODDS), evidence.get(PRIOR)
            is_open = account.earlier is not None and account.earlier.value == UNDECIDED
            if not is_open or account.user.is_protected or POSTS in evidence:
                continue
            if facet == FOLLOWING and (account.following or 0) > _MOST_FOLLOWING:
                continue
            if isinstance(log_odds, float) and isinstance(prior, float):
                chances[account.user.id] = decision_chance(
                    log_odds, prior, self.classifier.community, _SPREAD[facet]
                )
        return sorted(chances, key=lambda id_: (-chances[id_], id_))[:_REQUESTED]


def _value_before(account: Account) -> str | None:
    return account.earlier.value if account.earlier is not None else None


class Queue(Struct, frozen=True):
    """A queue of the crawl that accounts can be added to."""

    lane: int
    facet: str
    prefix: str
    """What the ids of the network's accounts begin with."""


class ReviewPart:
    """Runs the review in a process of the crawl."""

    def __init__(
        self,
        crawl: int,
        reviewer: Reviewer,
        targets: Targets,
        queues: Sequence[Queue],
        keeping: Keeping,
    ) -> None:
        """`queues`: of profiles, in which members are looked up; of timelines and followed accounts."""
        self._crawl = crawl
        self._reviewer = reviewer
        self._targets = targets
        self._queues = queues
        self._keeping = keeping
        self._ending = asyncio.Event()
        self._is_paused = False
        self._alive_at = keeping.clock.now()
        self._after_undecided = self._after_decided = 0
        self._looked_at = keeping.clock.now() - EVERY

    def part(self) -> Part:
        return Part(
            name="community",
            run=self.run,
            end=self._ending.set,
            finish=self._ending.set,
            pause=self._pause,
            is_alive_since=lambda: self._alive_at,
            silence=EVERY * 3,
        )

    def _pause(self, is_paused: bool) -> None:
        self._is_paused = is_paused

    async def run(self) -> None:
        clock = self._keeping.clock
        while not self._ending.is_set():
            if not self._is_paused:
                await patiently(self.review, clock, self._keeping.tally.blocked)
            self._alive_at = clock.now()
            await clock.wait(self._ending, clock.now() + EVERY)

    async def review(self) -> list[Change]:
        """Review once. If another worker is reviewing, only read what was learned."""
        clock, database = self._keeping.clock, self._keeping.database
        classifier = self._reviewer.classifier
        now = clock.now()
        async with database.transaction() as tx:
            classifier.learned = await read_learned(tx)
            name = f"community {self._crawl}"
            # The claim is not released: it lasts until the next review is due.
            claim = await self._keeping.claims.take(tx, name, now + EVERY, now)
            if isinstance(claim, datetime):
                return []
            community = classifier.community
            seeds = await read_seeds(tx, self._crawl) if community.learns_words else frozenset()
            if await is_learning_due(tx):
                lesson = await learn(tx, database, community, now, seeds)
                classifier.learned = lesson.learned
            undecided = await self._reviewer.undecided(tx, self._after_undecided, _REVIEWED)
            decided = await self._reviewer.decided(tx, self._after_decided, _REVIEWED)
            changes = await self._reviewer.review(tx, [*undecided, *decided], now, seeds)
            by_person = await tx.fetch(_NEW_MEMBERS, to_micros(self._looked_at))
            members = {each.id for each in changes if each.value == YES}
            members |= {row["id"] for row in by_person}
            arrivals: list[Arrival] = []
            for queue in self._queues:
                if queue.facet in _SPREAD:
                    ids = await self._reviewer.most_informative(tx, undecided, queue.facet)
                    arrivals += _arrivals(queue, ids, wakes=False)
                else:
                    arrivals += _arrivals(queue, sorted(members), wakes=True)
            if arrivals:
                await self._targets.add(tx, arrivals, None, now)
        # After the commit: a transaction that is tried again must review the same accounts.
        self._after_undecided = undecided[-1] if len(undecided) == _REVIEWED else 0
        self._after_decided = decided[-1] if len(decided) == _REVIEWED else 0
        self._looked_at = now
        return changes


def _arrivals(queue: Queue, ids: Sequence[str], *, wakes: bool) -> list[Arrival]:
    return [
        Arrival(lane=queue.lane, target=id_.removeprefix(queue.prefix), depth=1, wakes=wakes)
        for id_ in ids
        if id_.startswith(queue.prefix)
    ]
