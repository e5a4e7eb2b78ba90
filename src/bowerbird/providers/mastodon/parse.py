"""Parse the responses of Mastodon and compatible servers: outcomes, accounts, statuses, positions.
Nothing here raises to the caller: a failure is an outcome, a malformed item is quarantined."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from msgspec import Raw, Struct
from msgspec.structs import replace

from bowerbird.model import (
    COUNTED_SIGNALS,
    Answer,
    Ask,
    Facet,
    Gone,
    KeptItem,
    Media,
    Outcome,
    Page,
    Poll,
    PollOption,
    Post,
    PostKind,
    ReactionKind,
    ServerInfo,
    Service,
    Signal,
    Subject,
    Trend,
    User,
    UserTag,
    Version,
    ids_at,
    tag_form,
    tags_once,
)
from bowerbird.providers import headers
from bowerbird.providers.base import page_size
from bowerbird.providers.items import (
    UNREADABLE,
    UNSENT,
    Reader,
    an_object,
    count,
    is_there,
    listed,
    shortened,
    without,
)
from bowerbird.providers.mastodon.endpoints import (
    ONE_BY_ONE,
    WITHOUT_OBJECT,
    Endpoint,
    Paging,
    endpoint_for,
)
from bowerbird.providers.page import (
    REPEATED,
    SNOWFLAKES,
    PageBuilder,
    is_number,
    key_order,
    oldest_key,
    read_page,
)
from bowerbird.providers.text import iso, plain, text_and_links


def parse_page(
    ask: Ask, facet: Facet, answer: Answer, service: Service, server: ServerInfo
) -> Page:
    """Parse one response."""
    outcome, detail = parse_outcome(answer)
    endpoint = endpoint_for(ask, facet)
    limit = headers.reading(answer.headers, "x-ratelimit")
    if outcome is Outcome.OK:
        return read_page(
            MastodonPage(ask, facet, answer, service, server), partial(_read_items, endpoint), limit
        )
    if _is_missing_route(outcome, endpoint, facet, answer, server):
        outcome = Outcome.NOT_OFFERED
    elif (
        outcome.is_about_target
        and endpoint.is_object
        and answer.status in (404, 410)
        and not ask.targets[0].startswith("@")
        and not _names_missing_object(answer, server.software)
    ):
        # Believing that an object is deleted costs its content: the response must say so in the
        # software's own words.
        outcome = Outcome.UNREADABLE
    gone: tuple[Gone, ...] = ()
    if outcome.is_about_target and len(ask.targets) == 1 and facet.subject is not Subject.WORD:
        gone = (Gone(facet.subject, ask.targets[0], outcome),)
    perhaps = None
    if outcome is Outcome.UNREADABLE and answer.status in _BARE_MESSAGES:
        # What an HTML page would mean if the API had sent it.
        perhaps = Outcome.NOT_OFFERED if facet.name in WITHOUT_OBJECT else _OUTCOMES[answer.status]
    wait = headers.retry_after(answer)
    return Page(
        outcome=outcome, gone=gone, reading=limit, retry_after=wait, detail=detail, perhaps=perhaps
    )


# Outcomes

_OUTCOMES = {
    400: Outcome.BAD_REQUEST,
    401: Outcome.BAD_TOKEN,
    403: Outcome.FORBIDDEN_SCOPE,
    404: Outcome.NOT_FOUND,
    405: Outcome.NOT_OFFERED,
    408: Outcome.OVERLOADED,
    410: Outcome.SUSPENDED,
    429: Outcome.RATE_LIMITED,
    501: Outcome.NOT_OFFERED,
}
_NO_ROUTE = ("not implemented", "no route matches")
"""Messages of Pleroma and others with 404 for a route that they do not have."""
_BAD_TOKEN = (
    "invalid credentials",
    "invalid bearer token",
    "access token is invalid",
    "login is currently disabled",
)
"""Messages about a token with other statuses than 401: Pleroma 403, Takahē 400."""
_NEEDS_USER = ("authenticated user", "identity_token_required", "identity token required")
_NO_RECORD = frozenset({"record not found", "can't find user"})
"""Messages for a missing record: Mastodon, Pleroma and its forks, Friendica, Iceshrimp."""
_BARE_MESSAGES = {404: ("not found", "gotosocial"), 410: ("gone", "mastodon")}
"""Messages that gateways use too, and the software that means a record by them."""


class _Error(Struct):
    error: str


_errors, _objects = Reader(_Error), Reader(dict[str, Any])


def parse_outcome(answer: Answer) -> tuple[Outcome, str]:
    """Return the outcome and the server's message, which servers agree on more than on statuses."""
    status = answer.status
    if status == 0:
        return answer.silence, shortened(answer.failure)
    if 200 <= status < 300:
        return Outcome.OK, ""
    message = error_message(answer)
    detail = shortened(f"{status} {message or answer.headers.get('location', '')}")
    if message is None and status in (401, 403, 404, 410):
        # A proxy's page knows neither accounts nor tokens; believing it would cost stored content
        # or a good credential.
        return Outcome.UNREADABLE, detail
    message = (message or "").casefold()
    outcome = _OUTCOMES.get(status) or (
        Outcome.BAD_REQUEST if status == 422 else headers.unexplained(status)
    )
    if status in (400, 401, 403, 422):
        if any(words in message for words in _BAD_TOKEN):
            outcome = Outcome.BAD_TOKEN
        elif status != 401 and any(words in message for words in _NEEDS_USER):
            outcome = Outcome.FORBIDDEN_SCOPE
        elif status == 403 and "suspended" in message:
            outcome = Outcome.SUSPENDED
    elif status == 404 and message.startswith(_NO_ROUTE):
        outcome = Outcome.NOT_OFFERED
    return outcome, detail


