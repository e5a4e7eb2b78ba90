"""The filtered and the sample stream: one JSON object per line, not quite in order, and one connection per app."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import compress

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from bowerbird.model import Wire
from bowerbird.simulated.feeds import Sent
from bowerbird.simulated.streaming.agenda import Agenda
from bowerbird.simulated.wire import JSON, encode
from bowerbird.simulated.world import Happening, Kind, World
from bowerbird.simulated.world.hashing import mix, unit
from bowerbird.simulated.world.posts.cascades import Day, References
from bowerbird.simulated.world.posts.rows import REPOST, Row
from bowerbird.simulated.world.settings import to_ms
from bowerbird.simulated.x_v2.answers import Answers
from bowerbird.simulated.x_v2.call import Call
from bowerbird.simulated.x_v2.meter import Meter
from bowerbird.simulated.x_v2.payloads import Item
from bowerbird.simulated.x_v2.problems import disconnected, no_connection
from bowerbird.simulated.x_v2.querying.rules import Rules

FILTERED, SAMPLED = "tweets/search/stream", "tweets/sample/stream"
KEEP_ALIVE = timedelta(seconds=20)
SLOWEST = 6_500
"""How long after it was written a post may still be told, in ms; half of them are told within half a second."""
_AGAIN = 900
_TWICE_ONE_IN = 256
_LONGEST_BACKFILL = 5
_NUMBERS = np.int64


class Manner(Struct, frozen=True, kw_only=True):
    """How the streams behave where tests want them to differ from the real ones."""

    sample: float = 0.01
    """Share of all posts in the sample stream, the same posts for everybody."""
    lasts: timedelta | None = None
    """After so long the service ends a connection with an operational disconnect."""


class Streams:
    """Opens connections: one per app and stream."""

    def __init__(self, answers: Answers, rules: Rules, meter: Meter, manner: Manner) -> None:
        self._write = answers.payloads
        self._answers = answers
        self._meter = meter
        self._rules = rules
        self._manner = manner
        self._taken: set[tuple[str, str]] = set()

    def open(self, endpoint: str, call: Call, headers: dict[str, str]) -> PostFeed:
        place = (endpoint, call.token.app)
        minutes = call.size(0, 0, _LONGEST_BACKFILL, "backfill_minutes")
        if endpoint == FILTERED and not self._rules.of(call.token.app):
            raise no_connection(409, "RuleConfigurationIssue", "You must define rules before connecting to this stream.")
        if place in self._taken:
            detail = "This stream is currently at the maximum allowed connection limit."
            raise no_connection(429, "TooManyConnections", detail)
        self._taken.add(place)
        world = self._write.world
        since = to_ms(world.settings.moment(call.arrived_at - timedelta(minutes=minutes)))
        terms = Terms(
            headers={"content-type": JSON, **headers},
            ends_at=call.arrived_at + self._manner.lasts if self._manner.lasts is not None else None,
            is_spent=lambda now: self._meter.refusal(call.token.app, True, now) is not None,
            on_end=lambda: self._taken.discard(place),
        )
        agenda = Agenda(world, since, told_at, SLOWEST + _AGAIN)
        return PostFeed(agenda, self._writer(endpoint, call), terms, call.arrived_at)

    def _writer(self, endpoint: str, call: Call) -> Callable[[list[int], datetime], list[bytes]]:
        choose = self._matching if endpoint == FILTERED else self._sampled

        def write(numbers: list[int], now: datetime) -> list[bytes]:
            asking = replace(call, now=to_ms(self._write.world.settings.moment(now)), arrived_at=now)
            pairs = choose(self._readable(numbers, asking.now), call.token.app)
            return [self._answers.streamed(asking, row, rules) + b"\r\n" for row, rules in pairs]

        return write

    def _readable(self, numbers: list[int], now: int) -> list[Row]:
        world = self._write.world
        rows = (world.post(number, now) for number in numbers)
        return [row for row in rows if row and world.is_open(row.author, now) and self._write.is_readable(row, now)]

    def _sampled(self, rows: list[Row], app: str) -> list[tuple[Row, list[Item]]]:
        return [(row, []) for row in rows if unit(mix(row.number, 97)) < self._manner.sample]

    def _matching(self, rows: list[Row], app: str) -> list[tuple[Row, list[Item]]]:
        """Each post that a rule selects, with the rules that do."""
        if not rows:
            return []
        day, rules = few(rows, self._write.world), self._rules.of(app)
        matches = np.array([rule.mask(day) for rule in rules]).reshape(len(rules), len(rows))
        shown = [{"id": rule.id, **({"tag": rule.tag} if rule.tag else {})} for rule in rules]
        pairs = [(row, list(compress(shown, matches[:, place]))) for place, row in enumerate(rows)]
        return [(row, chosen) for row, chosen in pairs if chosen]


class Terms(Struct, frozen=True):
    """On what terms a connection was given."""

    headers: dict[str, str]
    ends_at: datetime | None
    is_spent: Callable[[datetime], bool]
    """Whether the app has used up what it may read."""
    on_end: Callable[[], None]


class PostFeed:
    """One connection."""

    wire = Wire.LINES
    is_text = False

    def __init__(self, agenda: Agenda, write: Callable[[list[int], datetime], list[bytes]], terms: Terms, now: datetime) -> None:
        self.headers = terms.headers
        self._agenda = agenda
        self._write = write
        self._terms = terms
        self._beat = now + KEEP_ALIVE

    def due(self, now: datetime) -> Sent:
        ends_at = self._terms.ends_at
        if self._terms.is_spent(now):
            return _disconnect("OperationalDisconnect", "This stream has been disconnected: the usage cap is exceeded.")
        frames = self._write([happening.number for happening in self._agenda.take(now)], now)
        if ends_at is not None and now >= ends_at:
            detail = "This stream has been disconnected upstream for operational reasons."
            return _disconnect("UpstreamOperationalDisconnect", detail, frames)
        if not frames and now >= self._beat:
            frames = [b"\r\n"]
        if frames:
            self._beat = now + KEEP_ALIVE
        again = self._agenda.again_at(now, self._beat)
        return Sent(tuple(frames), min(again, ends_at) if ends_at else again)

    def receive(self, message: bytes, now: datetime) -> Sent:
        return Sent()

    def end(self) -> None:
        self._terms.on_end()


def _disconnect(kind: str, detail: str, before: Sequence[bytes] = ()) -> Sent:
    return Sent((*before, encode(disconnected(kind, detail)) + b"\r\n"), close=(1000, "operational-disconnect"))


def told_at(happening: Happening) -> tuple[int, ...]:
    """Posts only: neither deletions nor edits are told in band. A few posts are told twice."""
    if happening.kind is not Kind.WRITTEN:
        return ()
    draw = mix(happening.number, 91)
    first = happening.ms + 300 + int((SLOWEST - 300) * unit(draw) ** 5)
    return (first, first + _AGAIN) if draw % _TWICE_ONE_IN == 0 else (first,)


def few(rows: Sequence[Row], world: World) -> Day:
    """Single posts as a day to select from; a repost has the hashtags of what it passes on."""
    originals = [world.row(row.target, row.ms) if row.kind == REPOST else None for row in rows]
    said = [original or row for original, row in zip(originals, rows, strict=True)]
    none = np.zeros(0, _NUMBERS)
    return Day(
        number=np.array([row.number for row in rows], _NUMBERS),
        kind=np.array([row.kind for row in rows], np.int8),
        target=np.array([row.target for row in rows], _NUMBERS),
        tag=np.array([row.tag for row in said], _NUMBERS),
        second_tag=np.array([row.second_tag for row in said], _NUMBERS),
        gone_at=np.array([row.gone_at for row in rows], _NUMBERS),
        event=np.array([row.event for row in said], _NUMBERS),
        start=none,
        liked_start=none,
        liked=none,
        liked_ms=none,
        references=References(none, none, none, none, none, none),
    )
