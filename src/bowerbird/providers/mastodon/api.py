"""The provider for Mastodon: requests, targets, keywords, and what the other modules contribute.

`endpoints` is the table of routes and limits, `parse` reads responses, `stream` live connections,
`servers` knows the differences between server software, and `registration` gets a token.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import msgspec

from bowerbird.errors import UserError
from bowerbird.model import (
    Answer,
    Ask,
    Channel,
    Facet,
    KeptItem,
    KeywordStream,
    Opening,
    Outcome,
    Page,
    Post,
    Progress,
    Request,
    Retuned,
    ServerInfo,
    Service,
    Subject,
    Subscription,
    Trial,
    User,
    tag_form,
)
from bowerbird.model.terms import Kind, kind_of
from bowerbird.providers.base import (
    Provider,
    StreamReader,
    keyword_query,
    page_size,
    parse_target,
    path_segment,
)
from bowerbird.providers.mastodon import parse, registration, servers, stream
from bowerbird.providers.mastodon.endpoints import (
    ENDPOINTS,
    LIST_HINTS,
    SCOPES,
    TABLES,
    TRENDS,
    Endpoint,
    Paging,
    endpoint_for,
)
from bowerbird.providers.page import bounded

Query = tuple[tuple[str, str], ...]


class Mastodon(Provider):
    """Mastodon's API. User and post ids are ActivityPub URIs, keys are the server's own ids."""

    name = network = "mastodon"
    default_tables = TABLES
    hints: ClassVar[Mapping[str, frozenset[str]]] = {
        name: row.hints for name, row in ENDPOINTS.items() if row.hints
    }
    positions = frozenset({"page", "min_id", "max_id", "since_id"})
    probe_path = "/api/v2/instance"
    keyword_ways = ("full", "search")
    most_keywords = 400
    has_server_types = True

    def request(self, ask: Ask) -> Request:
        """Build a request. It has a position only where needed, because positions count against the
        tighter paging limit."""
        facet, target = self.facets[ask.facet], ask.targets[0]
        endpoint, name = endpoint_for(ask, facet), facet.name
        query: list[tuple[str, str]] = []
        path = endpoint.path
        if name == "hashtag":
            scope, (first, *others) = split_tags(target)
            target, query = first, [*_scope(scope), *(("any[]", tag) for tag in others)]
        elif name in ("public", "directory"):
            scope, _, kind = target.partition(":")
            query = [*_scope(scope), *((("only_media", "true"),) if kind == "media" else ())]
        elif name == "trends":
            target = target if target in TRENDS else TRENDS[0]
        elif name == "profile" and target.startswith("@"):
            path, query = "/api/v1/accounts/lookup", [("acct", target[1:])]
        elif name in ("search", "people"):
            query = [("q", target), ("type", endpoint.lists[0])]
        elif name == "link":
            query = [("url", target)]
        if endpoint.facet.objects_per_call > 1:
            query = [("id[]", each) for each in ask.targets]
        if "limit" in endpoint.hints:
            query += [("limit", str(page_size(ask, facet))), *_position(endpoint, ask.progress)]
        for hint, value in sorted(ask.hints.items()):
            if hint in LIST_HINTS & endpoint.hints:
                query += [(f"{hint}[]", word.strip()) for word in value.split(",") if word.strip()]
            elif hint in endpoint.hints - {"limit"}:
                query.append((hint, value))
        return bounded(
            Request(path=path.format(path_segment(target)), query=tuple(query)), ask, facet
        )

    def is_paged(self, ask: Ask) -> bool:
        position = _position(endpoint_for(ask, self.facets[ask.facet]), ask.progress)
        return any(name in self.positions for name, _ in position)

    def parse(self, ask: Ask, answer: Answer, service: Service) -> Page:
        return parse.parse_page(ask, self.facets[ask.facet], answer, service, self.server)

    def remap(self, item: KeptItem) -> User | Post | None:
        return parse.stored_user(item) if item.subject is Subject.USER else parse.stored_post(item)

    def target(self, text: str, facet: Facet) -> str:
        return parse_target(
            text, facet, user=_user_target, post=_post_target, word=_word_target, accepted=_accepted
        )

    def is_own_response(self, body: Mapping[str, Any], base_path: str) -> bool:
        if isinstance(body.get("version"), str) and not body.keys().isdisjoint(
            ("uri", "domain", "title")
        ):
            return True
        # A closed server refuses in JSON; below another path the same words may come from a web
        # page.
        return (
            not base_path
            and isinstance(body.get("error"), str)
            and body.keys() <= {"error", "error_description"}
        )

    def credential_check(self, kind: str) -> Trial:
        facet = self.facets_for(kind).get("profile", self.facets["profile"])
        limits = tuple(limit for limit in facet.limits if not limit.only_paged)
        owner = "apps" if kind == "app" else "accounts"
        return Trial(
            msgspec.structs.replace(facet, limits=limits),
            Request(path=f"/api/v1/{owner}/verify_credentials"),
        )

    def credential_outcome(self, answer: Answer) -> tuple[Outcome, str]:
        outcome, message = parse.parse_outcome(answer)
        # The token is valid but lacks the scope for this route; it may have those that the crawl
        # needs.
        is_valid = outcome is Outcome.FORBIDDEN_SCOPE and "scope" in message.casefold()
        return (Outcome.OK if is_valid else outcome), message

    account_name = staticmethod(registration.account)

    # Server software

    probe_server = staticmethod(servers.probe_server)
    missing_facets = staticmethod(servers.missing_facets)
    missing_channels = staticmethod(servers.missing_channels)
    warnings = staticmethod(servers.warnings)

    def for_server(self, server: ServerInfo) -> Self:
        changed = self.with_tables(servers.tables_for(self.tables, server))
        changed.server = server
        changed.channels = servers.channels_for(server)
        return changed

    # Streams

    channels: Mapping[str, Channel] = stream.CHANNELS
    subscription = staticmethod(stream.subscription)
    fill_targets = staticmethod(stream.fill_targets)

    def open(
        self, wanted: Subscription, cursor: str | None, answers: Sequence[Answer]
    ) -> Request | Opening | Page:
        return stream.open_stream(wanted)

    def refused(self, wanted: Subscription, answer: Answer) -> Page:
        return stream.refused(answer)

    def listener(
        self, wanted: Subscription, opening: Opening, service: Service, cursor: str | None
    ) -> StreamReader:
        return stream.MastodonReader(
            wanted, self.channels[wanted.channel].facet, service, self.server
        )

    def retune(
        self, before: Subscription, after: Subscription, answers: Sequence[Answer]
    ) -> Request | Retuned | Page | None:
        return stream.update_subscription(before, after)

    # Keywords

    def keyword_stream(
        self, keywords: Sequence[str], heard: Subscription | None = None
    ) -> KeywordStream:
        """Return the public stream, which carries all posts; or a stream of hashtags if the crawl
        already has one."""
        if heard is None or not heard.channel.startswith("hashtag"):
            return KeywordStream(stream=self.subscription("public", {}))
        tags = [each for each in keywords if kind_of(each) is Kind.HASHTAG][: stream.MAX_TAGS]
        wanted = self.subscription(heard.channel, {"tag": [each[1:] for each in tags]})
        return KeywordStream(
            stream=wanted,
            is_filtered=True,
            unheard=tuple(each for each in keywords if each not in tags),
        )

    keyword_search = staticmethod(keyword_query)


def split_tags(target: str) -> tuple[str, list[str]]:
    """Split a hashtag target: `local:birds,trees` means either tag, in posts of this server's own
    accounts."""
    scope, mark, tags = target.rpartition(":")
    return (scope, tags.split(",")) if mark and scope in SCOPES else ("all", target.split(","))


def _scope(scope: str) -> Query:
    return ((scope, "true"),) if scope in SCOPES[1:] else ()


def _position(endpoint: Endpoint, progress: Progress) -> Query:
    cursor, newest = progress.cursor, progress.newest
    if endpoint.paging is Paging.OFFSET:
        since: Query = (("min_id", newest),) if newest and endpoint.facet.name == "search" else ()
        return (*since, ("offset", cursor)) if cursor else since
    # The first page of a revisit has no position either: the newest page has the same posts and
    # does not count as paging.
    if cursor is None or endpoint.paging is Paging.NONE:
        return ()
    since = (("since_id", newest),) if newest and endpoint.paging is Paging.POSTS else ()
    return (("max_id", cursor), *since)


# Targets

_HANDLE = re.compile(r"@?([\w.-]*\w)(@[\w.-]+\.[\w-]+(?::\d+)?|@localhost(?::\d+)?)?", re.ASCII)
_KEY = re.compile(r"\d{1,20}|[0-9A-Za-z]{18}|[0-9A-HJKMNP-TV-Z]{26}", re.ASCII)
_PROFILE_URL = re.compile(
    r"https?://([^/\s]+)/(?:web/|deck/)?(?:@|users/)([\w.-]*\w)(@[\w.:-]+)?/?(?:[?#].*)?"
)
_POST_URL = re.compile(
    r"https?://[^/\s]+/(?:web/|deck/)?(?:@[^/\s]+|users/[^/\s]+/statuses|statuses|notice|notes)/([0-9A-Za-z]+)/?(?:[?#].*)?"
)
_CHOICES = {
    "public": (*SCOPES, *(f"{scope}:media" for scope in SCOPES)),
    "directory": SCOPES,
    "trends": TRENDS,
    "trending": ("all",),
}


def _user_target(written: str, facet: Facet) -> str | None:
    if _KEY.fullmatch(written):
        return written
    if url := _PROFILE_URL.fullmatch(written):
        # A server shows accounts of other servers under its own address, with their server after
        # the name.
        handle = f"@{url[2]}{url[3] or '@' + url[1]}"
    elif match := _HANDLE.fullmatch(written):
        handle = f"@{match[1]}{match[2] or ''}"
    else:
        return None
    if facet.name != "profile":
        raise UserError(
            f"{facet.name} takes the server's own account id, not {written!r}.",
            f"Write the id, or seed the facet `profile` with {handle} and add an edge to `{facet.name}`.",
        )
    return handle


def _post_target(written: str) -> str | None:
    if _KEY.fullmatch(written):
        return written
    url = _POST_URL.fullmatch(written)
    return url[1] if url else None


def _word_target(written: str, facet: Facet) -> str | None:
    if facet.name in _CHOICES:
        return written if written in _CHOICES[facet.name] else None
    if facet.name == "link":
        return written if written.startswith(("https://", "http://")) else None
    if facet.name == "hashtag":
        scope, words = split_tags(written)
        tags = [tag_form(word.strip().removeprefix("#")) for word in words]
        if not all(tags) or any(re.search(r"[\s/?#:]", tag) for tag in tags):
            return None
        return (f"{scope}:" if scope != "all" else "") + ",".join(tags)
    return written or None


def _accepted(facet: Facet) -> str:
    """Return what a target may be, for error messages."""
    if facet.subject is Subject.USER and facet.name == "profile":
        return "an account id, a handle (alice, @alice, @alice@server.example) or a profile address (https://server.example/@alice)"
    if facet.subject is Subject.USER:
        return "the account's id on this server (digits)"
    if facet.subject is Subject.POST:
        return (
            "a post id or the address of a post on this server (https://server.example/@alice/1234)"
        )
    if facet.name in _CHOICES:
        *others, last = _CHOICES[facet.name]
        return f"{', '.join(others)} or {last}" if others else last
    if facet.name == "link":
        return "the address of a page (https://…)"
    return (
        "a hashtag without spaces, or several separated by commas"
        if facet.name == "hashtag"
        else "at least one word"
    )