def error_message(answer: Answer) -> str | None:
    """Return the server's message from its JSON, from the header of Mastodon's streams, or as bare
    text; None for HTML."""
    try:
        return _errors.read(answer.body).error
    except UNREADABLE:
        pass
    if message := answer.headers.get("x-error-message", "").strip():
        return message
    text = answer.body[:200].decode(errors="replace").strip()
    # A proxy sends bare text too, but only the API speaks of tokens.
    return text if "<" not in text and "token" in text.casefold() else None


def _is_missing_route(
    outcome: Outcome, endpoint: Endpoint, facet: Facet, answer: Answer, server: ServerInfo
) -> bool:
    """Whether a 404 is about the route and not about the requested object."""
    if answer.status != 404 or outcome is Outcome.NOT_OFFERED:
        return False
    if endpoint.facet.name in ONE_BY_ONE:
        # A batch leaves out missing objects.
        return True
    if outcome is Outcome.UNREADABLE or endpoint.is_object:
        return False
    is_bare = (error_message(answer) or "").casefold() == "not found"
    return facet.name in WITHOUT_OBJECT or (
        server.software == "mastodon" and is_bare and not _is_counted(answer)
    )


def _names_missing_object(answer: Answer, software: str) -> bool:
    """Whether a 404 or 410 is about a record, in the words of the server's software and not of a
    gateway."""
    message = (error_message(answer) or "").casefold()
    if answer.status == 404 and message in _NO_RECORD:
        return True
    bare, speaker = _BARE_MESSAGES[answer.status]
    if message != bare or not (
        software == speaker or (answer.status == 404 and _is_counted(answer))
    ):
        return False
    try:
        return len(_objects.read(answer.body)) == 1
    except UNREADABLE:
        return False


def _is_counted(answer: Answer) -> bool:
    """Whether the response is from one of Mastodon's controllers: only they add a rate limit whose
    reset is a date. Newer versions send a bare `Not Found` for posts, with these headers; for a
    missing route without."""
    limit = headers.reading(answer.headers, "x-ratelimit")
    return (
        limit is not None
        and None not in (limit.limit, limit.remaining)
        and "T" in answer.headers.get("x-ratelimit-reset", "")
    )


