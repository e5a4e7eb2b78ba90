"""The bare loop: what a careful programmer writes by hand with the same libraries for one Mastodon server.

It fetches timelines, decodes them with msgspec, compresses each raw item with a dictionary learned from the first thousand, and
writes the same columns and tables of the same schema with `executemany`, one commit per page; posts have a unique index on their
ids. It has no frontier, no ledger, no log, no history and no quarantine, and a page that is not what it expects ends it.
"""

from __future__ import annotations

import asyncio
import html
import re
from datetime import UTC, datetime
from typing import Any

import aiohttp
import msgspec
import zstandard
from msgspec import Raw, Struct

from bowerbird.clock import RealClock, to_micros
from bowerbird.db.sqlite.library import sqlite_module
from bowerbird.db.sqlite.short_columns import written

_TAG = re.compile(r"<[^>]*>")
_BREAK = re.compile(r"<br ?/?>|</p>")
_LINK = re.compile(r'<a href="(https?://[^"]+)"([^>]*)>')
_NEXT = re.compile(r"[?&]max_id=(\d+)[^>]*>; rel=\"next\"")
_OPT_OUT = re.compile(r"#(nobots?|noindex|noarchive|nosearch)\b", re.IGNORECASE)


class Account(Struct):
    id: str
    acct: str
    uri: str
    url: str
    display_name: str
    note: str
    avatar: str
    created_at: str
    followers_count: int
    following_count: int
    statuses_count: int
    bot: bool
    last_status_at: str | None = None
    noindex: bool | None = None
    indexable: bool | None = None


class Attachment(Struct):
    type: str
    url: str
    description: str | None = None


class Mention(Struct):
    id: str


_NOTHING = Raw()


class Tag(Struct):
    name: str


class Quote(Struct):
    quoted_status: Raw = _NOTHING
    """Below another quote only its id is told."""


class Status(Struct):
    id: str
    account: Raw
    uri: str
    url: str
    created_at: str
    visibility: str
    sensitive: bool
    spoiler_text: str
    replies_count: int
    reblogs_count: int
    favourites_count: int
    content: str
    media_attachments: list[Attachment]
    mentions: list[Mention]
    tags: list[Tag]
    language: str | None = None
    edited_at: str | None = None
    in_reply_to_id: str | None = None
    reblog: Raw = Raw(b"null")
    quote: Quote | None = None


_items = msgspec.json.Decoder(list[Raw])
_status = msgspec.json.Decoder(Status)
_account = msgspec.json.Decoder(Account)

_USER = (
    *("id", "network", "handle", "name", "description", "url", "avatar", "created_at", "followers", "following", "posts"),
    *("newest_post_at", "is_bot", "opts_out", "found_at", "found_by", "seen_at", "seen_by", "raw", "raw_dictionary"),
)
_POST = (
    *("id", "network", "author", "kind", "created_at", "text", "language", "reply_to", "repost_of", "quote_of"),
    *("replies", "reposts", "likes", "edited_at", "url", "warning", "is_sensitive", "links"),
    *("found_at", "found_by", "seen_at", "seen_by", "raw", "raw_dictionary"),
)


def _upsert(table: str, columns: tuple[str, ...]) -> str:
    id_, kept = columns[0], {columns[0], "network", "author", "found_at", "found_by"}
    changed = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in kept)
    places = ", ".join("?" for _ in columns)
    return f"insert into {table} ({', '.join(columns)}) values ({places}) on conflict ({id_}) do update set {changed}"


_SAVE_USER = _upsert("users", _USER)
_SAVE_POST = _upsert("posts", tuple(written("sqlite", name) for name in _POST))
_STUB = "insert into users (id, network, found_at, found_by) values (?, 'mastodon', ?, ?) on conflict (id) do nothing"
_USER_NUMBERS = "select id, user_no from users where id in (select value from json_each(?))"
_USER_KEYS = "select key, user_no from user_keys where service = 1 and key in (select value from json_each(?))"
_POST_NUMBERS = "select short_id, post_no from posts where short_id in (select value from json_each(?))"
_KEY = "insert into user_keys (service, key, user_no) values (1, ?, ?) on conflict do nothing"
_POST_KEY = "insert into post_keys (service, key, post_no) values (1, ?, ?) on conflict do nothing"
_POST_TAG = "insert into post_tags (tag, post_no) values (?, ?) on conflict do nothing"
_MENTION = "insert into post_mentions (post_no, user_no) values (?, ?) on conflict do nothing"
_MEDIA = "insert into media (id, post_no, place, kind, short_url, description) values (?, ?, ?, ?, ?, ?) on conflict do nothing"


