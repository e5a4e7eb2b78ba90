"""What a crawl learns from the accounts it judged: the prior, and the weights of neighbours and words.

The worker that reviews accounts learns first; all workers read the result from the store.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import msgspec

from bowerbird.community.membership import (
    LOG_ODDS,
    START_PRIOR,
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
from bowerbird.model import to_micros
from bowerbird.model.subjects.community import JUDGE, NO, NO_NEIGHBOURS, UNDECIDED, YES, Community
from bowerbird.ports import Database, Transaction
from bowerbird.store.judgements.neighbours import neighbours_of, users_named

_MIN_JUDGED, _MOST_JUDGED = 50, 4_000
_LOG_ODDS_BY_PERSON = {YES: 30.0, NO: -30.0, UNDECIDED: 0.0}
_JUDGED = f"""
select u.user_no, u.description, j.value, j.evidence,
    case when j.decided_by is null then 0 else 1 end as is_by_person
from judgements j join users u on u.id = j.id
where j.judge = '{JUDGE}' and j.subject = 'user' and coalesce(u.opts_out, 0) = 0
order by is_by_person desc, j.at desc, u.user_no limit {_MOST_JUDGED}
"""
_DESCRIPTIONS = """
select description from users where coalesce(opts_out, 0) = 0 and user_no {these}
"""
_SEEDS = """
select coalesce(
    (select k.user_no from user_keys k where k.service = l.service and k.key = t.target),
    (select x.user_no from users x where x.id in (t.target, s.network || ':' || t.target))
) as user_no
from tasks t join lanes l on l.lane = t.lane join services s on s.service = l.service
where l.crawl = ? and t.depth = 0
"""
_READ = f"select learned from community_models where judge = '{JUDGE}'"
_SAVE = f"""
insert into community_models (judge, learned, examples, persons, at)
values ('{JUDGE}', ?, ?, ?, ?)
on conflict (judge) do update set learned = excluded.learned, examples = excluded.examples,
    persons = excluded.persons, at = excluded.at
"""


async def read_seeds(tx: Transaction, crawl: int) -> frozenset[int]:
    """Return the numbers of the accounts that a crawl started with, as far as they are known."""
    rows = await tx.fetch(_SEEDS, crawl)
    return frozenset(row["user_no"] for row in rows if row["user_no"] is not None)


async def read_learned(tx: Transaction) -> Learned:
    """Return what was learned last; the start values if nothing was."""
    row = await tx.fetch_one(_READ)
    return Learned() if row is None else msgspec.json.decode(row["learned"], type=Learned)


async def learn(
    tx: Transaction,
    database: Database,
    community: Community,
    now: datetime,
    seeds: Collection[int] = (),
) -> Learned:
    """Estimate the prior and all weights from judged accounts, and save them.

    With fewer than 50 judged accounts, the values before stay.
    """
    rows = await tx.fetch(_JUDGED)
    if len(rows) < _MIN_JUDGED:
        return await read_learned(tx)
    judged = [(row, msgspec.json.decode(row["evidence"])) for row in rows]
    prior = estimate_prior(
        [
            _LOG_ODDS_BY_PERSON[row["value"]]
            if row["is_by_person"]
            else evidence.get(LOG_ODDS, 0.0)
            for row, evidence in judged
        ]
    )
    around = await neighbours_of(tx, database, [row["user_no"] for row in rows])
    examples: list[Example] = []
    for row, evidence in judged:
        value, weight = row["value"], DECIDED_BY_PERSON
        if not row["is_by_person"]:
            # A decision that rests on neighbours is no example of how they count.
            own = [sign for sign in stored_signs(evidence) if sign.kind != RELATIONS]
            value, weight = decide(own, community, prior).value, 1.0
        if value != UNDECIDED:
            examples.append(
                Example(around.get(row["user_no"], NO_NEIGHBOURS), value == YES, weight)
            )
    if len({example.is_member for example in examples}) < 2:
        # Without members and others, signs do not tell how many are members.
        prior = START_PRIOR
    words: Mapping[str, float] = {}
    if community.learns_words:
        by_person = {row["user_no"] for row in rows if row["is_by_person"] and row["value"] == YES}
        named = by_person.union(seeds)
        members = await tx.fetch(
            _DESCRIPTIONS.format(these=database.any("bigint")), database.members(sorted(named))
        )
        others = [row for row in rows if row["user_no"] not in named]
        words = learn_words(
            [row["description"] or "" for row in members],
            [row["description"] or "" for row in others],
        )
    relations = {name: round(weight, 4) for name, weight in fit_relations(examples).items()}
    learned = Learned(prior=prior, relations=relations, words=words)
    persons = sum(row["is_by_person"] for row in rows)
    encoded = msgspec.json.encode(learned).decode()
    await tx.execute(_SAVE, encoded, len(examples), persons, to_micros(now))
    return learned


class StoredNeighbourhood:
    """Scores the targets of one service by the judged accounts around them.

    Implements `ports.Neighbourhood`.
    """

    def __init__(self, database: Database, service: int, network: str) -> None:
        self._database = database
        self._service = service
        self._network = network

    async def scores(self, tx: Transaction, targets: Sequence[str]) -> Mapping[str, float]:
        users = await users_named(tx, self._database, self._service, self._network, targets)
        around = await neighbours_of(tx, self._database, list(users.values())) if users else {}
        weights = (await read_learned(tx)).relations
        return {
            target: relation_score(around.get(user, NO_NEIGHBOURS), weights)
            for target, user in users.items()
        }