# Pages


class _Envelope(Struct):
    """The lists of a response; only those that the endpoint needs are decoded."""

    accounts: Raw = UNSENT
    statuses: Raw = UNSENT
    ancestors: Raw = UNSENT
    descendants: Raw = UNSENT


_envelopes = Reader(_Envelope)


def _read_items(endpoint: Endpoint, page: MastodonPage) -> Page:
    """Read the items of a successful response, and the position of the next page."""
    facet, body = page.facet, page.answer.body
    if endpoint.is_object:
        raws = [an_object(body)]
    elif endpoint.lists:
        envelope = _envelopes.read(body)
        lists = [getattr(envelope, name) for name in endpoint.lists]
        if not all(map(is_there, lists)):
            raise ValueError(f"without {' or '.join(endpoint.lists)}")
        raws = [raw for each in lists for raw in listed(bytes(each))]
    else:
        raws = listed(body)
    results, keys, fields, detail = len(raws), list[str](), dict[str, Any](), ""
    if "posts" in facet.yields:
        keys = [status.id for status in page.read_statuses(raws)]
    elif "users" in facet.yields:
        keys = [user.key for user in page.read_users(raws)]
    elif "trends" in facet.yields:
        fields["trends"] = _trends(page, raws)
    elif "user_tags" in facet.yields:
        fields["user_tags"] = _user_tags(page, raws)
    else:
        fields["versions"] = _versions(page, raws)
    if endpoint.facet.objects_per_call > 1:
        page.mark_missing(set(keys))
    elif endpoint.is_object:
        return _single(page)
    elif facet.side is not None:
        fields["relations"] = page.relations((*keys, *sorted(page.lost_keys)))
    elif "reactions" in facet.yields:
        fields["reactions"] = page.reactions(
            ReactionKind.REPOST if facet.name == "reposts" else ReactionKind.LIKE, keys
        )
    elif facet.name == "thread" and "mastodon-async-refresh" in page.answer.headers:
        detail = "the server is still fetching replies"
    head = None
    if facet.is_incremental and page.ask.progress.cursor is None:
        # Quarantined posts count, or they would be listed again with every visit.
        head = page.newest((*keys, *filter(is_number, page.lost_keys)))
    cursor = _next_cursor(endpoint.paging, page, keys, results)
    if cursor is REPEATED:
        cursor, detail = None, REPEATED
    return page.page(results=results, cursor=cursor, head=head, detail=detail, **fields)


def _single(page: MastodonPage) -> Page:
    """Return the page of one object, with its outcome if it is suspended or private."""
    if not page.is_sure:
        raise ValueError("an object without an id")
    result = page.page(results=1)
    reasons = [gone.reason for gone in result.gone if gone.subject is page.facet.subject]
    return replace(result, outcome=reasons[0], detail=reasons[0].value) if reasons else result


def _next_cursor(paging: Paging, page: MastodonPage, keys: list[str], results: int) -> str | None:
    """Return the position of the next page; None at the end of the list; REPEATED if the server
    repeats itself.

    An empty page with a next one is not the end: some servers cut pages before they remove private
    posts.
    """
    before, known = page.ask.progress.cursor, page.ask.progress.newest
    if paging is Paging.NONE:
        return None
    if paging is Paging.OFFSET:
        offset = before or "0"
        return (
            str(int(offset) + results)
            if results >= page_size(page.ask, page.facet) and offset.isdigit()
            else None
        )
    if (
        paging is Paging.POSTS
        and known is not None
        and any(key_order(key) <= key_order(known) for key in keys)
    ):
        return None
    cursor = headers.next_position(page.answer.headers, "max_id")
    if paging is Paging.LINK:
        return REPEATED if cursor is not None and cursor == before else cursor
    if (
        cursor is None
        and "link" not in page.answer.headers
        and results >= page_size(page.ask, page.facet)
    ):
        # Some compatible servers send no Link header; the oldest post of a full page is the same
        # position.
        cursor = oldest_key(keys)
    if cursor is not None and before is not None and key_order(cursor) >= key_order(before):
        return REPEATED
    if cursor is not None and known is not None and key_order(cursor) <= key_order(known):
        # Some servers ignore `since_id`.
        return None
    return cursor