class Packer:
    """Compresses the items of one kind, after the first thousand with a dictionary."""

    def __init__(self, number: int) -> None:
        self.number: int | None = None
        self._wanted = number
        self._samples: list[bytes] = []
        self._compressor = zstandard.ZstdCompressor(level=3)

    def pack(self, raw: bytes) -> bytes:
        if self.number is None:
            self._samples.append(raw)
            if len(self._samples) == 1_000:
                self._train()
        return self._compressor.compress(raw)

    def _train(self) -> None:
        dictionary = zstandard.train_dictionary(65_536, list(self._samples), k=256, d=6, f=18, level=3)
        dictionary.precompute_compress(level=3)
        self._compressor = zstandard.ZstdCompressor(level=3, dict_data=dictionary, write_dict_id=False)
        self.number = self._wanted


class BareLoop:
    """Fetches and stores the timelines of some accounts."""

    def __init__(self, base: str, path: str) -> None:
        self._base = base
        self._clock = RealClock()
        self._db = sqlite_module().connect(path, isolation_level=None, cached_statements=512)
        for pragma in ("journal_mode = wal", "synchronous = full", "cache_size = -65536", "wal_autocheckpoint = 4000"):
            self._db.execute(f"pragma {pragma}")
        # Its own, as anybody would make it; and what an upsert needs.
        self._db.execute("create unique index bare_posts_id on posts (short_id)")
        self._db.execute("drop index posts_id")
        self._posts, self._users = Packer(1), Packer(2)
        self._calls = 0

    async def run(self, keys: list[str], slots: int) -> None:
        waiting = iter(keys)
        async with aiohttp.ClientSession(headers={"authorization": "Bearer bare"}) as session:
            await asyncio.gather(*(self._work(session, waiting) for _ in range(slots)))
        self._db.close()

    async def _work(self, session: aiohttp.ClientSession, waiting: Any) -> None:
        for key in waiting:
            position: str | None = ""
            while position is not None:
                url = f"{self._base}/api/v1/accounts/{key}/statuses?limit=40{position}"
                async with session.get(url) as response:
                    body = await response.read()
                    following = _NEXT.search(response.headers.get("link", ""))
                self._save(body)
                position = f"&max_id={following[1]}" if following else None

    def _save(self, body: bytes) -> None:
        self._calls += 1
        now = (to_micros(self._clock.now()), self._calls)
        users: dict[str, tuple[Any, ...]] = {}
        posts: dict[str, tuple[Any, ...]] = {}
        authors: dict[bytes, tuple[Account, bool]] = {}
        whole: list[tuple[str, Status]] = []
        keys: list[tuple[str, str]] = []
        for raw in _items.decode(body):
            self._read(bytes(raw), now, users, posts, authors, whole, keys)
        db = self._db
        db.execute("begin immediate")
        people = self._save_users(users, authors, whole, now)
        db.executemany(_SAVE_POST, [(*row[:2], people[row[2]], *row[3:]) for row in posts.values()])
        numbers = dict(db.execute(_POST_NUMBERS, (msgspec.json.encode(list(posts)).decode(),)).fetchall())
        db.executemany(_POST_KEY, [(key, numbers[uri]) for key, uri in keys])
        db.executemany(_POST_TAG, [(tag.name.casefold(), numbers[uri]) for uri, status in whole for tag in status.tags])
        db.executemany(_MENTION, [(numbers[uri], people[mention.id]) for uri, status in whole for mention in status.mentions])
        media = [
            (m.url, numbers[uri], place, m.type, m.url, m.description)
            for uri, s in whole
            for place, m in enumerate(s.media_attachments, 1)
        ]
        db.executemany(_MEDIA, media)
        db.execute("commit")

    def _read(self, raw: bytes, now: tuple[int, int], users: Any, posts: Any, authors: Any, whole: Any, keys: Any) -> str | None:
        """Turns one status, and the one it passes on, into rows."""
        status = _status.decode(raw)
        if status.visibility not in ("public", "unlisted"):
            return None
        account, is_out = self._author(bytes(status.account), now, users, authors)
        original = None
        if (passed_on := bytes(status.reblog)) != b"null":
            original = self._read(passed_on, now, users, posts, authors, whole, keys)
            if original is None:
                return None
        shown = bytes(status.quote.quoted_status) if status.quote else b""
        quoted = self._read(shown, now, users, posts, authors, whole, keys) if shown else None
        keys.append((status.id, status.uri))
        posts[status.uri] = self._post_row(status, account, (original, quoted), now, raw, is_out)
        if original is None and not is_out:
            whole.append((status.uri, status))
        return status.uri

    def _author(self, raw: bytes, now: tuple[int, int], users: Any, authors: Any) -> tuple[Account, bool]:
        if raw in authors:
            known: tuple[Account, bool] = authors[raw]
            return known
        account = _account.decode(raw)
        about = _text(account.note)
        is_out = bool(account.noindex or account.indexable is False or _OPT_OUT.search(about))
        users[account.uri] = self._user_row(account, about, now, raw, is_out)
        authors[raw] = (account, is_out)
        return account, is_out

    def _user_row(self, a: Account, about: str, now: tuple[int, int], raw: bytes, is_out: bool) -> tuple[Any, ...]:
        if is_out:
            return (a.uri, "mastodon", *(None,) * 11, 1, *now, *now, None, None)
        handle = a.acct if "@" in a.acct else f"{a.acct}@{a.url.split('/', 3)[2]}"
        named = (a.uri, "mastodon", handle, a.display_name, about, a.url, a.avatar, _micros(a.created_at))
        counted = (a.followers_count, a.following_count, a.statuses_count, _micros(a.last_status_at), int(a.bot), 0)
        return (*named, *counted, *now, *now, self._users.pack(raw), self._users.number)

    def _post_row(
        self, s: Status, author: Account, others: tuple[str | None, str | None], now: tuple[int, int], raw: bytes, is_out: bool
    ) -> tuple[Any, ...]:
        original, quoted = others
        kind = "repost" if original else "reply" if s.in_reply_to_id else "quote" if quoted else "post"
        start = (s.uri, "mastodon", author.uri, kind, _micros(s.created_at))
        if is_out:
            return (*start, *(None,) * 13, *now, *now, None, None)
        packed = (*now, *now, self._posts.pack(raw), self._posts.number)
        if original:
            return (*start, None, None, None, original, *(None,) * 5, s.url, *(None,) * 3, *packed)
        parent = f"mastodon:bench/{s.in_reply_to_id}" if s.in_reply_to_id else None
        links = [address for address, rest in _LINK.findall(s.content) if "mention" not in rest and "tag" not in rest]
        said = (_text(s.content), s.language, parent, None, quoted, s.replies_count, s.reblogs_count, s.favourites_count)
        rest = (_micros(s.edited_at), s.url, s.spoiler_text or None, int(s.sensitive))
        return (*start, *said, *rest, msgspec.json.encode(links).decode() if links else None, *packed)

    def _save_users(self, users: Any, authors: Any, whole: Any, now: tuple[int, int]) -> dict[str, int]:
        """Writes profiles, and stubs for people only mentioned; answers numbers by id and by key."""
        db = self._db
        db.executemany(_SAVE_USER, list(users.values()))
        ids = {account.id: account.uri for account, _ in authors.values()}
        mentioned = {mention.id for _, status in whole for mention in status.mentions} - ids.keys()
        known = dict(db.execute(_USER_KEYS, (msgspec.json.encode(list(mentioned)).decode(),)).fetchall())
        stubs = {key: f"mastodon:bench/{key}" for key in mentioned - known.keys()}
        db.executemany(_STUB, [(stub, *now) for stub in stubs.values()])
        wanted = [*users, *stubs.values()]
        numbers = dict(db.execute(_USER_NUMBERS, (msgspec.json.encode(wanted).decode(),)).fetchall())
        fresh = {key: numbers[known_id] for key, known_id in (ids | stubs).items()}
        db.executemany(_KEY, list(fresh.items()))
        return numbers | known | fresh


def _text(markup: str) -> str:
    return html.unescape(_TAG.sub("", _BREAK.sub("\n", markup))).strip()


def _micros(text: str | None) -> int | None:
    if text is None:
        return None
    when = datetime.fromisoformat(text)
    return to_micros(when if when.tzinfo else when.replace(tzinfo=UTC))
