"""Accounts and statuses as Mastodon's serialisers write them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.simulated.mastodon.federation import Vantage
from bowerbird.simulated.mastodon.flavours.model import Addresses
from bowerbird.simulated.polls import ballot
from bowerbird.simulated.wire import encode
from bowerbird.simulated.world import Availability
from bowerbird.simulated.world.people.portraits import Portraits
from bowerbird.simulated.world.people.vocabulary import APPS
from bowerbird.simulated.world.posts.content import Content
from bowerbird.simulated.world.posts.reactions import Counters, Reactions
from bowerbird.simulated.world.posts.rows import QUOTE, REPLY, REPOST, Row, author_of
from bowerbird.simulated.world.settings import DAY, from_ms

decode = msgspec.json.Decoder().decode
_KEPT = 50_000
_UNEDITED = 60_000
_ROLES: tuple[str, ...] = ()
_NULL = b"null"
_ACCEPTED = b'{"state":"accepted","quoted_status":%b}'
_NAMED = b'{"state":"accepted","quoted_status_id":"%b"}'


class Account(Struct):
    id: str
    username: str
    acct: str
    display_name: str
    locked: bool
    bot: bool
    discoverable: bool
    indexable: bool
    group: bool
    created_at: str
    note: str
    url: str
    uri: str
    avatar: str
    avatar_static: str
    header: str
    header_static: str
    followers_count: int
    following_count: int
    statuses_count: int
    last_status_at: str | None
    hide_collections: bool
    noindex: bool
    fields: list[dict[str, Any]]
    emojis: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()


class StatusBody(Struct):
    """The part of a status that never changes (an edit makes another one)."""

    id: str
    created_at: str
    edited_at: str | None
    sensitive: bool
    spoiler_text: str
    visibility: str
    language: str | None
    uri: str
    url: str
    content: str
    application: dict[str, str | None] | None
    media_attachments: list[dict[str, Any]]
    mentions: list[dict[str, str]]
    tags: list[dict[str, str]]
    emojis: tuple[str, ...] = ()
    card: None = None


def iso(ms: int) -> str:
    return from_ms(ms).isoformat(timespec="milliseconds")[:23] + "Z"


class _Page(Struct):
    """What the statuses of one answer share."""

    now: int
    passed_on: dict[int, Row]
    """What they pass on or quote, and what that quotes."""
    counters: dict[int, Counters]
    accounts: dict[int, bytes] = {}
    written: dict[tuple[int, Callable[[Row, _Page], bytes]], bytes] = {}

    def embedded(self, row: Row, write: Callable[[Row, _Page], bytes]) -> bytes:
        """A status within another, written once for all that show it so."""
        known = (row.number, write)
        if known not in self.written:
            self.written[known] = write(row, self)
        return self.written[known]


class Payloads:
    """Writes accounts and statuses of one server as of a time."""

    def __init__(self, vantage: Vantage) -> None:
        self.vantage = vantage
        self.world = vantage.world
        self.ids = vantage.ids
        self._flavour = vantage.flavour
        self.base = f"https://{vantage.domain}"
        self.reactions = Reactions(vantage.world)
        self._files = self.base
        self._bodies: dict[tuple[int, bool], bytes] = {}
        self._accounts: Portraits[bytes] = Portraits(vantage.world.changes)

    def files_are_at(self, base: str) -> None:
        """From now on pictures are shown at this address, as on servers that keep them apart."""
        self._files = base
        self._bodies.clear()
        self._accounts.clear()

    def account(self, account: int, now: int, *, is_embedded: bool = False) -> bytes:
        """The account's JSON, in a list or a status if `is_embedded`; a suspended one shows nothing of itself."""
        return self._accounts.of(account, is_embedded, now, self._embedded if is_embedded else self._alone)

    def _embedded(self, account: int, now: int) -> bytes:
        return self._shown(account, now, is_embedded=True)

    def _alone(self, account: int, now: int) -> bytes:
        return self._shown(account, now, is_embedded=False)

    def _shown(self, account: int, now: int, *, is_embedded: bool) -> bytes:
        written = self._account(account, now)
        is_suspended = self.world.availability(account, now) is Availability.SUSPENDED
        if not is_suspended and not self._flavour.is_reshaped:
            return encode(written)
        fields = {**_fields(written), **(_EMPTIED | {"suspended": True} if is_suspended else {})}
        return encode(self._flavour.account(fields, is_embedded))

    def statuses(self, rows: Sequence[Row], now: int) -> list[bytes]:
        """The statuses' JSON, in the order given."""
        inner = [row for row in (self._passed_on(row, now) for row in rows) if row is not None]
        quoted = [row for row in (self._passed_on(row, now) for row in inner) if row is not None]
        shown = (*rows, *inner, *quoted)
        counters = self.reactions.counters([row.number for row in shown], now)
        by_number = {row.number: count for row, count in zip(shown, counters, strict=True)}
        page = _Page(now, {row.number: row for row in (*inner, *quoted)}, by_number)
        found = [self._status(row, page) for row in rows]
        return [encode(self._reshaped(decode(status))) for status in found] if self._flavour.is_reshaped else found

    def _reshaped(self, fields: dict[str, Any], *, is_embedded: bool = False) -> dict[str, Any]:
        """The status as the server's software writes it, and so what it passes on or quotes."""
        if fields["reblog"] is not None:
            fields["reblog"] = self._reshaped(fields["reblog"], is_embedded=True)
        quote = fields["quote"] or {}
        if quote.get("quoted_status") is not None:
            quote["quoted_status"] = self._reshaped(quote["quoted_status"], is_embedded=True)
        return self._flavour.status(fields, is_embedded)

    def name(self, account: int) -> str:
        return self.world.profiles.at(account, 0).first_handle

    def acct(self, account: int) -> str:
        """The name, with the domain where the account lives elsewhere."""
        name = self.name(account)
        return name if self.vantage.is_local(account) else f"{name}@{self.vantage.home(account)}"

    def content_html(self, row: Row, content: Content, is_edited: bool) -> str:
        parts = [self._mention(account) for account in content.mentions]
        parts.append(escape(content.words, quote=False) + (" (edited)" if is_edited else ""))
        parts += [
            f'<a href="{self.base}/tags/{tag}" class="mention hashtag" rel="tag">#<span>{tag}</span></a>' for tag in content.tags
        ]
        if content.link:
            shown = content.link.removeprefix("https://")
            parts.append(f'<a href="{content.link}" rel="nofollow noopener" target="_blank">{shown}</a>')
        return f"<p>{' '.join(parts)}</p>" if row.kind != REPOST else ""

    def _account(self, account: int, now: int) -> Account:
        people, profile = self.world.people, self.world.profiles.at(account, now)
        followers, following = self.world.graph.counts(account, now)
        newest = self.world.newest(account, now)
        name, home = profile.first_handle, self.vantage.home(account)
        is_local, address = self.vantage.is_local(account), self._address(account)
        names = {"home": f"https://{home}", "domain": home, "name": name}
        folder = "system" if is_local else "system/cache"
        picture = f"{self.base}/{folder}/accounts/avatars/{account}/{profile.picture}.png"
        header = f"{self.base}/headers/original/missing.png"
        fields = (
            [{"name": "Location", "value": escape(profile.location, quote=False), "verified_at": None}]
            if profile.location
            else []
        )
        if profile.link:
            link = f'<a href="{profile.link}" rel="me">{profile.link}</a>'
            fields.append({"name": "Homepage", "value": link, "verified_at": iso(int(people.created[account]) + DAY)})
        return Account(
            id=self.ids.account(account),
            username=name,
            acct=name if is_local else f"{name}@{home}",
            display_name=profile.name,
            locked=self.world.availability(account, now) is Availability.PROTECTED,
            bot=bool(people.is_bot[account]),
            discoverable=bool(people.is_discoverable[account]),
            indexable=bool(people.is_indexable[account]),
            group=False,
            created_at=iso(int(people.created[account]) // DAY * DAY),
            note=f"<p>{escape(profile.bio, quote=False)}</p>" if profile.bio else "",
            url=address.account_url.format(**names),
            uri=address.account_uri.format(**names),
            avatar=picture,
            avatar_static=picture,
            header=header,
            header_static=header,
            followers_count=followers,
            following_count=following,
            statuses_count=self.world.post_count(account, now),
            last_status_at=iso(newest.ms)[:10] if newest else None,
            hide_collections=bool(people.hides_network[account]),
            noindex=bool(people.is_noindex[account]),
            fields=fields,
        )

    def _passed_on(self, row: Row, now: int) -> Row | None:
        """What a post passes on or quotes, as far as the server shows it."""
        if row.kind not in (REPOST, QUOTE):
            return None
        target = self.world.post(row.target, now)
        return target if target is not None and self.is_passed_on(row, now) else None

    def is_passed_on(self, row: Row, now: int) -> bool:
        """Whether what a post passes on or quotes may be seen by everybody."""
        is_private = self.world.contents.visibility(row.target) == "private"
        return not is_private and self.world.is_open(author_of(row.target), now)

    def _status(self, row: Row, page: _Page) -> bytes:
        """One status; what it passes on is shown with what that quotes, and what it quotes only names what it quotes in turn."""
        passed_on = page.passed_on.get(row.target) if row.kind in (REPOST, QUOTE) else None
        if passed_on is None:
            return self._written(row, page, _NULL, _NULL)
        if row.kind == REPOST:
            return self._written(row, page, page.embedded(passed_on, self._status), _NULL)
        return self._written(row, page, _NULL, _ACCEPTED % page.embedded(passed_on, self._quoted))

    def _quoted(self, row: Row, page: _Page) -> bytes:
        """One status as it is shown below another that quotes it."""
        names = row.kind == QUOTE and self._passed_on(row, page.now) is not None
        return self._written(row, page, _NULL, _NAMED % self.ids.post(row.target).encode() if names else _NULL)

    def _written(self, row: Row, page: _Page, reblog: bytes, quote: bytes) -> bytes:
        now, accounts, counters = page.now, page.accounts, page.counters[row.number]
        account = accounts.get(row.author)
        if account is None:
            account = accounts[row.author] = self.account(row.author, now, is_embedded=True)
        parent = self.world.post(row.target, now) if row.kind == REPLY else None
        parent = parent if parent is not None and self.vantage.holds(parent, now) else None
        reply_to = self.ids.post(row.target).encode() if parent else b""
        reply_to_account = self.ids.account(author_of(row.target)).encode() if parent else b""
        return (
            b'{"replies_count":%d,"reblogs_count":%d,"favourites_count":%d,"quotes_count":%d,"account":%b,"reblog":%b,"quote":%b,'
            b'"in_reply_to_id":%b,"in_reply_to_account_id":%b,"poll":%b,'
            % (
                counters.replies, counters.reposts, counters.likes, counters.quotes, account,
                reblog, quote, _text(reply_to), _text(reply_to_account), encode(_poll(row, now)),
            )
        ) + self._body(row, now)[1:]  # fmt: skip

    def _body(self, row: Row, now: int) -> bytes:
        # An edit comes at least a minute after the post: who looks sooner sees the first version, whatever was seen since.
        is_new = now - row.ms < _UNEDITED
        kept = self._bodies.get((row.number, is_new))
        if kept is None:
            content = self.world.contents.of(row)
            is_edited = 0 < content.edited_ms <= now
            # Only what can never change again may be kept.
            kept = encode(self._write(row, content, is_edited))
            if is_new or is_edited or not content.edited_ms:
                if len(self._bodies) >= _KEPT:
                    self._bodies.clear()
                self._bodies[row.number, is_new] = kept
        return kept

    def _write(self, row: Row, content: Content, is_edited: bool) -> StatusBody:
        key, is_boost, address = self.ids.post(row.number), row.kind == REPOST, self._address(row.author)
        names = self._names(row.author) | {"key": self.vantage.home_key(row.number, row.author)}
        return StatusBody(
            id=key,
            created_at=iso(row.ms),
            edited_at=iso(content.edited_ms) if is_edited else None,
            sensitive=content.is_sensitive,
            spoiler_text="careful" if content.is_sensitive else "",
            visibility=content.visibility,
            language=content.language if row.kind != REPOST else None,
            uri=(address.boost_uri if is_boost else address.post_uri).format(**names),
            url=(address.boost_uri if is_boost else address.post_url).format(**names),
            content=self.content_html(row, content, is_edited),
            application={"name": APPS[content.source % len(APPS)], "website": None} if content.source % 2 else None,
            media_attachments=[self._picture(key, nth) for nth in range(content.pictures)],
            mentions=[self._mentioned(account) for account in content.mentions],
            tags=[{"name": tag, "url": f"{self.base}/tags/{tag}"} for tag in content.tags],
        )

    def _picture(self, key: str, nth: int) -> dict[str, Any]:
        url = f"{self._files}/system/media_attachments/files/{key}/{nth}.png"
        return {
            "id": f"{key}{nth}",
            "type": "image",
            "url": url,
            "preview_url": url,
            "remote_url": None,
            "description": "a picture",
        }

    def _mention(self, account: int) -> str:
        name, url = self.name(account), self._address(account).account_url.format(**self._names(account))
        return f'<span class="h-card"><a href="{url}" class="u-url mention">@<span>{name}</span></a></span>'

    def _mentioned(self, account: int) -> dict[str, str]:
        name, url = self.name(account), self._address(account).account_url.format(**self._names(account))
        return {"id": self.ids.account(account), "username": name, "url": url, "acct": self.acct(account)}

    def _address(self, account: int) -> Addresses:
        return self.vantage.home_flavour(account).addresses

    def _names(self, account: int) -> dict[str, str]:
        domain = self.vantage.home(account)
        return {"home": f"https://{domain}", "domain": domain, "name": self.name(account)}


_EMPTIED: dict[str, Any] = {
    "display_name": "", "note": "", "fields": [], "locked": False, "bot": False, "discoverable": False, "indexable": False,
}  # fmt: skip


def _poll(row: Row, now: int) -> dict[str, Any] | None:
    asked = ballot(row, now)
    if asked is None:
        return None
    return {
        "id": asked.key, "expires_at": iso(asked.ends_ms), "expired": asked.is_closed, "multiple": asked.is_multiple,
        "votes_count": asked.votes, "voters_count": None if asked.is_multiple else asked.votes, "emojis": [],
        "options": [{"title": title, "votes_count": votes} for title, votes in asked.options],
    }  # fmt: skip


def _fields(account: Account) -> dict[str, Any]:
    return {name: getattr(account, name) for name in account.__struct_fields__}


def _text(text: bytes) -> bytes:
    return b'"%b"' % text if text else b"null"