class MastodonPage(PageBuilder):
    """Accounts and statuses of one server, with the statuses that they boost or quote."""

    def __init__(
        self, ask: Ask, facet: Facet, answer: Answer, service: Service, server: ServerInfo
    ) -> None:
        super().__init__(ask, facet, answer)
        self._service, self._software = service, server.software
        self._author: tuple[Raw, User] | None = None
        """The author of the previous status: nearly all of a timeline are by the same."""

    def latest_key(self, at: datetime) -> int | None:
        # Compatible servers have more bits below the time than Mastodon, but not more than X.
        return int(SNOWFLAKES.key_at(at))

    def read_user(self, raw: bytes, status_uri: str | None = None) -> User:
        known = self.authors.get(raw)
        if known is not None:
            return known
        account = accounts.read(raw)
        user = self.add_user(map_user(account, raw, status_uri, self._software))
        if account.suspended:
            self.mark_gone(Subject.USER, user.key, Outcome.SUSPENDED, is_stated=True)
        self.authors[raw] = user
        return user

    def read_statuses(self, raws: Sequence[bytes]) -> list[Status]:
        """Add the statuses that are new to us; return all that were listed."""
        whole = statuses.read_all(raws)
        items = (
            list(zip(whole, raws, strict=True))
            if whole is not None
            else list(self._one_by_one(raws))
        )
        uris = {status.id: status.uri for status, _ in items if status.uri and status.is_public}
        has_known = self.ask.progress.newest is not None
        for status, raw in items:
            if has_known and self.is_known(status.id):
                continue
            try:
                self.add_status(status, raw, uris)
            except UNREADABLE as error:
                self.quarantine_listed(Subject.POST, raw, error)
        return [status for status, _ in items]

    def _one_by_one(self, raws: Iterable[bytes]) -> Iterator[tuple[Status, bytes]]:
        for raw in raws:
            try:
                yield statuses.read(raw), raw
            except UNREADABLE as error:
                self.quarantine_listed(Subject.POST, raw, error)

    def add_status(
        self, status: Status, raw: bytes, uris: dict[str, str], depth: int = 0
    ) -> Post | None:
        """Add a status, and the one that it boosts or quotes. Return None for one that is not
        public."""
        if depth > 3:
            raise ValueError("statuses nested too deep")
        # Before anything can fail: a status in quarantine is stored as it came.
        if not status.is_public:
            if status.id in self.ask.targets and self.facet.subject is Subject.POST:
                self.mark_gone(Subject.POST, status.id, Outcome.PROTECTED)
            return None
        if self._author is None or self._author[0] != status.account:
            self._author = status.account, self.read_user(bytes(status.account), status.uri)
        if not status.id:
            raise ValueError("status without id")
        author, extras = self._author[1], status.extras
        if is_there(status.reblog):
            inner = bytes(status.reblog)
            original = self.add_status(statuses.read(inner), inner, uris, depth + 1)
            if original is None:
                return None
            own = without(raw, extras.quote) if extras else raw
            return self.add_post(
                map_repost(status, author.id, original.id, own), is_along=depth > 0
            )
        reply_to = self._local_id(status.in_reply_to_id, uris)
        quote_of = None
        if extras:
            quote_of, quoted = self._read_quote(extras, uris, depth)
            raw = self.own_payload(raw, quoted, quote_of) if is_there(quoted) else raw
        return self.add_post(
            map_post(status, author.id, raw, extras, reply_to, quote_of), is_along=depth > 0
        )

    def _local_id(self, key: str | None, uris: dict[str, str]) -> str | None:
        """Return the global id for a key of this server: a provisional one unless this page has the
        status."""
        return (uris.get(key) or f"mastodon:{self._service.name}/{key}") if key else None

    def _read_quote(
        self, extras: Extras, uris: dict[str, str], depth: int
    ) -> tuple[str | None, Raw]:
        """Return the id of the quoted status, and its JSON if the server sends it."""
        quote_of = extras.quote_url or self._local_id(extras.quote_id, uris)
        if not is_there(extras.quote):
            return quote_of, UNSENT
        quote = quotes.read(bytes(extras.quote))
        quoted = (
            quote.quoted_status
            if is_there(quote.quoted_status)
            else extras.quote
            if is_there(quote.account)
            else UNSENT
        )
        if not is_there(quoted):
            return self._local_id(quote.quoted_status_id, uris) or quote_of, UNSENT
        try:
            inner = bytes(quoted)
            post = self.add_status(statuses.read(inner), inner, uris, depth + 1)
        except UNREADABLE as error:
            self.quarantine(Subject.POST, bytes(quoted), error)
            return quote_of, quoted
        return post.id if post else None, quoted


