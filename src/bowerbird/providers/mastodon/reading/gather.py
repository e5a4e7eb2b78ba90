"""One Mastodon answer while it is being read: its accounts and statuses, mapped one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from msgspec import Raw

from bowerbird.model import Answer, Ask, Facet, Flavour, Outcome, Post, Service, Subject, User
from bowerbird.providers.common.reading.gathering import Gathering
from bowerbird.providers.common.reading.items import UNREADABLE, UNSENT, is_there, without
from bowerbird.providers.common.snowflakes import FLAKES
from bowerbird.providers.mastodon.reading.shapes import (
    NOTHING_MORE,
    KinFields,
    Status,
    accounts,
    post_of,
    quotes,
    repost_of,
    statuses,
    user_of,
)


class MastodonGathering(Gathering):
    """Accounts and statuses of one server, with what they pass on or quote."""

    def __init__(self, ask: Ask, facet: Facet, answer: Answer, service: Service, flavour: Flavour) -> None:
        super().__init__(ask, facet, answer)
        self.service, self._software = service, flavour.software
        self._author: tuple[Raw, User] | None = None
        """Whom the last status was by: nearly all of a timeline are by the same."""

    def latest_key(self, at: datetime) -> int | None:
        # Compatible servers put more bits below the time than Mastodon does; none puts more there than X.
        return int(FLAKES.key_at(at))

    def user(self, raw: bytes, status_uri: str | None = None) -> User:
        known = self.harvest.authors.get(raw)
        if known is not None:
            return known
        account = accounts.read(raw)
        user = self.harvest.add_user(user_of(account, raw, status_uri, self._software))
        if account.suspended:
            self.harvest.lose(Subject.USER, user.key, Outcome.SUSPENDED, is_stated=True)
        self.harvest.authors[raw] = user
        return user

    def posts(self, raws: Sequence[bytes]) -> list[Status]:
        """Maps what is new to us and answers everything that was listed and could be read."""
        whole = statuses.read_all(raws)
        read = list(zip(whole, raws, strict=True)) if whole is not None else list(self._one_by_one(raws))
        uris = {status.id: status.uri for status, _ in read if status.uri and status.is_open}
        has_known = self.ask.progress.newest is not None
        for status, raw in read:
            if has_known and self.is_known(status.id):
                continue
            try:
                self.post(status, raw, uris)
            except UNREADABLE as error:
                self.lose(Subject.POST, raw, error)
        return [status for status, _ in read]

    def _one_by_one(self, raws: Iterable[bytes]) -> Iterator[tuple[Status, bytes]]:
        for raw in raws:
            try:
                yield statuses.read(raw), raw
            except UNREADABLE as error:
                self.lose(Subject.POST, raw, error)

    def post(self, status: Status, raw: bytes, uris: dict[str, str], depth: int = 0) -> Post | None:
        """The status and what it passes on or quotes; None for what is not public."""
        if not status.is_open:
            if status.id in self.ask.targets and self.facet.subject is Subject.POST:
                self.harvest.lose(Subject.POST, status.id, Outcome.PROTECTED)
            return None
        author = self._author_of(status)
        told = status.kin_fields
        if is_there(status.reblog):
            original = self._nested(bytes(status.reblog), uris, depth)
            own = raw if told is NOTHING_MORE else without(raw, told.quote)
            return self.harvest.add_post(repost_of(status, author, original, own), is_along=depth > 0) if original else None
        reply_to = self._parent(status.in_reply_to_id, uris) if status.in_reply_to_id else None
        quote_of, own = None, raw
        if told is not NOTHING_MORE:
            quote_of, shown = self._quoted(told, uris, depth)
            own = self.harvest.carrying(raw, shown, quote_of) if is_there(shown) else raw
        post = post_of(status, author, own, told, reply_to=reply_to, quote_of=quote_of)
        return self.harvest.add_post(post, is_along=depth > 0)

    def _author_of(self, status: Status) -> User:
        if self._author is not None and self._author[0] == status.account:
            return self._author[1]
        self._author = status.account, self.user(bytes(status.account), status.uri)
        return self._author[1]

    def _nested(self, raw: bytes, uris: dict[str, str], depth: int) -> Post | None:
        if depth > 2:
            raise ValueError("statuses nested too deep")
        return self.post(statuses.read(raw), raw, uris, depth + 1)

    def _parent(self, key: str | None, uris: dict[str, str]) -> str | None:
        """The global id of a post that the server names by its own id: a provisional one, unless this page tells the real one."""
        return (uris.get(key) or f"mastodon:{self.service.name}/{key}") if key else None

    def _quoted(self, told: KinFields, uris: dict[str, str], depth: int) -> tuple[str | None, Raw]:
        """The id of what is quoted, and that itself where the server shows it."""
        named = told.quote_url or self._parent(told.quote_id, uris)
        if not is_there(told.quote):
            return named, UNSENT
        quote = quotes.read(bytes(told.quote))
        shown = quote.quoted_status if is_there(quote.quoted_status) else told.quote if is_there(quote.account) else UNSENT
        if not is_there(shown):
            return self._parent(quote.quoted_status_id, uris) or named, UNSENT
        try:
            quoted = self._nested(bytes(shown), uris, depth)
        except UNREADABLE as error:
            self.harvest.quarantine(Subject.POST, bytes(shown), error)
            return named, shown
        return quoted.id if quoted else None, shown
