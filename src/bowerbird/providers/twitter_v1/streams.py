"""The classic API's streams: how to connect, and what their lines say. Pure, and never raises."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from msgspec import Struct

from bowerbird.model import Answer, Ask, Facet, NoticeKind, Opening, Outcome, Page, Request, Subject, Subscription
from bowerbird.providers import headers
from bowerbird.providers.items import Reader, count
from bowerbird.providers.streaming import NO_ANSWER, Batch, MessageReader, no_stream
from bowerbird.providers.text import classic
from bowerbird.providers.twitter_v1.reading.gather import TwitterGathering
from bowerbird.providers.twitter_v1.reading.outcomes import verdict
from bowerbird.providers.twitter_v1.reading.shapes import Tweet, key_of, tweets

_PATHS = {"filter": "/1.1/statuses/filter.json", "sample": "/1.1/statuses/sample.json"}
_FORM = {"content-type": "application/x-www-form-urlencoded"}
_STALLS = ("stall_warnings", "true")

_CLOSINGS = {
    # Somebody else listens with the same credential: trying at once would throw them out in turn.
    2: Outcome.RATE_LIMITED,
    6: Outcome.BAD_TOKEN,
    7: Outcome.RATE_LIMITED,
}
_STALL = 4
_EVERYWHERE = frozenset({"XX", "XY"})
"""Not the code of a country: withheld in all of them, and withheld for a copyright claim."""


class _Limit(Struct, gc=False):
    track: int | None = None


class _Post(Struct, gc=False):
    id: int | None = None
    id_str: str | None = None

    @property
    def key(self) -> str:
        return key_of(self.id_str, self.id)


class _Delete(Struct):
    status: _Post


class _Scrub(Struct, gc=False):
    user_id: int | None = None
    user_id_str: str | None = None
    up_to_status_id: int | None = None
    up_to_status_id_str: str | None = None


class _Withheld(_Post):
    withheld_in_countries: list[str] | None = None

    @property
    def is_everywhere(self) -> bool:
        return not _EVERYWHERE.isdisjoint(self.withheld_in_countries or ())


class _Disconnect(Struct, gc=False):
    code: int = 0
    reason: str | None = None


class _Warning(Struct, gc=False):
    code: str = ""
    message: str | None = None
    percent_full: int | None = None


class _Message(Struct):
    """Everything but posts comes under a name of its own."""

    limit: _Limit | None = None
    delete: _Delete | None = None
    scrub_geo: _Scrub | None = None
    status_withheld: _Withheld | None = None
    user_withheld: _Withheld | None = None
    disconnect: _Disconnect | None = None
    warning: _Warning | None = None


_messages = Reader(_Message)
Classic = Batch[TwitterGathering]


def opening(wanted: Subscription) -> Opening:
    """How to connect; filters go as a form, because an address has no room for 5,000 ids."""
    path = _PATHS[wanted.channel]
    if wanted.channel != "filter":
        return Opening(request=Request(path=path, query=(_STALLS,)))
    named = [(name, ",".join(values)) for name, values in sorted(wanted.options.items()) if values]
    body = urlencode([*named, _STALLS], quote_via=quote, errors="replace").encode()
    return Opening(request=Request(method="POST", path=path, headers=_FORM, body=body))


def refused(answer: Answer) -> Page:
    """What came instead of a stream."""
    judged = verdict(answer)
    return no_stream(answer, judged.outcome, judged.detail, headers.reading(answer.headers, "x-rate-limit"))


class ClassicListener(MessageReader[TwitterGathering]):
    """Hears posts, deletions and the stream's own notices, one a line."""

    def __init__(self, facet: Facet) -> None:
        super().__init__()
        self._ask, self._facet = Ask(facet.name, ()), facet

    def new_page(self) -> TwitterGathering:
        return TwitterGathering(self._ask, self._facet, NO_ANSWER)

    def read(self, batch: Classic, message: bytes) -> None:
        said = _messages.read(message)
        if said.delete is not None:
            batch.delete(Subject.POST, said.delete.status.key)
        elif said.status_withheld is not None:
            _withhold(batch, Subject.POST, said.status_withheld)
        elif said.user_withheld is not None:
            _withhold(batch, Subject.USER, said.user_withheld)
        elif not _is_notice(batch, said):
            self._tell(batch, tweets.read(message), message)

    def _tell(self, batch: Classic, tweet: Tweet, raw: bytes) -> None:
        if self.recent.is_repeated(tweet.key):
            batch.count()
            return
        batch.begin_post(tweet.key, classic(tweet.created_at))
        batch.page.tell(tweet, raw)


def _withhold(batch: Classic, subject: Subject, withheld: _Withheld) -> None:
    """What is withheld everywhere is gone as if deleted or suspended; in some countries only, others may still see it."""
    if withheld.is_everywhere:
        batch.delete(subject, withheld.key, Outcome.NOT_FOUND if subject is Subject.POST else Outcome.SUSPENDED)
        return
    countries = ", ".join(withheld.withheld_in_countries or ())
    batch.note(NoticeKind.OTHER, f"{subject.value} {withheld.key} is withheld in {countries}")


def _is_notice(batch: Classic, said: _Message) -> bool:
    """Notes what the service says about the stream itself; False when the line is no such thing."""
    if said.limit is not None:
        batch.note(NoticeKind.UNDELIVERED, "posts that match were held back", count(said.limit.track))
    elif said.warning is not None:
        kind = NoticeKind.SLOW if said.warning.code == "FALLING_BEHIND" else NoticeKind.OTHER
        batch.note(kind, f"{said.warning.code} {said.warning.message or ''} ({said.warning.percent_full or 0} % full)")
    elif said.scrub_geo is not None:
        scrub = said.scrub_geo
        user, last = key_of(scrub.user_id_str, scrub.user_id), key_of(scrub.up_to_status_id_str, scrub.up_to_status_id)
        batch.withdraw_places(user, last)
    elif said.disconnect is not None:
        _disconnect(batch, said.disconnect)
    else:
        return False
    return True


def _disconnect(batch: Classic, said: _Disconnect) -> None:
    if said.code == _STALL:
        batch.note(NoticeKind.SLOW, "the service waited too long for us to read")
    batch.close(_CLOSINGS.get(said.code, Outcome.OVERLOADED), f"disconnect {said.code} {said.reason or ''}")