# Accounts

_LABELS = """location where city country place based ort wohnort standort stadt lieu ville
localisation ubicación ubicacion lugar ciudad localização localizacao cidade onde luogo città dove
località plaats woonplaats plats miasto lokalizacja kaupunki 居住地 场所 所在地"""
_LOCATION_LABELS = frozenset({*_LABELS.split(), "based in", "lives in", "i live in"})
"""Names of profile fields that hold the location."""
_OPT_OUT = re.compile(r"#(nobots?|noindex|noarchive|nosearch)\b", re.IGNORECASE)
_HOST = re.compile(r"https?://([a-z0-9.-]+(?::[0-9]+)?)(?:/|$)")
_ID_RULES = {"gotosocial": 0, "takahe": 1}
"""Software that does not send account ids: which form of `ids_at` it uses."""
_STATUS_URI = re.compile(
    r"(?P<actor>https?://[^/]+/(?:users/(?P<name>[^/]+)(?=/)|@(?P<named>[^/@]+)@[^/]+/))(?:/statuses|posts)/"
)
"""The URI of a status begins with that of its author on Mastodon, GoToSocial and Takahē."""


class _Field(Struct, gc=False):
    name: str | None = None
    value: str | None = None


class _Pleroma(Struct, gc=False):
    ap_id: str | None = None


class Account(Struct):
    id: str
    acct: str
    uri: str | None = None
    url: str | None = None
    display_name: str | None = None
    note: str | None = None
    avatar: str | None = None
    created_at: str | None = None
    last_status_at: str | None = None
    followers_count: int | None = None
    following_count: int | None = None
    statuses_count: int | None = None
    bot: bool | None = None
    noindex: bool | None = None
    indexable: bool | None = None
    discoverable: bool | None = None
    suspended: bool | None = None
    fields: list[_Field] | None = None
    pleroma: Raw = UNSENT


accounts, _pleromas = Reader(Account), Reader(_Pleroma)


def account_id(account: Account, status_uri: str | None, software: str) -> str:
    """Return the global id of an account. Some servers do not send it: then it is derived from the
    URI of one of its posts, from the rule of the software for its own accounts, or the profile
    address stands for it."""
    if account.uri:
        return _checked_uri(account.uri, "account")
    try:
        ap_id = _pleromas.read(bytes(account.pleroma)).ap_id if is_there(account.pleroma) else None
    except UNREADABLE:
        ap_id = None
    if ap_id:
        return _checked_uri(ap_id, "account")
    url = account.url or ""
    if (match := _STATUS_URI.match(status_uri or "")) and _host(match["actor"]) == _host(url):
        name = match["name"] or match["named"]
        if name.casefold() == account.acct.partition("@")[0].casefold():
            return _checked_uri(match["actor"], "account")
    if software in _ID_RULES and "@" not in account.acct and (ids := ids_at(url)):
        return _checked_uri(ids[_ID_RULES[software]], "account")
    return _checked_uri(url, "account")


