"""Live connections: the channels a network offers, one subscription to one of them, and what was heard."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct

from bowerbird.model.items import Page
from bowerbird.model.kinds import Outcome
from bowerbird.model.work.backoff import Backoff
from bowerbird.model.work.calls import Request
from bowerbird.model.work.limits import Facet, Limit

_DECIMAL = "0123456789"
_LONGEST_KEY = 30
_LATEST_MS = 200 * 366 * 86_400_000
"""Two centuries: what is later is no time."""


class Wire(StrEnum):
    """How messages are cut out of the connection."""

    WEBSOCKET = "websocket"
    EVENTS = "events"
    """Server-sent events: one message is one event with its name and data lines, without the blank line."""
    LINES = "lines"
    """One message per line of a long HTTP answer; empty lines only show that the connection lives."""


class KeyTime(Struct, frozen=True, gc=False):
    """How a network's post keys tell when it took a post in: milliseconds since `epoch`, above so many bits of something else."""

    epoch: datetime
    bits: int
    digits: str = _DECIMAL
    """What keys are written with, the lowest first."""
    length: int = 0
    """Of every key; 0: they are as long as they need to be."""

    def key_at(self, when: datetime) -> str:
        """The smallest key of that time."""
        value, key = max((when - self.epoch) // timedelta(milliseconds=1), 0) << self.bits, ""
        while value or len(key) < max(self.length, 1):
            value, digit = divmod(value, len(self.digits))
            key = self.digits[digit] + key
        return key

    def time_of(self, key: str) -> datetime | None:
        """When the post of a key was taken in; None where the key is of another kind, or of no time that can be."""
        if len(key) > _LONGEST_KEY or (self.length and len(key) != self.length) or not set(key) <= set(self.digits) or not key:
            return None
        since = self._value(key) >> self.bits
        return self.epoch + timedelta(milliseconds=since) if since < _LATEST_MS else None

    def _value(self, key: str) -> int:
        if self.digits == _DECIMAL:
            return int(key)
        value = 0
        for letter in key:
            value = value * len(self.digits) + self.digits.index(letter)
        return value

    def is_ahead(self, key: str, when: datetime) -> bool:
        """Whether a key is above every one of that time; keys of another kind tell nothing."""
        if not key or not set(key) <= set(self.digits) or (self.length and len(key) != self.length):
            return False
        latest = self.key_at(when)
        return (len(key), key) > (len(latest), latest)


class Channel(Struct, frozen=True, kw_only=True):
    """One kind of stream a network offers; the table of these is data, like the facet table."""

    facet: Facet
    """Its name, what its messages carry, and the limits that opening a connection falls under."""
    wire: Wire
    options: Mapping[str, str]
    """Names a crawl file may set for a subscription, with a word on each."""
    needs: frozenset[str] = frozenset()
    """Options without which there is nothing to subscribe to."""
    kinds: frozenset[str] = frozenset()
    """Kinds of credential (`user`, `app`) it can be opened with; empty: with any, or with none."""
    has_cursor: bool = False
    """A connection can go on where the last one ended, as far back as `reach`."""
    reach: timedelta | None = None
    is_bound: bool = False
    """The cursor means something only to the host that gave it."""
    silence: timedelta = timedelta(minutes=1)
    """Not even a sign of life for so long means that the connection is dead."""
    disorder: timedelta = timedelta(0)
    """Messages may come so long after others that happened later: a gap begins that much earlier."""
    fills: str = ""
    """The facet that lists what a gap missed, from `Provider.fill_targets`; empty when the network has none."""
    key_time: KeyTime | None = None
    """Where to list from when no post was heard before the gap; None: keys tell no time, such a gap cannot be filled."""
    restart: str = ""
    """The cursor of the oldest that the service has, to go on from where it says that ours lies ahead of it; empty: wait."""
    announces: str = ""
    """The facet that fetches what a message only announces, by the target in `Heard.refetch`."""
    change: tuple[Limit, ...] = ()
    """What a change of what is heard takes from, where it is asked of the service while a connection is open."""
    lost: Backoff
    """After a connection that broke or could not be made."""
    refused: Backoff
    """After an HTTP error."""
    limited: Backoff
    """After too many connections or calls."""


class Subscription(Struct, frozen=True, kw_only=True):
    """What a crawl listens to: a channel with its options."""

    channel: str
    options: dict[str, tuple[str, ...]] = {}
    name: str = ""
    """What the user calls it; the channel's name if nothing else is said."""
    owner: str = ""
    """Tells this crawl from all others, where something is left at the service (X's rules)."""


class NoticeKind(StrEnum):
    OUTDATED = "outdated"
    """The cursor lies before what the service still has: what is between is lost to the stream."""
    FUTURE = "future"
    """The cursor lies ahead of the service: its numbering was reset."""
    UNDELIVERED = "undelivered"
    """The service holds messages back (v1.1 limit notices)."""
    SLOW = "slow"
    """We read too slowly."""
    CLOSING = "closing"
    """The service says why it ends the connection."""
    OTHER = "other"


class Notice(Struct, frozen=True, gc=False):
    """Something the service said about the stream itself."""

    kind: NoticeKind
    detail: str = ""
    missing: int | None = None
    """How many messages it did not deliver, where it says so; counted since the connection was opened."""


class Heard(Struct, frozen=True, kw_only=True):
    """What a batch of messages said, in order."""

    pages: tuple[Page, ...] = ()
    """To be saved one after the other: a later one may contradict an earlier one."""
    events: int = 0
    """Messages about items, mapped or not; heartbeats and notices do not count."""
    cursor: str | None = None
    """Where the next connection goes on if everything up to here is saved; None leaves it as it was."""
    head: str | None = None
    """Newest post key, for a network whose gaps are filled from it."""
    newest_at: datetime | None = None
    """The network's own time of the newest event."""
    notices: tuple[Notice, ...] = ()
    refetch: tuple[tuple[str, str], ...] = ()
    """Facet and target of what the stream only announces (a repository that was reset, a commit too big to carry)."""
    closing: Outcome | None = None
    """The service is ending the connection: `overloaded`, `rate_limited`, `bad_token` … decides how long to wait."""


class Opening(Struct, frozen=True, kw_only=True):
    """Everything is ready: how to connect and what to say first."""

    request: Request
    greetings: tuple[bytes, ...] = ()
    """Sent as text messages once the WebSocket is open."""
    dictionary: bytes = b""
    """What compressed messages were compressed with."""
    rules: tuple[str, ...] = ()
    """Ids of the filter rules that are ours, where a connection also brings what other rules match."""


class Retuned(Struct, frozen=True, kw_only=True):
    """How an open connection comes to hear something else."""

    messages: tuple[bytes, ...] = ()
    """Sent as text messages; none where the change is made elsewhere already, or by the listener alone."""
    rules: tuple[str, ...] = ()
    """As in `Opening`."""


class Ended(Struct, frozen=True, gc=False):
    """How a live connection ended."""

    reason: str
    status: int = 0
    """HTTP status of a refusal, or the WebSocket's close code; 0 when the connection just broke."""
