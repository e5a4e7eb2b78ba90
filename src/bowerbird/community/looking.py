"""Judges people by what is stored of them: the third look, by neighbours, and everybody again when the judge has changed."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from msgspec import Struct

from bowerbird.analysis.community.judge import BY_MACHINE, CommunityJudge, Examiner, judgement_of
from bowerbird.analysis.community.relations import RelationModel
from bowerbird.community.reading import Person, read_people
from bowerbird.community.weights import read_model
from bowerbird.model import Judgement, Ruling, Subject
from bowerbird.model.subjects.community import JUDGE, NOBODY, UNDECIDED, Neighbours
from bowerbird.ports import Database, Transaction
from bowerbird.store.judgements.neighbours import neighbours_of
from bowerbird.store.judgements.rows import RulingWriter, read_judgements

_NO_CALL = 0
_UNDECIDED = f"""
select u.user_no from judgements j join users u on u.id = j.id
where j.judge = '{JUDGE}' and j.subject = 'user' and j.value = '{UNDECIDED}' and j.decided_by is null and u.user_no > ?
order by u.user_no limit ?
"""
_EVERYBODY = """
select u.user_no from users u where u.seen_at is not null and coalesce(u.opts_out, 0) = 0 and u.user_no > ?
order by u.user_no limit ?
"""


class Changed(Struct, frozen=True):
    """What is said of somebody now, and was before."""

    id: str
    before: str | None
    value: str


class Looker:
    """Judges stored people by one community's examiner."""

    def __init__(self, database: Database, examiner: Examiner) -> None:
        self._database = database
        self._examiner = examiner
        self._judge = CommunityJudge(examiner)

    async def undecided(self, tx: Transaction, after: int, most: int) -> list[int]:
        """Numbers of the next undecided accounts."""
        return [row["user_no"] for row in await tx.fetch(_UNDECIDED, after, most)]

    async def everybody(self, tx: Transaction, after: int, most: int) -> list[int]:
        return [row["user_no"] for row in await tx.fetch(_EVERYBODY, after, most)]

    async def by_neighbours(self, tx: Transaction, users: Collection[int], now: datetime) -> list[Changed]:
        """Looks at those around these accounts; who has too few stays as they are."""
        people = await read_people(tx, self._database, users, with_posts=False)
        return await self._look(tx, people, now, needs_neighbours=True)

    async def again(self, tx: Transaction, users: Collection[int], now: datetime) -> list[Changed]:
        """Judges these accounts by everything that is stored of them; whom a person judged stays as that person said."""
        people = await read_people(tx, self._database, users, with_posts=True)
        return await self._look(tx, people, now, needs_neighbours=False)

    async def _look(self, tx: Transaction, people: list[Person], now: datetime, *, needs_neighbours: bool) -> list[Changed]:
        people = [each for each in people if each.earlier is None or each.earlier.decided_by is None]
        uses = self._examiner.community.uses_relations and self._examiner.community.rule != "echo"
        around = await neighbours_of(tx, self._database, [each.number for each in people]) if uses else {}
        model = await read_model(tx)
        told = [(each, self._said(each, around.get(each.number, NOBODY), model)) for each in people]
        said = [(each, judgement) for each, judgement in told if not needs_neighbours or judgement.reason == "relations"]
        await self._write(tx, [judgement for _, judgement in said], now)
        before = {each.user.id: each.earlier.value if each.earlier else None for each, _ in said}
        return [Changed(each.id, before[each.id], each.value) for _, each in said if before[each.id] != each.value]

    def _said(self, person: Person, around: Neighbours, model: RelationModel) -> Judgement:
        # Whoever is decided by what they say of themselves stays an example of how neighbours count.
        own = judgement_of(self._examiner, person.user.id, person.user, person.written, person.earlier)
        sign = model.sign(around) if own.value == UNDECIDED else None
        if sign is None:
            return own
        return judgement_of(self._examiner, person.user.id, person.user, person.written, person.earlier, sign)

    async def _write(self, tx: Transaction, judgements: list[Judgement], now: datetime) -> None:
        items = {(Subject.USER, each.id) for each in judgements}
        ruling = Ruling(judgements=tuple(judgements), reviewed=dict.fromkeys(items, BY_MACHINE))
        before = await read_judgements(tx, self._database, items)
        await RulingWriter(self._judge, _NO_CALL, now).write(tx, ruling, before)