def map_user(
    account: Account, raw: bytes, status_uri: str | None = None, software: str = ""
) -> User:
    """Map an account; of a suspended one only its names remain. `status_uri`: the status it was
    embedded in."""
    id_ = account_id(account, status_uri, software)
    if not account.id:
        raise ValueError("account without id")
    # Handles include the server also for its own accounts, so that handles of all servers are
    # comparable.
    host = "" if "@" in account.acct else _host(account.url or id_)
    handle = f"{account.acct}@{host}" if host else account.acct
    if account.suspended:
        return User(id=id_, key=account.id, handle=handle, raw=raw)
    description, location = plain(account.note), None
    texts = [description]
    if account.fields is not None:
        location = ""
        for field in account.fields:
            value = plain(field.value)
            texts.append(f"{field.name} {value}")
            if not location and (field.name or "").strip(" :.📍").casefold() in _LOCATION_LABELS:
                location = value
    signals = tuple(
        signal
        for signal, is_given in (
            (Signal.NOINDEX, account.noindex),
            (Signal.INDEXABLE, account.indexable is False),
            (Signal.NOBOT, any(map(_OPT_OUT.search, texts))),
            (Signal.DISCOVERABLE, account.discoverable is False),
        )
        if is_given
    )
    return User(
        id_,
        account.id,
        handle,
        account.display_name,
        description=description,
        location=location,
        url=account.url,
        avatar=account.avatar,
        created_at=iso(account.created_at),
        followers=count(account.followers_count),
        following=count(account.following_count),
        posts=count(account.statuses_count),
        newest_post_at=iso(account.last_status_at),
        is_bot=account.bot,
        opts_out=not COUNTED_SIGNALS.isdisjoint(signals),
        signals=signals,
        raw=raw,
    )


def _host(url: str) -> str:
    if match := _HOST.match(url):
        return match[1]
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""


def _checked_uri(uri: str | None, kind: str) -> str:
    """Return a global id. `tag:` URIs are those of posts before ActivityPub."""
    if not uri:
        raise ValueError(f"{kind} without uri")
    if not uri.startswith(("https://", "http://", "tag:")) or not uri.isprintable():
        raise ValueError(f"{kind} with an invalid uri")
    return uri


# Statuses


class _Application(Struct, gc=False):
    name: str | None = None


class _Attachment(Struct, gc=False):
    id: str
    type: str | None = None
    url: str | None = None
    remote_url: str | None = None
    description: str | None = None


class _Mention(Struct, gc=False):
    id: str


class _Tag(Struct, gc=False):
    name: str


class _Option(Struct, gc=False):
    title: str
    votes_count: int | None = None


class _Poll(Struct):
    options: list[_Option]
    expires_at: str | None = None
    expired: bool | None = None
    multiple: bool | None = None
    votes_count: int | None = None
    voters_count: int | None = None


class _Emoji(Struct, gc=False):
    name: str
    count: int = 0


class Extras(Struct):
    """Quotes and emoji reactions, wherever a server puts them."""

    quote: Raw = UNSENT
    quote_id: str | None = None
    quote_url: str | None = None
    emoji_reactions: list[_Emoji] | None = None


class Quote(Struct):
    """The envelope of Mastodon 4.5 or, on other servers, the quoted status itself."""

    quoted_status: Raw = UNSENT
    quoted_status_id: str | None = None
    account: Raw = UNSENT


