"""What the store holds for a classifier: accounts with their posts, and what was learned from decisions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.community.classifier import MOST_POSTS, NO_POSTS, Written, standing_judgement
from bowerbird.community.membership import (
    LOG_ODDS,
    Evidence,
    Learned,
    decide,
    estimate_prior,
    stored_signs,
)
from bowerbird.community.relations import (
    DECIDED_BY_PERSON,
    RELATIONS,
    Example,
    fit_relations,
    relation_score,
)
from bowerbird.community.words import learn_words
from bowerbird.model import EarlierJudgement, Subject, User, from_micros, to_micros
from bowerbird.model.subjects.community import JUDGE, NO, NOBODY, UNDECIDED, YES, Community
from bowerbird.ports import Database, Row, Transaction
from bowerbird.store.judgements.neighbours import neighbours_of, users_named
from bowerbird.store.judgements.rows import earlier_judgements, read_judgements

_MOST_EXAMPLES = 4_000
_CHUNK = 500
_MIN_NEW, _NEW_SHARE = 50, 0.05
"""Learn again after so many judgements more or fewer, and this share of all; at once if a person decided."""
_CERTAIN = 30.0
"""Log odds of an account that a person decided."""
_PROFILE = "handle, name, location, description, language, time_zone"
_ACCOUNTS = f"""
select user_no, id, {_PROFILE}, is_protected, following from users
where coalesce(opts_out, 0) = 0 and seen_at is not null and user_no {{these}}
and not exists (select 1 from deletions d where d.subject = 'user' and d.id = users.id)
"""
_POSTS = f"""
select author, text, created_at from (
    select p.author, p.text, p.created_at,
        row_number() over (partition by p.author order by coalesce(p.created_at, 0) desc, p.post_no desc) as place
    from posts p
    where p.author {{these}} and p.kind <> 'repost' and p.text is not null and p.deleted_at is null
) newest where place <= {MOST_POSTS} order by author, place
"""
_JUDGED = f"from judgements j join users u on u.id = j.id where j.judge = '{JUDGE}' and j.subject = 'user'"
_COUNT = f"select count(*) as n from judgements where judge = '{JUDGE}' and subject = 'user'"
_BY_PERSON_SINCE = f"""
select 1 as found from judgements
where judge = '{JUDGE}' and subject = 'user' and decided_by is not null and at > ? limit 1
"""
_EXAMPLES = f"""
select u.user_no, j.value, j.evidence, j.decided_by {_JUDGED}
order by case when j.decided_by is null then 1 else 0 end, j.at desc, u.user_no limit {_MOST_EXAMPLES}
"""
_DESCRIPTIONS = f"""
select u.user_no, u.description, j.value {_JUDGED} and coalesce(u.opts_out, 0) = 0
order by j.at desc, u.user_no limit {_MOST_EXAMPLES}
"""
_SEEDS = """
select coalesce(
    (select k.user_no from user_keys k where k.service = l.service and k.key = t.target),
    (select x.user_no from users x where x.id in (t.target, s.network || ':' || t.target))) as user_no
