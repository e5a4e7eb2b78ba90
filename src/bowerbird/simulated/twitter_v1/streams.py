"""`statuses/filter` and `statuses/sample`: a line for each Tweet and each notice, one connection per credential."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec import Struct

from bowerbird.model import Wire
from bowerbird.simulated.feeds import Sent
from bowerbird.simulated.streaming.agenda import LATEST, Agenda, in_order
from bowerbird.simulated.tokens import IssuedTokens, Token
from bowerbird.simulated.twitter_v1.call import user_key
from bowerbird.simulated.twitter_v1.filters import read_filter
from bowerbird.simulated.twitter_v1.payloads import Payloads
from bowerbird.simulated.wire import JSON, Params, Reply, encode
from bowerbird.simulated.world import Happening, Kind
from bowerbird.simulated.world.hashing import mix, unit
from bowerbird.simulated.world.posts.rows import Row
from bowerbird.simulated.world.settings import to_ms

_FILTER, _SAMPLE = "/1.1/statuses/filter.json", "/1.1/statuses/sample.json"
PATHS = frozenset({_FILTER, _SAMPLE})
CALM = Reply(420, b"Exceeded connection limit for user\r\nEnhance Your Calm\r\n", {"content-type": "text/plain"})
KEEP_ALIVE = timedelta(seconds=30)
_TOLD = frozenset({Kind.WRITTEN, Kind.DELETED})
_FALLING = 0.6
_ENDINGS = {4: "stall", 6: "token revoked", 7: "admin logout"}


class Manner(Struct, frozen=True, kw_only=True):
    """How the streams behave where tests want them to differ from the real ones."""

    sample: float = 0.01
    """Share of all Tweets in the sample stream, the same for everybody."""
    volume: int = 3_000
    """Tweets a filter may match in a minute; of what is above only the number is told."""
    queue: int = 5_000
    """So many messages may wait for a slow reader before the service gives him up."""


class Terms(Struct, frozen=True):
    """What one connection wants and may have."""

    is_wanted: Callable[[Row], bool]
    volume: int | None
    queue: int
    warns: bool
    is_delimited: bool
    ending: Callable[[], int]
    """Why the service ends the connection, as a code; 0 while it does not."""


class Streams:
    """Opens connections; a new one with the same credential ends the old one."""

    def __init__(self, payloads: Payloads, tokens: IssuedTokens, manner: Manner) -> None:
        self._write = payloads
        self._tokens = tokens
        self._manner = manner
        self._opened: dict[str, int] = {}

    def open(self, path: str, params: Params, token: Token, now: datetime) -> TweetFeed:
        serial = self._opened[token.value] = self._opened.get(token.value, 0) + 1
        world, manner = self._write.world, self._manner
        wanted = self._sampled if path == _SAMPLE else self._filtered(params)
        terms = Terms(
            is_wanted=wanted,
            volume=manner.volume if path == _FILTER else None,
            queue=manner.queue,
            warns=params.flag("stall_warnings"),
            is_delimited=params.get("delimited") == "length",
            ending=lambda: self._ending(token, serial),
        )
        agenda = Agenda(world, to_ms(world.settings.moment(now)), in_order(world, _TOLD), LATEST)
        return TweetFeed(self._write, agenda, terms, now)

    def _filtered(self, params: Params) -> Callable[[Row], bool]:
        wanted, world = read_filter(params, self._write.world), self._write.world
        return lambda row: wanted.fits(row, world)

    def _sampled(self, row: Row) -> bool:
        return unit(mix(row.number, 97)) < self._manner.sample

    def _ending(self, token: Token, serial: int) -> int:
        known = self._tokens.get(token.value)
        if known is None or known.state != "good":
            return 6
        return 7 if self._opened[token.value] != serial else 0


class TweetFeed:
    """One connection."""

    wire = Wire.LINES
    is_text = False

    def __init__(self, payloads: Payloads, agenda: Agenda, terms: Terms, now: datetime) -> None:
        self.headers = {"content-type": JSON}
        self._write = payloads
        self._world = payloads.world
        self._agenda = agenda
        self._terms = terms
        self._beat = now + KEEP_ALIVE
        self._minute = 0
        self._matched = 0
        self._withheld = 0

    def due(self, now: datetime) -> Sent:
        code = self._terms.ending()
        if code:
            return self._close(code)
        withheld, moment = self._withheld, to_ms(self._world.settings.moment(now))
        written = (self._message(happening, moment, now) for happening in self._agenda.take(now))
        messages = [message for message in written if message]
        if self._withheld != withheld:
            messages.append(encode({"limit": {"track": self._withheld, "timestamp_ms": str(moment)}}))
        if len(messages) > self._terms.queue:
            return self._close(4)
        if self._terms.warns and len(messages) > _FALLING * self._terms.queue:
            messages.insert(0, _warning(100 * len(messages) // self._terms.queue))
        frames = [self._frame(message) for message in messages]
        if not frames and now >= self._beat:
            frames = [b"\r\n"]
        if frames:
            self._beat = now + KEEP_ALIVE
        return Sent(tuple(frames), self._agenda.again_at(now, self._beat))

    def receive(self, message: bytes, now: datetime) -> Sent:
        return Sent()

    def end(self) -> None:
        """Nothing is held for a connection."""

    def _message(self, happening: Happening, moment: int, now: datetime) -> bytes:
        """A Tweet or a deletion that belongs on this stream; empty for all others."""
        row = self._world.row(happening.number, moment)
        if row is None or not self._terms.is_wanted(row):
            return b""
        if happening.kind is Kind.DELETED:
            return _deletion(row, happening.ms)
        if not self._world.is_open(row.author, moment) or not self._write.is_readable(row, moment) or self._is_full(now):
            return b""
        return self._write.tweets([row], moment, is_extended=False)[0]

    def _is_full(self, now: datetime) -> bool:
        """Counts one match, within the minute's volume or beyond it."""
        minute = int(now.timestamp()) // 60
        if minute != self._minute:
            self._minute, self._matched = minute, 0
        self._matched += 1
        is_full = self._terms.volume is not None and self._matched > self._terms.volume
        self._withheld += is_full
        return is_full

    def _frame(self, message: bytes) -> bytes:
        line = message + b"\r\n"
        return b"%d\r\n%b" % (len(line), line) if self._terms.is_delimited else line

    def _close(self, code: int) -> Sent:
        ending = {"disconnect": {"code": code, "stream_name": "bowerbird-statuses", "reason": _ENDINGS[code]}}
        return Sent((self._frame(encode(ending)),), close=(1000, _ENDINGS[code]))


def _deletion(row: Row, ms: int) -> bytes:
    user = user_key(row.author)
    status = {"id": row.number, "id_str": str(row.number), "user_id": user, "user_id_str": str(user)}
    return encode({"delete": {"status": status, "timestamp_ms": str(ms)}})


def _warning(percent: int) -> bytes:
    queued = "Your connection is falling behind and messages are being queued for delivery to you."
    message = f"{queued} Your queue is now over {percent}% full. You will be disconnected when the queue is full."
    return encode({"warning": {"code": "FALLING_BEHIND", "message": message, "percent_full": percent}})