class Status(Struct):
    id: str
    account: Raw
    uri: str | None = None
    url: str | None = None
    created_at: str | None = None
    edited_at: str | None = None
    in_reply_to_id: str | None = None
    sensitive: bool | None = None
    spoiler_text: str | None = None
    visibility: str | None = None
    language: str | None = None
    replies_count: int | None = None
    reblogs_count: int | None = None
    favourites_count: int | None = None
    quotes_count: int | None = None
    content: str | None = None
    reblog: Raw = UNSENT
    quote: Raw = UNSENT
    quote_id: str | None = None
    quote_url: str | None = None
    poll: _Poll | None = None
    emoji_reactions: list[_Emoji] | None = None
    reactions: list[_Emoji] | None = None
    pleroma: Raw = UNSENT
    application: _Application | None = None
    media_attachments: list[_Attachment] | None = None
    mentions: list[_Mention] | None = None
    tags: list[_Tag] | None = None

    @property
    def is_public(self) -> bool:
        """Public or unlisted. Other posts are never stored, even if the token can see them."""
        return self.visibility in ("public", "unlisted", None)

    @property
    def extras(self) -> Extras | None:
        """Quote and reactions from the status itself or from Pleroma's extension; None if there are
        none."""
        emoji = self.emoji_reactions or self.reactions
        has_pleroma = is_there(self.pleroma)
        if not (
            has_pleroma
            or is_there(self.quote)
            or self.quote_id
            or self.quote_url
            or emoji is not None
        ):
            return None
        own = Extras(self.quote, self.quote_id, self.quote_url, emoji)
        try:
            more = _extras.read(bytes(self.pleroma)) if has_pleroma else Extras()
        except UNREADABLE:
            return own
        return Extras(
            own.quote if is_there(own.quote) else more.quote,
            own.quote_id or more.quote_id,
            own.quote_url or more.quote_url,
            more.emoji_reactions if emoji is None else emoji,
        )


_OPTIONAL = (
    "media_attachments",
    "poll",
    "tags",
    "mentions",
    "application",
    "emoji_reactions",
    "reactions",
)
statuses, quotes, _extras = (
    Reader(Status, *_OPTIONAL),
    Reader(Quote),
    Reader(Extras, "emoji_reactions"),
)


def map_repost(status: Status, author: str, original: str, raw: bytes) -> Post:
    """Map a boost, which has no text of its own."""
    return Post(
        id=_checked_uri(status.uri or status.url, "status"),
        key=status.id,
        author=author,
        kind=PostKind.REPOST,
        created_at=iso(status.created_at),
        repost_of=original,
        url=status.url,
        raw=raw,
    )


def map_post(
    status: Status,
    author: str,
    raw: bytes,
    extras: Extras | None,
    reply_to: str | None = None,
    quote_of: str | None = None,
) -> Post:
    markup = text_and_links(status.content, has_quote=quote_of is not None)
    emoji = extras.emoji_reactions if extras else None
    # In two steps: CPython passes more than 15 keyword arguments through a dict, which makes
    # parsing a fifth slower.
    post = Post(
        _checked_uri(status.uri or status.url, "status"),
        status.id,
        author,
        PostKind.REPLY if reply_to else PostKind.QUOTE if quote_of else PostKind.POST,
        iso(status.created_at),
        text=markup.text,
        language=status.language,
        replies=count(status.replies_count),
        reposts=count(status.reblogs_count),
        likes=count(status.favourites_count),
        quotes=count(status.quotes_count),
        url=status.url,
        source=status.application.name if status.application else None,
        warning=status.spoiler_text or None,
        is_sensitive=status.sensitive,
        links=markup.links,
        raw=raw,
    )
    has_parts = (
        markup.tags or status.tags or status.mentions or status.media_attachments or status.poll
    )
    if not (has_parts or reply_to or quote_of or status.edited_at or emoji is not None):
        return post
    return replace(
        post,
        reply_to=reply_to,
        quote_of=quote_of,
        edited_at=iso(status.edited_at),
        emoji={each.name: number for each in emoji if (number := count(each.count)) is not None}
        if emoji is not None
        else None,
        poll=_map_poll(status.poll) if status.poll else None,
        tags=tags_once([*markup.tags, *[tag.name for tag in status.tags or () if tag.name]]),
        mentions=tuple(
            dict.fromkeys([mention.id for mention in status.mentions or () if mention.id])
        ),
        # Media ids are local to the server and its copies move: the origin's address identifies the
        # file.
        media=tuple(
            [
                Media(id=url, kind=item.type or "unknown", url=url, description=item.description)
                for item in status.media_attachments or ()
                if (url := item.remote_url or item.url)
            ]
        ),
    )