from tasks t join lanes l on l.lane = t.lane join services s on s.service = l.service
where l.crawl = ? and t.depth = 0
"""
_NEWEST = (
    "select learned, judged, at from community_models where judge = ? order by entry desc limit 1"
)
_SAVE = "insert into community_models (judge, learned, examples, persons, judged, at) values (?, ?, ?, ?, ?, ?)"


class Account(Struct, frozen=True, kw_only=True):
    """A stored account with what a classifier needs."""

    number: int
    user: User
    written: Written = NO_POSTS
    earlier: EarlierJudgement | None = None
    following: int | None = None


async def read_accounts(
    tx: Transaction, database: Database, numbers: Collection[int], *, with_posts: bool
) -> list[Account]:
    """Return accounts by number, without those that opted out or have no profile yet."""
    if not numbers:
        return []
    these, members = database.any("bigint"), database.members(sorted(numbers))
    rows = await tx.fetch(_ACCOUNTS.format(these=these), members)
    written = await _read_posts(tx, these, members) if with_posts else {}
    items = {(Subject.USER, row["id"]) for row in rows}
    judgements = earlier_judgements(await read_judgements(tx, database, items))
    return [
        Account(
            number=row["user_no"],
            user=User(
                id=row["id"],
                key=row["id"],
                is_protected=None if row["is_protected"] is None else bool(row["is_protected"]),
                **{name: row[name] for name in _PROFILE.split(", ")},
            ),
            written=written.get(row["user_no"], NO_POSTS),
            earlier=standing_judgement(judgements.get((Subject.USER, row["id"]), ())),
            following=row["following"],
        )
        for row in rows
    ]


async def _read_posts(tx: Transaction, these: str, members: Any) -> Mapping[int, Written]:
    posts: defaultdict[int, list[tuple[str, Any]]] = defaultdict(list)
    for row in await tx.fetch(_POSTS.format(these=these), members):
        posts[row["author"]].append((row["text"], row["created_at"]))
    return {
        author: Written(
            tuple(text for text, _ in own),
            tuple(from_micros(at) for _, at in own if at is not None),
        )
        for author, own in posts.items()
    }


async def read_seeds(tx: Transaction, crawl: int) -> frozenset[int]:
    """Return the numbers of the accounts that a crawl started with, as far as they are known."""
    rows = await tx.fetch(_SEEDS, crawl)
    return frozenset(row["user_no"] for row in rows if row["user_no"] is not None)


async def read_learned(tx: Transaction) -> Learned:
    """Return what was learned last; the start values if nothing was."""
    row = await tx.fetch_one(_NEWEST, JUDGE)
    return Learned() if row is None else msgspec.json.decode(row["learned"], type=Learned)


async def is_learning_due(tx: Transaction) -> bool:
    """Return whether many accounts were judged or lost since the last time, or a person decided."""
    row, judged = await tx.fetch_one(_NEWEST, JUDGE), await _count_judged(tx)
    if row is None:
        return judged >= _MIN_NEW
    if await tx.fetch_one(_BY_PERSON_SINCE, row["at"]) is not None:
        return True
    before = int(row["judged"])
    return abs(judged - before) >= max(_MIN_NEW, before * _NEW_SHARE)


async def _count_judged(tx: Transaction) -> int:
    row = await tx.fetch_one(_COUNT)
    return int(row["n"]) if row is not None else 0


class Lesson(Struct, frozen=True):
    """What was learned, and from how many decided accounts."""

    learned: Learned
    examples: int
    persons: int
    """Of the examples, those that a person decided."""


async def learn(
    tx: Transaction,
    database: Database,
    community: Community,
    now: datetime,
    seeds: Collection[int] = (),
) -> Lesson:
    """Estimate the prior, the weights of neighbours and of words from judged accounts, and save them."""
    rows = [(row, msgspec.json.decode(row["evidence"])) for row in await tx.fetch(_EXAMPLES)]
    prior = estimate_prior([odds for row, evidence in rows for odds in _log_odds(row, evidence)])
    values = {
        row["user_no"]: row["value"]
        if row["decided_by"]
        else _own_value(evidence, community, prior)
        for row, evidence in rows
    }
    decided = [row for row, _ in rows if values[row["user_no"]] != UNDECIDED]
    weights = fit_relations(await _examples(tx, database, decided, values))
    learned = Learned(
        prior=prior,
        relations={name: round(weight, 4) for name, weight in weights.items()},
        words=await _learn_words(tx, seeds) if community.learns_words else {},
    )
    persons = sum(bool(row["decided_by"]) for row in decided)
    judged = await _count_judged(tx)
    encoded = msgspec.json.encode(learned).decode()
    await tx.execute(_SAVE, JUDGE, encoded, len(decided), persons, judged, to_micros(now))
    return Lesson(learned, len(decided), persons)


def _log_odds(row: Row, evidence: Evidence) -> Iterable[float]:
    """The log odds without the prior; nothing for decisions of a rule without them."""
    if row["decided_by"]:
        yield {YES: _CERTAIN, NO: -_CERTAIN}.get(row["value"], 0.0)
    elif isinstance(odds := evidence.get(LOG_ODDS), int | float):
        yield float(odds)


def _own_value(evidence: Evidence, community: Community, prior: float) -> str:
    """The decision without neighbours: one that rests on them is no example of how they count."""
    signs = [sign for sign in stored_signs(evidence) if sign.kind != RELATIONS]
    return decide(signs, community, prior).value


async def _examples(
    tx: Transaction, database: Database, rows: Sequence[Row], values: Mapping[int, str]
) -> list[Example]:
    examples: list[Example] = []
    for start in range(0, len(rows), _CHUNK):
        part = rows[start : start + _CHUNK]
        neighbours = await neighbours_of(tx, database, [row["user_no"] for row in part])
        for row in part:
            weight = DECIDED_BY_PERSON if row["decided_by"] else 1.0
            around = neighbours.get(row["user_no"], NOBODY)
            examples.append(Example(around, values[row["user_no"]] == YES, weight))
    return examples


async def _learn_words(tx: Transaction, seeds: Collection[int]) -> Mapping[str, float]:
    members: list[str] = []
    others: list[str] = []
    for row in await tx.fetch(_DESCRIPTIONS):
        is_member = row["value"] == YES or row["user_no"] in seeds
        (members if is_member else others).append(row["description"] or "")
    return learn_words(members, others)


class StoredNeighbourhood:
    """Scores the targets of one service by the stored accounts around them; implements `ports.Neighbourhood`."""

    def __init__(self, database: Database, service: int, network: str) -> None:
        self._database = database
        self._service = service
        self._network = network

    async def scores(self, tx: Transaction, targets: Sequence[str]) -> Mapping[str, float]:
        users = await users_named(tx, self._database, self._service, self._network, targets)
        around = await neighbours_of(tx, self._database, list(users.values())) if users else {}
        weights = (await read_learned(tx)).relations
        return {
            target: relation_score(around.get(user, NOBODY), weights)
            for target, user in users.items()
        }
