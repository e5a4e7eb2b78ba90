"""`focus`: one queue of candidates and members of a community.

Candidates are looked at by how likely they belong, as the accounts around them tell; a few are taken at random, so that it is
known how many members the others hide. Members come back as `two_stage` or `echo` has it.

Every choice is made of seeds first, then a share of candidates, then members; what one part leaves empty the others fill. What a
task remembers begins with what it is: `c` a candidate, `u` undecided, `n` not a member, `m` a member; in a capital where chance
chose it, for good.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import structs

from bowerbird.model import Arrival, Draw, Placement, Task, Visit
from bowerbird.model.subjects.community import JUDGE, UNDECIDED, YES
from bowerbird.policies.moments import lot
from bowerbird.ports import Ranker

CANDIDATE, REFUSED, OPEN, MEMBER = b"c", b"n", b"u", b"m"
_SEEDS, _RANDOM, _CANDIDATES = 3e6, 2e6, 1e6
"""Where each kind begins; members are below."""
_SPAN = 1_000.0
AGAIN = timedelta(days=30)
"""Profiles change: after this time somebody who did not belong, or was undecided, is looked at again."""
CANDIDATES = 30
"""Of a hundred places, how many are for candidates."""
RANDOM = 5
"""Of a hundred candidates, how many chance chooses."""
_CHANCE = 7


class Focus:
    """Who of a community, or near it, is looked up next."""

    name = "focus"
    remembers = True

    def __init__(self, members: Ranker, *, candidates: int = CANDIDATES, random: int = RANDOM, comes_back: bool = True) -> None:
        """`members`: who decides about those who belong. `comes_back`: whether anybody is looked at again."""
        self._members = members
        self._candidates = candidates / 100
        self._random = random / 100
        self._comes_back = comes_back

    def added(self, arrival: Arrival, known: Task | None, now: datetime) -> Placement:
        kind = kind_of(known)
        if known is None or kind in (CANDIDATE, b""):
            return self._candidate(arrival, known, now)
        if kind == MEMBER or not arrival.wakes:
            # Its ranker knows when it is worth a look.
            return Placement(known.priority, known.due, known.memory)
        fresh = self._members.added(arrival, None, now)
        return structs.replace(fresh, memory=_marked(MEMBER, known) + (fresh.memory or b""))

    def continued(self, visit: Visit) -> bytes | None:
        return visit.task.memory

    def visited(self, visit: Visit) -> Placement:
        said = {each.value for each in visit.judged if each.judge == JUDGE}
        # Whoever named a seed knows that it belongs.
        is_seed = visit.task.depth == 0 and not visit.outcome.is_about_target
        if YES not in said and not is_seed and (kind_of(visit.task) != MEMBER or said):
            kind = OPEN if UNDECIDED in said else REFUSED
            return Placement(_CANDIDATES, visit.at + AGAIN if self._comes_back else None, _marked(kind, visit.task))
        inner = structs.replace(visit, task=structs.replace(visit.task, memory=_inner(visit.task)))
        placed = self._members.visited(inner)
        return structs.replace(placed, memory=_marked(MEMBER, visit.task) + (placed.memory or b""))

    def draws(self, room: int, now: datetime) -> Sequence[Draw]:
        candidates = _share(room, self._candidates, now)
        random = _share(candidates, self._random, now)
        members = [
            Draw(candidates + draw.count, draw.low, min(draw.high, _CANDIDATES))
            for draw in self._members.draws(room - candidates, now)
            if draw.low < _CANDIDATES
        ]
        chosen = (Draw(room, _SEEDS), Draw(random, _RANDOM, _SEEDS), Draw(candidates, _CANDIDATES, _RANDOM))
        return (*chosen, *members, Draw(room))

    def _candidate(self, arrival: Arrival, known: Task | None, now: datetime) -> Placement:
        if arrival.depth == 0:
            return Placement(_SEEDS, now, CANDIDATE)
        chance = lot(_CHANCE, 0, arrival.target)
        if chance < self._random:
            # By lot and not by when it came or who leads to it: otherwise it would be no sample of all.
            return Placement(_RANDOM + _SPAN * chance, _since(known, now), CANDIDATE.upper())
        score = arrival.score if arrival.score is not None else 0.5
        return Placement(_CANDIDATES + _SPAN * score, _since(known, now), CANDIDATE, moves=True)


def kind_of(task: Task | None) -> bytes:
    """What a task of this queue is; nothing where nobody said yet."""
    return _first(task).lower()


def _first(task: Task | None) -> bytes:
    return task.memory[:1] if task is not None and task.memory else b""


def _marked(kind: bytes, task: Task) -> bytes:
    """The kind, as chance chose the task or not."""
    return kind.upper() if _first(task).isupper() else kind


def _inner(task: Task) -> bytes | None:
    """What the ranker of members remembers."""
    return (task.memory or b"")[1:] or None if kind_of(task) == MEMBER else None


def _since(known: Task | None, now: datetime) -> datetime:
    return known.due if known is not None and known.due is not None else now


def _share(room: int, share: float, now: datetime) -> int:
    """A part of a number of places; the fraction of one by lot, so that it is right over time."""
    whole = int(room * share)
    return whole + (lot(now) < room * share - whole)
