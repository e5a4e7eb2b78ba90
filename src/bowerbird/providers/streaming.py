"""Streams: check the options of a subscription, and collect messages into pages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Generic, TypeVar

from bowerbird.errors import UserError
from bowerbird.model import (
    EPOCH,
    Answer,
    Channel,
    Heard,
    Notice,
    NoticeKind,
    Outcome,
    Page,
    Reading,
    Subject,
    Subscription,
    WithdrawnPlaces,
)
from bowerbird.providers import headers
from bowerbird.providers.items import UNREADABLE, shortened
from bowerbird.providers.page import PageBuilder, check_values, newest_key

B = TypeVar("B", bound=PageBuilder)

# Subscriptions

Values = tuple[str, ...]
Check = Callable[[str, Values], Values]
"""Takes the channel and the values of an option; returns the normalized values or raises
`UserError`."""


def subscribe(
    channels: Mapping[str, Channel],
    checks: Mapping[str, Check],
    name: str,
    options: Mapping[str, Sequence[str]],
) -> Subscription:
    """Return the subscription with every option checked. Raises `UserError`."""
    if name not in channels:
        raise UserError(
            f"There is no stream {name!r}.",
            f"Choose one of {', '.join(channels)}.",
            code="unknown_name",
        )
    known = channels[name].options
    for unknown in sorted(set(options) - set(known)):
        raise UserError(
            f"Stream {name} has no option {unknown!r}.",
            f"It has {', '.join(known) or 'none'}.",
            code="unknown_name",
        )
    checked = {
        key: checks[key](name, tuple(dict.fromkeys(value.strip() for value in values)))
        for key, values in options.items()
        if values
    }
    for missing in sorted(channels[name].needs - set(checked)):
        raise UserError(f"Stream {name} needs {missing}: {known[missing]}.", code="missing_value")
    return Subscription(channel=name, options=checked)


def single(channel: str, option: str, values: Values) -> str:
    """Return the value of an option that takes one."""
    if len(values) != 1:
        raise UserError(
            f"Stream {channel}: {option} has {len(values)} values.", "Write one.", code="too_many"
        )
    return values[0]


def flag(option: str) -> Check:
    """Return the check of a true/false option."""

    def check(channel: str, values: Values) -> Values:
        value = single(channel, option, values).casefold()
        if value not in ("true", "false"):
            raise UserError(
                f"Stream {channel}: invalid {option} {value!r}.", "Write true or false."
            )
        return (value,)

    return check


def number(option: str, least: int, most: int) -> Check:
    """Return the check of a whole number."""

    def check(channel: str, values: Values) -> Values:
        value = single(channel, option, values)
        if not (
            value.isascii() and value.isdigit() and len(value) < 10 and least <= int(value) <= most
        ):
            raise UserError(
                f"Stream {channel}: invalid {option} {value!r}.",
                f"Write a whole number from {least} to {most}.",
            )
        return (str(int(value)),)

    return check


def at_most(channel: str, option: str, values: Values, most: int) -> Values:
    """Return the values, or raise `UserError` if the network does not take that many on one
    connection."""
    if len(values) > most:
        raise UserError(
            f"Stream {channel}: {len(values)} {option}, at most {most:,} are allowed.",
            "Split them over several streams.",
            code="too_many",
        )
    return values


def chosen(wanted: Subscription, option: str) -> str:
    """Return the value of an option; empty if it is not set."""
    return next(iter(wanted.options.get(option, ())), "")


# Messages

NO_ANSWER = Answer(status=200, sent_at=EPOCH, received_at=EPOCH)
"""The response of a connection that is still open."""


def no_stream(answer: Answer, outcome: Outcome, detail: str, limit: Reading | None) -> Page:
    """Return the page of an HTTP response that came instead of a stream."""
    if outcome is Outcome.OK:
        outcome, detail = Outcome.UNREADABLE, f"{answer.status} without a stream"
    elif outcome.is_about_target:
        outcome = Outcome.FORBIDDEN_SCOPE
    return Page(
        outcome=outcome, reading=limit, retry_after=headers.retry_after(answer), detail=detail
    )


class Recent:
    """The latest version of the most recent posts, to drop duplicates."""

    def __init__(self, most: int = 20_000) -> None:
        self._most = most
        self._versions: dict[str, int] = {}

    def is_repeated(self, key: str, version: int = 0) -> bool:
        """Whether this version was the last one of the post already; it is from now on."""
        is_same = self._versions.pop(key, None) == version
        self._versions[key] = version
        if len(self._versions) > self._most:
            del self._versions[next(iter(self._versions))]
        return is_same


class Batch(Generic[B]):
    """Collects messages into a page; begins a new page if a message contradicts the current one."""

    def __init__(self, new_page: Callable[[], B]) -> None:
        self._new_page = new_page
        self._pages: list[Page] = []
        self._keys: list[str] = []
        self._newest_at: datetime | None = None
        self._notices: list[Notice] = []
        self._closing: Outcome | None = None
        self.events = self._results = 0
        self.page = new_page().for_stream()

    def begin_page(self) -> None:
        page = self.page.page(results=self._results)
        if page.users or page.posts or page.gone or page.broken:
            self._pages.append(page)
        self.page, self._results = self._new_page().for_stream(), 0

    def count(self) -> None:
        """Count one message about an item."""
        self.events += 1
        self._results += 1

    def begin_post(self, key: str, at: datetime | None) -> None:
        """Announce a post; what the current page has about it is saved first."""
        if key in self.page.ids or (Subject.POST, key) in self.page.gone:
            self.begin_page()
        self.count()
        self._keys.append(key)
        if at is not None and (self._newest_at is None or at > self._newest_at):
            self._newest_at = at

    def delete(self, subject: Subject, key: str, reason: Outcome = Outcome.NOT_FOUND) -> None:
        if subject is Subject.USER or key in self.page.ids:
            self.begin_page()
        self.count()
        self.page.mark_gone(subject, key, reason)

    def withdraw_places(self, user: str, up_to: str) -> None:
        """Delete the places of a user's posts up to a key, also of posts in this batch."""
        self.begin_page()
        self.count()
        self._pages.append(Page(withdrawn_places=(WithdrawnPlaces(user, up_to),), results=1))
        self._results = 0

    def note(self, kind: NoticeKind, detail: str, missing: int | None = None) -> None:
        self._notices.append(Notice(kind, shortened(detail), missing))

    def close(self, outcome: Outcome, detail: str) -> None:
        """Record that the service ends the connection."""
        self.note(NoticeKind.CLOSING, detail)
        self._closing = outcome

    def result(self) -> Heard:
        self.begin_page()
        return Heard(
            pages=tuple(self._pages),
            events=self.events,
            head=newest_key(self._keys),
            newest_at=self._newest_at,
            notices=tuple(self._notices),
            closing=self._closing,
        )


class MessageReader(ABC, Generic[B]):
    """Parses the messages of one connection and never raises. Pass each message only once."""

    def __init__(self) -> None:
        self.recent = Recent()

    @abstractmethod
    def new_page(self) -> B: ...

    @abstractmethod
    def read(self, batch: Batch[B], message: bytes) -> None:
        """Parse one message. If it raises `UNREADABLE`, the message is quarantined."""

    def retune(self, wanted: Subscription, rules: Sequence[str]) -> None:
        """Nothing to do: the service filters."""

    def hear(self, messages: Sequence[bytes]) -> Heard:
        batch = Batch(self.new_page)
        for message in filter(None, map(bytes.strip, messages)):
            events = batch.events
            try:
                check_values(message)
                self.read(batch, message)
            except UNREADABLE as error:
                if batch.events == events:
                    batch.count()
                batch.page.quarantine(Subject.POST, message, error)
        return batch.result()