def _map_poll(poll: _Poll) -> Poll:
    return Poll(
        options=tuple(
            PollOption(plain(each.title), count(each.votes_count)) for each in poll.options
        ),
        votes=count(poll.votes_count),
        voters=count(poll.voters_count),
        is_multiple=poll.multiple,
        is_closed=poll.expired,
        ends_at=iso(poll.expires_at),
    )


def stored_user(kept: KeptItem) -> User:
    """Map a stored payload again, under the id that the store has."""
    return replace(map_user(accounts.read(kept.raw), kept.raw), id=kept.id)


def stored_post(kept: KeptItem) -> Post | None:
    status = statuses.read(kept.raw)
    if not status.is_public:
        return None
    if is_there(status.reblog):
        return map_repost(status, kept.author, kept.repost_of or "", kept.raw)
    return map_post(status, kept.author, kept.raw, status.extras, quote_of=kept.quote_of)


# Trends, featured hashtags and edits


class _Use(Struct, gc=False):
    uses: int | None = None


class _Trend(Struct):
    """A hashtag or link with its use by day, latest first."""

    name: str | None = None
    url: str | None = None
    history: list[_Use] | None = None


class _FeaturedTag(Struct, gc=False):
    id: str
    name: str
    statuses_count: int | None = None


class _Edit(Struct):
    created_at: str
    content: str | None = None
    spoiler_text: str | None = None
    sensitive: bool | None = None


_trend_items, _featured_tags, _edits = Reader(_Trend), Reader(_FeaturedTag), Reader(_Edit)


def _trends(page: MastodonPage, raws: Iterable[bytes]) -> tuple[Trend, ...]:
    trends: list[Trend] = []
    for raw in raws:
        try:
            item = _trend_items.read(raw)
            word = tag_form(item.name) if item.name else item.url
            if not word:
                raise ValueError("a trend without a name")
            trends.append(
                Trend(
                    word,
                    len(trends) + 1,
                    volume=count(item.history[0].uses) if item.history else None,
                )
            )
        except UNREADABLE as error:
            page.quarantine(Subject.WORD, raw, error)
    return tuple(trends)


def _user_tags(page: MastodonPage, raws: Iterable[bytes]) -> tuple[UserTag, ...]:
    """Map the hashtags that an account features; the weight is how often it used each."""
    tags: list[UserTag] = []
    for raw in raws:
        try:
            item = _featured_tags.read(raw)
            tags.append(
                UserTag(
                    page.ask.targets[0], item.id, tag_form(item.name), count(item.statuses_count)
                )
            )
        except UNREADABLE as error:
            page.quarantine(Subject.USER, raw, error)
    return tuple(tags)


def _versions(page: MastodonPage, raws: Iterable[bytes]) -> tuple[Version, ...]:
    """Map the versions of a status, the first one included; one for each time."""
    versions: dict[datetime, Version] = {}
    for raw in raws:
        try:
            edit = _edits.read(raw)
            at = iso(edit.created_at)
            if at is None:
                raise ValueError("a version without a time")
            markup = text_and_links(edit.content)
            versions[at] = Version(
                post=page.ask.targets[0],
                at=at,
                text=markup.text,
                links=markup.links,
                warning=edit.spoiler_text or None,
                is_sensitive=edit.sensitive,
            )
        except UNREADABLE as error:
            page.quarantine(Subject.POST, raw, error)
    return tuple(versions.values())
