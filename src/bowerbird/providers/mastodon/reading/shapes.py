"""Accounts and statuses as Mastodon sends them, only the fields we map, and the mapping itself (pure)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from msgspec import Raw, Struct
from msgspec.structs import replace

from bowerbird.model import COUNTED_SIGNALS, Media, Poll, PollOption, Post, PostKind, Signal, User, ids_at, tags_once
from bowerbird.providers.common.reading.items import UNREADABLE, UNSENT, Reader, count, is_there
from bowerbird.providers.common.reading.markup import plain, text_and_links
from bowerbird.providers.common.reading.times import iso

_OPT_OUT = re.compile(r"#(nobots?|noindex|noarchive|nosearch)\b", re.IGNORECASE)
_LABELS = """location where city country place based ort wohnort standort stadt lieu ville localisation ubicación ubicacion
lugar ciudad localização localizacao cidade onde luogo città dove località plaats woonplaats plats miasto lokalizacja
kaupunki 居住地 场所 所在地"""
_WHERE = frozenset({*_LABELS.split(), "based in", "lives in", "i live in"})
"""Labels that people give to the field in which they say where they are."""
_OPEN = frozenset({"public", "unlisted", None})
_SCHEMES = ("https://", "http://", "tag:")
"""How ids begin; the last are those of posts before ActivityPub."""
_HOST = re.compile(r"https?://([a-z0-9.-]+(?::[0-9]+)?)(?:/|$)")
"""The server in an address as nearly all are written; others are taken apart by the rules."""
_RULES = {"gotosocial": 0, "takahe": 1}
"""Which of the ways to write an account's id is that of the software, where it does not send ids."""
_STATUS_URI = re.compile(
    r"(?P<actor>https?://[^/]+/(?:users/(?P<name>[^/]+)(?=/)|@(?P<named>[^/@]+)@[^/]+/))(?:/statuses|posts)/"
)
"""How the address of a post begins with that of its author: on Mastodon and GoToSocial, and on Takahē."""


class _Field(Struct, gc=False):
    name: str | None = None
    value: str | None = None


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

    def identity(self, status_uri: str | None, software: str = "") -> str:
        """The account's global id. Some servers do not send it: the address of a post of its own tells it, or the rule of the
        server's software for its own accounts; or else the web address of its profile stands for it."""
        told = self.uri or self._ap_id() or self._author_in(status_uri or "") or self._by_rule(software)
        return _address(told or self.url, "account without uri")

    def _by_rule(self, software: str) -> str | None:
        at = ids_at(self.url or "") if software in _RULES and "@" not in self.acct else ()
        return at[_RULES[software]] if at else None

    def _ap_id(self) -> str | None:
        try:
            return _pleromas.read(bytes(self.pleroma)).ap_id if is_there(self.pleroma) else None
        except UNREADABLE:
            return None

    def _author_in(self, status_uri: str) -> str | None:
        found = _STATUS_URI.match(status_uri)
        if found is None or _host(found["actor"]) != _host(self.url or ""):
            return None
        name = found["name"] or found["named"]
        return found["actor"] if name.casefold() == self.acct.partition("@")[0].casefold() else None


class _Pleroma(Struct, gc=False):
    ap_id: str | None = None


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
    """How often one emoji was given as a reaction."""

    name: str
    count: int = 0


class KinFields(Struct):
    """What Pleroma and its kin say of a status beyond Mastodon's form."""

    quote: Raw = UNSENT
    quote_id: str | None = None
    quote_url: str | None = None
    emoji_reactions: list[_Emoji] | None = None


class Quote(Struct):
    """Either the envelope of current servers or, on others, the quoted status itself."""

    state: str | None = None
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
    def global_id(self) -> str:
        return _address(self.uri or self.url, "status without uri")

    @property
    def is_open(self) -> bool:
        """Public or unlisted; followers-only and direct posts are never kept, even if a token can see them."""
        return self.visibility in _OPEN

    @property
    def kin_fields(self) -> KinFields:
        """What kin of Mastodon tell of quotes and reactions, wherever they write it."""
        if self.pleroma is UNSENT and self.emoji_reactions is None and self.reactions is None and not self.quote_url:
            return KinFields(self.quote, self.quote_id) if self.quote_id or is_there(self.quote) else NOTHING_MORE
        own = KinFields(self.quote, self.quote_id, self.quote_url, self.emoji_reactions or self.reactions)
        try:
            more = _kin_fields.read(bytes(self.pleroma)) if is_there(self.pleroma) else None
        except UNREADABLE:
            more = None
        if more is None:
            return own
        quote = own.quote if is_there(own.quote) else more.quote
        emoji = more.emoji_reactions if own.emoji_reactions is None else own.emoji_reactions
        return KinFields(quote, own.quote_id or more.quote_id, own.quote_url or more.quote_url, emoji)


NOTHING_MORE = KinFields()
_pleromas = Reader(_Pleroma)
accounts = Reader(Account)
statuses = Reader(Status, "media_attachments", "poll", "tags", "mentions", "application", "emoji_reactions", "reactions")
_kin_fields = Reader(KinFields, "emoji_reactions")
quotes = Reader(Quote)


def _required(text: str | None, why: str) -> str:
    if not text:
        raise ValueError(why)
    return text


