"""The part of a crawl that learns from its decisions, and decides again with what it learned.

Every half hour one worker of the crawl

1. estimates the prior and the weights of neighbours and, for communities that learn them, of words;
2. decides about 500 undecided and 500 decided accounts again, with the judged accounts around them;
3. wakes new members in the queue of profiles, where members are looked up;
4. requests what is most informative about accounts that are still undecided: posts, or the list of
   accounts they follow. Accounts whose decision another sign would most probably change come first.

All workers use what was learned last, which is in the store; they need no other coordination.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.community.classifier import (
    BY_MACHINE,
    ENOUGH_POSTS,
    MOST_POSTS,
    POSTS,
    SEED,
    CommunityClassifier,
    evidence_of,
    number_in,
    standing_judgement,
)
from bowerbird.community.learning import learn, read_learned, read_seeds
from bowerbird.community.membership import LOG_ODDS, PRIOR, Sign, decision_chance
from bowerbird.community.relations import relation_sign
from bowerbird.community.writing import WRITING
from bowerbird.crawl.process.keeping import Keeping
from bowerbird.crawl.process.patience import patiently
from bowerbird.model import (
    EarlierJudgement,
    Judgement,
    Ruling,
    Subject,
    User,
    to_micros,
)
from bowerbird.model.subjects.community import (
    JUDGE,
    NO_NEIGHBOURS,
    UNDECIDED,
    YES,
    Community,
    Neighbours,
)
from bowerbird.ports import Database, Part, Questions, Transaction
from bowerbird.store.judgements.neighbours import neighbours_of
from bowerbird.store.judgements.rows import RulingWriter, earlier_judgements, read_judgements

EVERY = timedelta(minutes=30)
_REVIEWED = 500
_REQUESTED = 100
"""Requests about undecided accounts that one review adds, of each kind."""
PROFILES, TIMELINE, FOLLOWING = "profiles", "timeline", "following"
_SPREAD = {TIMELINE: 2.5, FOLLOWING: 1.5}
"""How much one request moves the log odds, as a standard deviation."""
_MOST_FOLLOWING = 5_000
"""The lists of accounts that follow more are long and uninformative."""
_SEED_WEIGHT = 6.0
_OF_MACHINE = f"""
select u.user_no from judgements j join users u on u.id = j.id
where j.judge = '{JUDGE}' and j.subject = 'user' and j.decided_by is null and u.user_no > ?
and j.value {{operator}} '{UNDECIDED}' order by u.user_no limit ?
"""
_UNDECIDED, _DECIDED = _OF_MACHINE.format(operator="="), _OF_MACHINE.format(operator="<>")
_ALL = """
select user_no from users where seen_at is not null and coalesce(opts_out, 0) = 0 and user_no > ?
order by user_no limit ?
"""
_BY_PERSON_SINCE = f"""
select u.user_no from judgements j join users u on u.id = j.id
where j.judge = '{JUDGE}' and j.subject = 'user' and j.value = '{YES}'
and j.decided_by is not null and j.at > ?
"""
_PROFILE = "handle, name, location, description, language, time_zone"
_ACCOUNTS = f"""
select user_no, id, {_PROFILE}, is_protected, following from users
where coalesce(opts_out, 0) = 0 and seen_at is not null and user_no {{these}}
and not exists (select 1 from deletions d where d.subject = 'user' and d.id = users.id)
order by user_no
"""
# A page that deletes an account, and a request to forget it, wait until it is decided.
_LOCK = {"sqlite": "", "postgresql": "for share of users"}
_POSTS = f"""
select author, text from (
    select p.author, p.text, row_number() over (
        partition by p.author order by coalesce(p.created_at, 0) desc, p.post_no desc
    ) as place
    from posts p
    where p.author {{these}} and p.kind <> 'repost' and p.text is not null and p.deleted_at is null
) newest where place <= {MOST_POSTS} order by author, place
"""


class Account(Struct, frozen=True, kw_only=True):
    """A stored account with what a classifier needs."""

    number: int
    user: User
    following: int | None
    posts: Sequence[str] | None
    """None: posts were not read."""
    earlier: EarlierJudgement | None

    @property
    def value(self) -> str | None:
        """The decision that is valid now."""
        return None if self.earlier is None else self.earlier.value


Decisions = Sequence[tuple[Account, Judgement]]
"""Accounts as they were, with their new decisions."""


async def next_accounts(tx: Transaction, after: int, most: int) -> list[int]:
    """Return the numbers of the next accounts with a profile after number `after`."""
    return [row["user_no"] for row in await tx.fetch(_ALL, after, most)]


async def read_accounts(
    tx: Transaction, database: Database, numbers: Collection[int], *, with_posts: bool = False
) -> list[Account]:
    """Return accounts by number, without those that opted out, are deleted or have no profile."""
    these, members = database.any("bigint"), database.members(sorted(numbers))
    rows = await tx.fetch(_ACCOUNTS.format(these=these) + _LOCK[database.dialect], members)
    posts: defaultdict[int, list[str]] = defaultdict(list)
    for row in await tx.fetch(_POSTS.format(these=these), members) if with_posts else ():
        posts[row["author"]].append(row["text"])
    items = {(Subject.USER, row["id"]) for row in rows}
    judgements = earlier_judgements(await read_judgements(tx, database, items))
    return [
        Account(
            number=row["user_no"],
            user=User(
                id=row["id"],
                key=row["id"],
                is_protected=bool(row["is_protected"]),
                **{name: row[name] for name in _PROFILE.split(", ")},
            ),
            following=row["following"],
            posts=posts[row["user_no"]] if with_posts else None,
            earlier=standing_judgement(judgements.get((Subject.USER, row["id"]), ())),
        )
        for row in rows
    ]


async def decide_again(
    tx: Transaction,
    database: Database,
    classifier: CommunityClassifier,
    accounts: Sequence[Account],
    now: datetime,
    seeds: Collection[int] = (),
) -> Decisions:
    """Decide again about accounts that no person decided, and save what changes.

    Neighbours are counted again. If posts were read, they replace the signs of posts that are
    stored, which may belong to another description of the community.
    """
    classifier.learned = await read_learned(tx)
    accounts = [each for each in accounts if not each.earlier or each.earlier.decided_by is None]
    community, weights = classifier.community, classifier.learned.relations
    around: Mapping[int, Neighbours] = {}
    if community.uses_relations:
        around = await neighbours_of(tx, database, [each.number for each in accounts])
    decisions: list[tuple[Account, Judgement]] = []
    for each in accounts:
        kept = {SEED, POSTS, *WRITING} if each.posts is None else {SEED}
        former = {
            name: value
            for name, value in evidence_of(each.earlier).items()
            if name.removesuffix("_found") in kept
        }
        neighbours = around.get(each.number, NO_NEIGHBOURS)
        relations = relation_sign(neighbours, weights, is_field=community.is_field)
        more = [relations] if relations is not None else []
        if each.number in seeds:
            more.append(Sign(SEED, _SEED_WEIGHT, "seed of the crawl"))
        posts = each.posts or ()
        judgement = classifier.judgement(each.user.id, each.user, posts, former, more)
        decisions.append((each, judgement))
    items = [(Subject.USER, judgement.id) for _, judgement in decisions]
    ruling = Ruling(
        judgements=tuple(judgement for _, judgement in decisions),
        reviewed=dict.fromkeys(items, BY_MACHINE),
    )
    before = await read_judgements(tx, database, items)
    # Call 0: the decision is about no page in particular.
    await RulingWriter(classifier, 0, now).write(tx, ruling, before)
    return decisions


def most_informative(decisions: Decisions, facet: str, community: Community) -> list[int]:
    """Return undecided accounts to request more about, the most probable decisions first."""
    chances: dict[int, float] = {}
    for account, judgement in decisions:
        if facet == TIMELINE:
            is_known = number_in(judgement.evidence, POSTS) >= ENOUGH_POSTS
        else:
            is_known = (account.following or 0) > _MOST_FOLLOWING
        if judgement.value == UNDECIDED and not account.user.is_protected and not is_known:
            log_odds, prior = (number_in(judgement.evidence, key) for key in (LOG_ODDS, PRIOR))
            chances[account.number] = decision_chance(log_odds, prior, community, _SPREAD[facet])
    return sorted(chances, key=lambda number: (-chances[number], number))


class ReviewPart:
    """Runs the review in a process of the crawl."""

    def __init__(
        self, crawl: int, classifier: CommunityClassifier, questions: Questions, keeping: Keeping
    ) -> None:
        self._crawl = crawl
        self._classifier = classifier
        self._questions = questions
        self._keeping = keeping
        self._ending = asyncio.Event()
        self._is_paused = False
        self._alive_at = keeping.clock.now()
        self._looked_at = keeping.clock.now() - EVERY
        self._after = {_UNDECIDED: 0, _DECIDED: 0}
        """Where the next review goes on, by account number."""

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

    async def review(self) -> Decisions:
        """Review once; return the decisions that changed.

        If another worker is reviewing, only read what was learned.
        """
        database, classifier = self._keeping.database, self._classifier
        community, now = classifier.community, self._keeping.clock.now()
        async with database.transaction() as tx:
            # The claim is not released: it lasts until the next review is due.
            name = f"community {self._crawl}"
            claim = await self._keeping.claims.take(tx, name, now + EVERY, now)
            if isinstance(claim, datetime):
                classifier.learned = await read_learned(tx)
                return []
            seeds = await read_seeds(tx, self._crawl) if community.learns_words else frozenset()
            await learn(tx, database, community, now, seeds)
            found = {
                sql: [row["user_no"] for row in await tx.fetch(sql, after, _REVIEWED)]
                for sql, after in self._after.items()
            }
            accounts = await read_accounts(tx, database, [*found[_UNDECIDED], *found[_DECIDED]])
            decisions = await decide_again(tx, database, classifier, accounts, now, seeds)
            changed = [each for each in decisions if each[0].value != each[1].value]
            members = {account.number for account, new in changed if new.value == YES}
            by_person = await tx.fetch(_BY_PERSON_SINCE, to_micros(self._looked_at))
            members.update(row["user_no"] for row in by_person)
            await self._questions.about_users(tx, PROFILES, sorted(members), again=True)
            informative = {TIMELINE: bool(community.languages), FOLLOWING: community.uses_relations}
            for facet in _SPREAD:
                if informative[facet]:
                    users = most_informative(decisions, facet, community)
                    await self._questions.about_users(tx, facet, users, most=_REQUESTED)
        # After the commit: a transaction that is tried again must review the same accounts.
        for sql, numbers in found.items():
            self._after[sql] = numbers[-1] if len(numbers) == _REVIEWED else 0
        self._looked_at = now
        return changed
