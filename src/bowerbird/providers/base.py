"""The contract of a network: subclass `Provider`, fill in its tables and override what the network
has.

Three methods are required: `request`, `parse` and `target`. Everything else has a default that
means "this network does not have it". A provider is pure: it builds requests and parses responses,
it never sends, waits or stores.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from datetime import datetime
from typing import Any, ClassVar, Protocol, Self
from urllib.parse import quote

import msgspec

from bowerbird.errors import CredentialError, UserError
from bowerbird.model import (
    Answer,
    Area,
    Ask,
    Channel,
    Facet,
    Geography,
    Heard,
    KeptItem,
    KeywordStream,
    Limit,
    Opening,
    Outcome,
    Page,
    Post,
    Request,
    Retuned,
    Secret,
    ServerInfo,
    Service,
    Subject,
    Subscription,
    Trial,
    User,
    tag_form,
)

FacetTable = Mapping[str, Facet]
Tables = Mapping[str, FacetTable]
"""Facets by kind of credential: `user`, `app`, and `none` where the service answers without a
credential."""
Now = Callable[[], datetime] | None


class StreamReader(Protocol):
    """Parses the messages of one connection. Never raises: unreadable messages are quarantined."""

    def hear(self, messages: Sequence[bytes]) -> Heard: ...

    def retune(self, wanted: Subscription, rules: Sequence[str]) -> None:
        """Switch to another subscription from the next message on."""
        ...


class Provider(ABC):
    """One API of a network."""

    name: ClassVar[str]
    network: ClassVar[str]
    default_tables: ClassVar[Tables]
    default_base: ClassVar[str] = ""
    hints: ClassVar[Mapping[str, frozenset[str]]] = {}
    """By facet: the options that a crawl file may set; others are not sent."""
    positions: ClassVar[frozenset[str]] = frozenset({"cursor"})
    """Query parameters that carry a position in a list."""
    probe_path: ClassVar[str]
    """A path that every server of the network answers without a credential."""

    channels: Mapping[str, Channel] = {}
    """The streams; empty if the network has none."""
    keyword_ways: tuple[str, ...] = ()
    """How keywords can be followed, best first: `filter` (the network filters), `full` (we filter),
    `search`."""
    most_keywords: int = 0
    """How many keywords are followed at once by default."""
    place_ways: tuple[str, ...] = ()
    """How areas can be followed, best first: `stream`, `search`."""
    session_limits: tuple[Limit, ...] = ()
    """What a login costs."""
    has_server_types: bool = False
    """Servers run different software; `probe_server` finds out which."""
    server: ServerInfo = ServerInfo()

    def __init__(self, tables: Tables | None = None, *, now: Now = None, base: str = "") -> None:
        """`now`: the clock for signatures and stream positions. `base`: the address that OAuth 1.0a
        signs."""
        self.now, self.base = now, base or self.default_base
        self._set_tables(self.default_tables if tables is None else tables)

    def _set_tables(self, tables: Tables) -> None:
        self.tables = tables
        self.facets: FacetTable = self.facets_for("user")

    def with_tables(self, tables: Tables) -> Self:
        """Return a copy with other facets or limits."""
        changed = copy(self)
        changed._set_tables(tables)
        return changed

    def facets_for(self, kind: str) -> FacetTable:
        """Return the facets for a kind of credential; an empty kind means none."""
        return self.tables.get(kind or "none", self.tables["user"])

    # Requests and responses

    @abstractmethod
    def request(self, ask: Ask) -> Request: ...

    @abstractmethod
    def parse(self, ask: Ask, answer: Answer, service: Service) -> Page:
        """Parse a response. Never raises: failures are outcomes, malformed items quarantined."""

    @abstractmethod
    def target(self, text: str, facet: Facet) -> str:
        """Return the target for what a user wrote (id, handle, URL, word). Raises `UserError`."""

    def sign(self, request: Request, secret: Secret) -> Request:
        """Add the credential to a request; by default a bearer token."""
        return with_token(request, secret)

    def is_paged(self, ask: Ask) -> bool:
        """Whether the request carries a position, for limits that count only such requests."""
        return any(name in self.positions for name, _ in self.request(ask).query)

    def is_own_response(self, body: Mapping[str, Any], base_path: str) -> bool:
        """Whether the JSON at `probe_path` is from a server of this network."""
        return False

    def remap(self, item: KeptItem) -> User | Post | None:
        """Map a stored payload again with today's code; None if it is not of this API. Raises
        `UNREADABLE`."""
        return None

    # Checking a credential

    def credential_check(self, kind: str) -> Trial | None:
        """Return a free call that fails for an invalid credential; None if all calls cost money."""
        return None

    def credential_outcome(self, answer: Answer) -> tuple[Outcome, str]:
        """Return BAD_TOKEN, FORBIDDEN_SCOPE or OK for the response to `credential_check`, and the
        server's message. Any other outcome is inconclusive."""
        return Outcome.OK, ""

    def account_name(self, answer: Answer) -> str | None:
        """Return the account that a checked credential belongs to, if the response names it."""
        return None

    # Sessions

    def needs_login(self, secret: Secret) -> bool:
        """Whether this secret must be exchanged for a session before it can sign requests."""
        return False

    def has_session(self, secret: Secret) -> bool:
        return False

    def login(self, secret: Secret) -> Request:
        raise NotImplementedError

    def refresh(self, secret: Secret) -> Request:
        raise NotImplementedError

    def session(self, secret: Secret, answer: Answer) -> Secret | None:
        """Return the secret with the session from the response to `login` or `refresh`; None if it
        failed."""
        raise NotImplementedError

    # Server software

    def probe_server(self, answers: Sequence[Answer]) -> Request | ServerInfo:
        """Return the next question about the server, given the previous answers, or the result."""
        return ServerInfo()

    def for_server(self, server: ServerInfo) -> Self:
        """Return a copy with the facets, limits and channels of this server."""
        return self

    def missing_facets(self, server: ServerInfo) -> Mapping[str, str]:
        """Return the facets that this server does not have, with the reason."""
        return {}

    def missing_channels(self, server: ServerInfo) -> Mapping[str, str]:
        """Return the channels that would never deliver anything, with the reason."""
        return {}

    def warnings(self, server: ServerInfo, facets: Collection[str]) -> Sequence[str]:
        """Return what these facets leave out on this server."""
        return ()

    # Streams: override all of these if `channels` is not empty

    def subscription(self, channel: str, options: Mapping[str, Sequence[str]]) -> Subscription:
        """Validate the options of a stream. Raises `UserError`."""
        raise UserError(f"{self.name} has no streams.")

    def open(
        self, wanted: Subscription, cursor: str | None, answers: Sequence[Answer]
    ) -> Request | Opening | Page:
        """Return the next step to a connection, given the answers to the previous ones: a request
        to send first, how to connect, or a page whose outcome says why it failed."""
        raise NotImplementedError

    def refused(self, wanted: Subscription, answer: Answer) -> Page:
        """Parse the HTTP response that came instead of a stream."""
        raise NotImplementedError

    def listener(
        self, wanted: Subscription, opening: Opening, service: Service, cursor: str | None
    ) -> StreamReader:
        raise NotImplementedError

    def retune(
        self, before: Subscription, after: Subscription, answers: Sequence[Answer]
    ) -> Request | Retuned | Page | None:
        """Change the subscription of an open connection, like `open`; None if only a new connection
        can."""
        return None

    def fill_targets(self, wanted: Subscription) -> tuple[str, ...]:
        """Return the targets of the channel's `fills` facet that list what a gap in the stream
        missed."""
        return ()

    # Keywords and places

    def keyword_stream(
        self, keywords: Sequence[str], heard: Subscription | None = None
    ) -> KeywordStream | None:
        """Return the stream that carries these keywords; `heard` is the current subscription."""
        return None

    def keyword_search(self, keyword: str) -> tuple[str, str] | None:
        """Return the facet and target that list the latest posts with a keyword (`#tag`, `word`,
        `"phrase"`, `@account`)."""
        return None

    def geography(self, areas: Sequence[Area], way: str) -> Geography:
        """Return the subscription or searches for these areas. Raises `UserError`."""
        raise UserError(f"{self.name} cannot be searched by place.")