def _address(address: str | None, why: str) -> str:
    """An id of the whole network; whoever has none that can be one would be somebody else for us."""
    if not address:
        raise ValueError(why)
    if not address.startswith(_SCHEMES) or not address.isprintable():
        raise ValueError("a uri that is none")
    return address


def user_of(account: Account, raw: bytes, status_uri: str | None = None, software: str = "") -> User:
    """The account as a user; of a suspended one only its names and numbers remain. `status_uri`: the post it came with."""
    identity = account.identity(status_uri, software)
    key, handle = _required(account.id, "account without id"), _handle(account, identity)
    if account.suspended:
        return User(id=identity, key=key, handle=handle, raw=raw)
    description = plain(account.note)
    signals = _signals(account, description)
    return User(
        identity,
        key,
        handle,
        account.display_name,
        description=description,
        location=_location(account),
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


def _location(account: Account) -> str | None:
    """What the account wrote beside a label such as `Location`: there is no field of its own for it."""
    if account.fields is None:
        return None
    named = (each.value for each in account.fields if (each.name or "").strip(" :.📍").casefold() in _WHERE)
    return plain(next(named, "")) or ""


def _handle(account: Account, identity: str) -> str:
    """`alice@server` also for the server's own accounts, so that handles of different servers can stand side by side."""
    if "@" in account.acct:
        return account.acct
    host = _host(account.url or identity)
    return f"{account.acct}@{host}" if host else account.acct


def _host(address: str) -> str:
    if plain_host := _HOST.match(address):
        return plain_host[1]
    try:
        return urlsplit(address).netloc
    except ValueError:
        return ""


def _signals(account: Account, description: str) -> tuple[Signal, ...]:
    fields = (f"{field.name} {plain(field.value)}" for field in account.fields or ())
    given = {
        Signal.NOINDEX: bool(account.noindex),
        Signal.INDEXABLE: account.indexable is False,
        Signal.NOBOT: any(_OPT_OUT.search(text) for text in (description, *fields)),
        Signal.DISCOVERABLE: account.discoverable is False,
    }
    return tuple(signal for signal, is_given in given.items() if is_given)


def repost_of(status: Status, author: User, original: Post, raw: bytes) -> Post:
    """A boost: it has no words of its own."""
    return Post(
        id=status.global_id,
        key=_required(status.id, "status without id"),
        author=author.id,
        kind=PostKind.REPOST,
        created_at=iso(status.created_at),
        repost_of=original.id,
        url=status.url,
        raw=raw,
    )


def post_of(
    status: Status, author: User, raw: bytes, told: KinFields, *, reply_to: str | None = None, quote_of: str | None = None
) -> Post:
    said = text_and_links(status.content, has_quote=quote_of is not None)
    application = status.application
    # Some by their place: Python puts a call's names into a dict when they are too many, which takes six times as long.
    post = Post(
        status.global_id,
        _required(status.id, "status without id"),
        author.id,
        PostKind.REPLY if reply_to else PostKind.QUOTE if quote_of else PostKind.POST,
        iso(status.created_at),
        text=said.text,
        language=status.language,
        replies=count(status.replies_count),
        reposts=count(status.reblogs_count),
        likes=count(status.favourites_count),
        quotes=count(status.quotes_count),
        url=status.url,
        source=application.name if application else None,
        warning=status.spoiler_text or None,
        is_sensitive=status.sensitive,
        links=said.links,
        raw=raw,
    )
    has_parts = said.tags or status.tags or status.mentions or status.media_attachments
    if not (has_parts or reply_to or quote_of or status.edited_at or status.poll or told.emoji_reactions is not None):
        return post
    return replace(
        post,
        reply_to=reply_to,
        quote_of=quote_of,
        emoji=_emoji(told.emoji_reactions) if told.emoji_reactions is not None else None,
        poll=_poll(status.poll) if status.poll else None,
        edited_at=iso(status.edited_at),
        tags=_tags(said.tags, status.tags),
        mentions=_mentions(status.mentions or ()),
        media=_media(status.media_attachments or ()),
    )


def _tags(marked: tuple[str, ...], listed: list[_Tag] | None) -> tuple[str, ...]:
    """Hashtags as the text writes them, and those that only the list has."""
    return tags_once([*marked, *[tag.name for tag in listed if tag.name]] if listed else marked)


def _emoji(given: list[_Emoji]) -> dict[str, int]:
    return {each.name: number for each in given if (number := count(each.count)) is not None}


def _poll(poll: _Poll) -> Poll:
    return Poll(
        options=tuple(PollOption(plain(each.title), count(each.votes_count)) for each in poll.options),
        votes=count(poll.votes_count),
        voters=count(poll.voters_count),
        is_multiple=poll.multiple,
        is_closed=poll.expired,
        ends_at=iso(poll.expires_at),
    )


def _mentions(mentions: Iterable[_Mention]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(mention.id for mention in mentions if mention.id))


def _media(attachments: Iterable[_Attachment]) -> tuple[Media, ...]:
    # A server's own media ids are not global and its copies move: the origin's address names the file everywhere.
    found = [(item.remote_url or item.url, item) for item in attachments]
    return tuple(Media(id=url, kind=item.type or "unknown", url=url, description=item.description) for url, item in found if url)
