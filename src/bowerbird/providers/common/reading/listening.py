"""Messages of a stream while they are being read: what every listener to whole posts shares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Generic, TypeVar

from bowerbird.model import (
    EPOCH,
    Answer,
    Heard,
    Notice,
    NoticeKind,
    Outcome,
    Page,
    Post,
    Reading,
    Subject,
    Subscription,
    User,
    WithdrawnPlaces,
)
from bowerbird.providers.common.reading import headers
from bowerbird.providers.common.reading.amounts import check_values
from bowerbird.providers.common.reading.gathering import Gathering
from bowerbird.providers.common.reading.items import UNREADABLE, Harvest, shortened
from bowerbird.providers.common.snowflakes import newest

G = TypeVar("G", bound=Gathering)

NO_ANSWER = Answer(status=200, sent_at=EPOCH, received_at=EPOCH)
"""Stands for the answer that a stream never finishes."""
_REMEMBERED = 20_000


def no_stream(answer: Answer, outcome: Outcome, detail: str, said: Reading | None) -> Page:
    """What came instead of a stream, given what the network's codes make of it."""
    if outcome is Outcome.OK:
        outcome, detail = Outcome.UNREADABLE, f"{answer.status} without a stream"
    elif outcome.is_about_target:
        # Nobody was asked about: whoever asks may not have this stream.
        outcome = Outcome.FORBIDDEN_SCOPE
    return Page(outcome=outcome, reading=said, retry_after=headers.retry_after(answer), detail=detail)


class StreamHarvest(Harvest):
    """A page of a stream: of a user the latest word counts, and its posts can be found by their keys."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: dict[str, str] = {}
        """Global ids of the page's posts by the service's own keys."""

    def add_user(self, user: User) -> User:
        self.users[user.id] = user
        return user

    def add_post(self, post: Post, *, is_along: bool = False) -> Post:
        self.ids[post.key] = post.id
        return super().add_post(post, is_along=is_along)


class Recent:
    """The posts heard last, each with its latest version, to know what comes twice; bounded."""

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._most = most
        self._versions: dict[str, int] = {}

    def is_repeated(self, key: str, version: int = 0) -> bool:
        """Whether this was the last word on the post already; if not, it is from now on."""
        if self._versions.pop(key, None) == version:
            self._versions[key] = version
            return True
        self._versions[key] = version
        if len(self._versions) > self._most:
            del self._versions[next(iter(self._versions))]
        return False


class Hearing(Generic[G]):
    """One batch: many messages into one page, and a new page where a message contradicts the one being filled."""

    def __init__(self, gathering: Callable[[], G]) -> None:
        self._gathering = gathering
        self._pages: list[Page] = []
        self.events = self._results = 0
        self._keys: list[str] = []
        self._newest_at: datetime | None = None
        self._notices: list[Notice] = []
        self._closing: Outcome | None = None
        self._begin()

    def _begin(self) -> None:
        self.found = self._gathering()
        self.found.harvest = self.harvest = StreamHarvest()
        self._results = 0

    def _end(self) -> None:
        page = self.found.page(results=self._results)
        if page.users or page.posts or page.gone or page.broken:
            self._pages.append(page)

    def turn(self) -> None:
        self._end()
        self._begin()

    def count(self) -> None:
        """One more message about an item."""
        self.events += 1
        self._results += 1

    def tell(self, key: str, at: datetime | None) -> None:
        """A post comes next: what this page says of it already is saved before it."""
        if key in self.harvest.ids or (Subject.POST, key) in self.harvest.gone:
            self.turn()
        self.count()
        self._keys.append(key)
        if at is not None and (self._newest_at is None or at > self._newest_at):
            self._newest_at = at

    def lose(self, subject: Subject, key: str, reason: Outcome = Outcome.NOT_FOUND) -> None:
        """A post or user is gone from now on."""
        if subject is Subject.USER or key in self.harvest.ids:
            self.turn()
        self.count()
        self.harvest.lose(subject, key, reason)

    def unplace(self, user: str, up_to: str) -> None:
        """An author wants places forgotten, also those that this batch brings before this word."""
        self.turn()
        self.count()
        self._pages.append(Page(withdrawn_places=(WithdrawnPlaces(user, up_to),), results=1))
        self._results = 0

    def note(self, kind: NoticeKind, detail: str, missing: int | None = None) -> None:
        self._notices.append(Notice(kind, shortened(detail), missing))

    def close(self, outcome: Outcome, detail: str) -> None:
        """The service ends the connection, and says why."""
        self.note(NoticeKind.CLOSING, detail)
        self._closing = outcome

    def heard(self) -> Heard:
        self._end()
        return Heard(
            pages=tuple(self._pages),
            events=self.events,
            head=newest(self._keys),
            newest_at=self._newest_at,
            notices=tuple(self._notices),
            closing=self._closing,
        )


class MessageListener(ABC, Generic[G]):
    """Reads the messages of one connection one by one and never raises; each message may be given to it only once."""

    def __init__(self) -> None:
        self.recent = Recent()

    @abstractmethod
    def gathering(self) -> G:
        """What maps the items of one page."""

    @abstractmethod
    def read(self, hearing: Hearing[G], message: bytes) -> None:
        """One message that is not empty; one that raises `UNREADABLE` is quarantined alone."""

    def retune(self, wanted: Subscription, rules: Sequence[str]) -> None:
        """Nothing changes: the service itself leaves out what is not wanted."""

    def hear(self, messages: Sequence[bytes]) -> Heard:
        hearing = Hearing(self.gathering)
        for message in messages:
            text = message.strip()
            if not text:
                continue
            self._read(hearing, text)
        return hearing.heard()

    def _read(self, hearing: Hearing[G], message: bytes) -> None:
        counted = hearing.events
        try:
            check_values(message)
            self.read(hearing, message)
        except UNREADABLE as error:
            if hearing.events == counted:
                hearing.count()
            hearing.harvest.quarantine(Subject.POST, message, error)