def with_token(request: Request, secret: Secret, scheme: str = "Bearer") -> Request:
    """Return the request with the secret's access token in the `Authorization` header."""
    token = secret.values.get("access_token")
    if not token:
        raise CredentialError(
            f"Credential {secret.name} has no access_token.", "Add it again with one."
        )
    return msgspec.structs.replace(
        request, headers={**request.headers, "authorization": f"{scheme} {token}"}
    )


# Tables


def tables_of(facets: Sequence[Facet], limits: Mapping[str, tuple[Limit, ...]]) -> Tables:
    """Return the same facets for every kind of credential, each with the limits of that kind."""
    return {
        kind: {facet.name: msgspec.structs.replace(facet, limits=each) for facet in facets}
        for kind, each in limits.items()
    }


def closed_to(tables: Tables, closed: Mapping[str, Collection[str]]) -> Tables:
    """Return the tables without the facets that a kind of credential may not use."""
    return {
        kind: {name: facet for name, facet in table.items() if name not in closed.get(kind, ())}
        for kind, table in tables.items()
    }


# Pieces of requests


def path_segment(text: str) -> str:
    """Quote a target for use as one segment of a path; it can never lead to another path."""
    quoted = quote(text, safe="", errors="replace")
    return quoted.replace(".", "%2E") if not quoted.strip(".") else quoted


