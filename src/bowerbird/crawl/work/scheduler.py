"""Decides which lane calls next and with which credential; it waits for nothing and asks the ledgers only about what changed.

Every ready lane has one option per credential. An option is *open* (its buckets allow a call now), or waits in a heap for
the time the ledgers named. A charge or settlement makes the options of its buckets doubtful, and only those are asked about
again. Among lanes with an open option turns go by weight: all of them earn their weight, the richest calls and pays what all
earned. A lane that is idle or held back by its limits earns nothing, so its share goes to the others and is not claimed
back.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import count

from msgspec import Struct

from bowerbird.limits.rate_limits import RateLimits
from bowerbird.model import Charge, Turn


class Choice(Struct, frozen=True):
    """Whose turn it is, the credential to use, and what the call is charged."""

    turn: Turn
    credential: str | None
    charges: tuple[Charge, ...]


May = Callable[[Choice], bool]
"""Whether a choice can be made by whoever asks."""


class _Option:
    """One half of a lane with one credential."""

    __slots__ = ("asked_at", "at", "choice", "is_off", "lane", "room")

    def __init__(self, lane: _Turns, choice: Choice) -> None:
        self.lane = lane
        self.choice = choice
        self.is_off = False
        self.at: datetime | None = None
        self.asked_at: datetime | None = None
        self.room = 0.0


class _Turns:
    """One half of a lane: its options, those that are open, and its account of turns."""

    __slots__ = ("credit", "idle_until", "is_closed", "is_ready", "open", "options", "turn", "weight")

    def __init__(self, turn: Turn, weight: float) -> None:
        self.turn = turn
        self.weight = weight
        self.options: list[_Option] = []
        self.open: dict[_Option, None] = {}
        self.is_ready = False
        self.is_closed = False
        self.idle_until: datetime | None = None
        self.credit = 0.0

    def among(self, may: May) -> list[_Option]:
        """The open options that can be chosen."""
        return [option for option in self.open if may(option.choice)]


class Scheduler:
    """Shares the calls that the ledgers allow between lanes by weight and between credentials by room."""

    def __init__(self, ledgers: RateLimits) -> None:
        self._ledgers = ledgers
        self._lanes: dict[Turn, _Turns] = {}
        self._users: defaultdict[str, list[_Option]] = defaultdict(list)
        self._doubtful: dict[_Option, None] = {}
        self._waiting: list[tuple[datetime, int, _Option]] = []
        self._sleeping: list[tuple[datetime, int, _Turns]] = []
        self._serial = count()
        self._held: dict[str | None, datetime] = {}

    def add(self, turn: Turn, weight: float, options: Mapping[str | None, Sequence[Charge]]) -> None:
        """Registers one half of a lane, ready, with the charges of a call for each credential it may use (None: without)."""
        turns = self._lanes[turn] = _Turns(turn, weight)
        for credential, charges in options.items():
            option = _Option(turns, Choice(turn, credential, tuple(charges)))
            turns.options.append(option)
            for charge in option.choice.charges:
                self._users[charge.bucket].append(option)
        self.wake([turn.lane])

    def next(self, now: datetime, may: May | None = None) -> Choice | datetime | None:
        """The call to make now, or when to ask again, or None when no lane has anything to ask. `may`: what can be chosen."""
        self._wake_sleepers(now)
        self._take_due(now)
        option = self._best(now, may)
        return self._earliest() if option is None else self._taken(option)

    def again(self, choice: Choice, now: datetime, may: May | None = None) -> bool:
        """Takes one more turn if it falls to the same choice; the others lose nothing by it."""
        option = self._best(now, may)
        return option is not None and option.choice is choice and self._taken(option) is choice

    def idle(self, turn: Turn, until: datetime | None) -> None:
        """This half of the lane has nothing to ask before that time (None: before it is woken)."""
        turns = self._lanes[turn]
        turns.is_ready = False
        turns.open.clear()
        turns.credit = 0.0
        turns.idle_until = until
        if until is not None:
            heapq.heappush(self._sleeping, (until, next(self._serial), turns))

    def wake(self, lanes: Iterable[int]) -> None:
        """These lanes may have something to ask; those registered elsewhere are passed over."""
        self.wake_turns(Turn(lane, is_paged) for lane in lanes for is_paged in (False, True))

    def wake_turns(self, turns: Iterable[Turn]) -> None:
        """The same for single halves, where it is known which."""
        for turn in turns:
            known = self._lanes.get(turn)
            if known is not None and not known.is_ready and not known.is_closed:
                known.is_ready = True
                known.idle_until = None
                self._doubtful.update(dict.fromkeys(known.options))

    def touched(self, buckets: Iterable[str]) -> None:
        """The accounts of these buckets changed."""
        for bucket in buckets:
            self._doubtful.update(dict.fromkeys(self._users.get(bucket, ())))

    def refuse(self, lanes: Collection[int], credential: str | None) -> None:
        """Switches a credential off for these lanes: for one (it may not ask this), or for all of the service that refuses it."""
        for turns in self._lanes.values():
            if turns.turn.lane in lanes:
                self._switch_off(turns, credential)

    def weigh(self, lane: int, weight: float) -> None:
        """Turns of this lane go by that weight from now on."""
        for is_paged in (False, True):
            if (turns := self._lanes.get(Turn(lane, is_paged))) is not None:
                turns.weight = weight

    def close(self, lane: int) -> None:
        """A lane whose questions nobody answers gets no turn any more."""
        for is_paged in (False, True):
            if (turns := self._lanes.get(Turn(lane, is_paged))) is not None:
                turns.is_closed = True
                self.idle(turns.turn, None)

    def hold(self, credential: str | None, until: datetime) -> None:
        """Does not use a credential before that time, whatever the ledgers say."""
        self._held[credential] = until
        for turns in self._lanes.values():
            self._doubtful.update((option, None) for option in turns.options if option.choice.credential == credential)

    def is_bare(self, lane: int, *, without: str | None = "") -> bool:
        """Whether a lane has no credential left to ask with, or would have none `without` this one."""
        halves = [self._lanes[turn] for each in (False, True) if (turn := Turn(lane, each)) in self._lanes]
        options = [option for turns in halves for option in turns.options]
        return bool(options) and all(option.is_off or option.choice.credential == without for option in options)

    @property
    def credentials(self) -> frozenset[str]:
        """All that any lane may be asked with, by name."""
        options = (option for turns in self._lanes.values() for option in turns.options)
        return frozenset(name for option in options if (name := option.choice.credential) is not None)

    def has_open(self) -> bool:
        """Whether some lane may call now, whoever makes the call."""
        return any(turns.open for turns in self._lanes.values())

    def is_stuck(self) -> bool:
        """No ready lane has a credential left to ask with."""
        ready = [turns for turns in self._lanes.values() if turns.is_ready]
        return bool(ready) and all(option.is_off for turns in ready for option in turns.options)

    def _best(self, now: datetime, may: May | None) -> _Option | None:
        self._ask_ledgers(now)
        while turns := self._turn(may):
            option = max(turns.open if may is None else turns.among(may), key=_room)
            # Time alone can close an option: its window may be about to end.
            at = now if option.asked_at == now else self._when(option, now)
            if at <= now:
                return option
            self._wait(option, at)
        return None

    def _taken(self, option: _Option) -> Choice:
        self._pay(option.lane)
        self.touched([charge.bucket for charge in option.choice.charges])
        return option.choice

    def _switch_off(self, turns: _Turns, credential: str | None) -> None:
        for option in turns.options:
            if option.choice.credential == credential:
                option.is_off = True
                option.at = None
                turns.open.pop(option, None)

    def _wake_sleepers(self, now: datetime) -> None:
        while self._sleeping and self._sleeping[0][0] <= now:
            until, _, turns = heapq.heappop(self._sleeping)
            if turns.idle_until == until:
                self.wake([turns.turn.lane])

    def _take_due(self, now: datetime) -> None:
        while self._waiting and self._waiting[0][0] <= now:
            at, _, option = heapq.heappop(self._waiting)
            if option.at == at:
                option.at = None
                self._doubtful[option] = None

    def _ask_ledgers(self, now: datetime) -> None:
        for option in self._doubtful:
            if not option.lane.is_ready or option.is_off:
                continue
            at = self._when(option, now)
            option.asked_at = now
            if at > now:
                self._wait(option, at)
            else:
                option.at = None
                if len(option.lane.options) > 1:
                    option.room = self._ledgers.rate(option.choice.charges, now)
                option.lane.open[option] = None
        self._doubtful.clear()

    def _when(self, option: _Option, now: datetime) -> datetime:
        at = self._ledgers.available_at(option.choice.charges, now)
        return max(at, self._held.get(option.choice.credential, at)) if self._held else at

    def _wait(self, option: _Option, at: datetime) -> None:
        option.lane.open.pop(option, None)
        if option.at != at:
            option.at = at
            heapq.heappush(self._waiting, (at, next(self._serial), option))

    def _turn(self, may: May | None) -> _Turns | None:
        able = (turns for turns in self._lanes.values() if turns.open and (may is None or turns.among(may)))
        return max(able, key=lambda turns: turns.credit + turns.weight, default=None)

    def _pay(self, chosen: _Turns) -> None:
        earned = 0.0
        for turns in self._lanes.values():
            if turns.open:
                turns.credit += turns.weight
                earned += turns.weight
        chosen.credit -= earned

    def _earliest(self) -> datetime | None:
        while self._waiting and not _is_live(self._waiting[0]):
            at, _, option = heapq.heappop(self._waiting)
            # Out of the heap is out of wait: the lane's next awakening must enter it again.
            option.at = None if option.at == at else option.at
        while self._sleeping and self._sleeping[0][2].idle_until != self._sleeping[0][0]:
            heapq.heappop(self._sleeping)
        return min((heap[0][0] for heap in (self._waiting, self._sleeping) if heap), default=None)


def _room(option: _Option) -> float:
    return option.room


def _is_live(entry: tuple[datetime, int, _Option]) -> bool:
    at, _, option = entry
    return option.at == at and option.lane.is_ready