def page_size(ask: Ask, facet: Facet) -> int:
    """Return how many results to request: the facet's maximum, or the hint `limit` if that is
    lower."""
    hint = ask.hints.get("limit", "")
    if hint.isascii() and hint.isdigit() and len(hint) < 7:
        return max(1, min(int(hint), facet.results_per_call))
    return facet.results_per_call


def parse_target(
    text: str,
    facet: Facet,
    *,
    user: Callable[[str, Facet], str | None],
    post: Callable[[str], str | None],
    word: Callable[[str, Facet], str | None],
    accepted: Callable[[Facet], str],
) -> str:
    """Return the target for what a user wrote, by the parser of the facet's subject. Raises
    `UserError`."""
    written = text.strip()
    match facet.subject:
        case Subject.USER:
            target = user(written, facet)
        case Subject.POST:
            target = post(written)
        case Subject.WORD:
            target = word(written, facet)
    if target is None:
        raise UserError(f"Invalid target {text!r} for {facet.name}.", f"Write {accepted(facet)}.")
    return target


def needs_id(facet: Facet, written: str, handle: str) -> UserError:
    """Return the error for a handle where only an id works."""
    return UserError(
        f"{facet.name} takes the account's id, not {written!r}.",
        f"Write the id (digits), or seed the facet `profile` with @{handle} and add an edge to `{facet.name}`.",
    )


def hashtag(written: str) -> str | None:
    """Return a hashtag in lower case without #; None if it contains spaces or another #."""
    tag = tag_form(written.removeprefix("#"))
    return tag if tag and not any(mark.isspace() or mark == "#" for mark in tag) else None


def keyword_query(keyword: str) -> tuple[str, str]:
    """Return facet and target of a keyword on networks with the operators `from:` and quotes."""
    # Few commands need the terms, which take long to load.
    from bowerbird.model.terms import Kind, kind_of

    match kind_of(keyword):
        case Kind.HASHTAG:
            return "hashtag", keyword[1:]
        case Kind.ACCOUNT:
            return "search", f"from:{keyword[1:]}"
        case Kind.PHRASE:
            return "search", f'"{keyword}"'
    return "search", keyword
