"""The bare reader: what a careful programmer writes by hand with the same libraries for one Bluesky stream.

It receives with aiohttp, decodes with msgspec (Jetstream) or libipld (firehose), and upserts the same columns and tables of the
same schema with `executemany`, a thousand messages and their cursor in one commit; posts have a unique index on their ids. Raw
records are kept as JSON, compressed with a dictionary learned from the first thousand. It notes deletions, ends of follows and
accounts that go, but has no history, no tombstones that hold against a repeated post, no purge of copies, no quarantine, no fence
and no reconnection, and a message that is not what it expects ends it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import aiohttp
import libipld
import msgspec
from msgspec import Raw, Struct, field

from benchmarks.bare import Packer
from bowerbird.clock import RealClock, to_micros
from bowerbird.db.sqlite.library import sqlite_module
from bowerbird.db.sqlite.short_columns import written

_BATCH = 1_000
_POST, _REPOST = "app.bsky.feed.post", "app.bsky.feed.repost"
_FOLLOW, _PROFILE = "app.bsky.graph.follow", "app.bsky.actor.profile"


class Link(Struct):
    cid: str = field(name="$link")


class Blob(Struct):
    ref: Link | bytes


class Image(Struct):
    image: Blob
    alt: str = ""


class Reference(Struct):
    uri: str


class External(Struct):
    uri: str


class Embed(Struct):
    images: list[Image] | None = None
    external: External | None = None
    record: Reference | None = None


class Feature(Struct):
    did: str | None = None
    uri: str | None = None
    tag: str | None = None


class Facet(Struct):
    features: list[Feature]


class Reply(Struct):
    root: Reference
    parent: Reference


class Post(Struct, rename="camel"):
    text: str
    created_at: str
    langs: list[str] | None = None
    facets: list[Facet] | None = None
    reply: Reply | None = None
    embed: Embed | None = None


class Repost(Struct, rename="camel"):
    subject: Reference
    created_at: str


class Follow(Struct):
    subject: str


class Profile(Struct, rename="camel"):
    display_name: str | None = None
    description: str | None = None


class Commit(Struct):
    operation: str
    collection: str
    rkey: str
    record: Raw = Raw(b"")


class Identity(Struct):
    handle: str


class Account(Struct):
    active: bool
    status: str | None = None


class Event(Struct):
    did: str
    time_us: int
    commit: Commit | None = None
    identity: Identity | None = None
    account: Account | None = None


_SHAPES: dict[str, type[Struct]] = {_POST: Post, _REPOST: Repost, _FOLLOW: Follow, _PROFILE: Profile}
_event = msgspec.json.Decoder(Event)
_records = {collection: msgspec.json.Decoder(shape) for collection, shape in _SHAPES.items()}

_POST_COLUMNS = (
    *("id", "network", "author", "kind", "created_at", "listed_at", "text", "language", "reply_to", "repost_of", "quote_of"),
    *("root", "url", "is_sensitive", "links", "found_at", "found_by", "seen_at", "seen_by", "raw", "raw_dictionary"),
)
_KEPT = {"id", "network", "author", "found_at", "found_by"}
# Ids are written whole, as anybody would.
_CHANGED = [written("sqlite", name) for name in _POST_COLUMNS if name not in _KEPT]
_SAVE_POST = (
    f"insert into posts ({', '.join(written('sqlite', name) for name in _POST_COLUMNS)}) "
    f"values ({', '.join('?' for _ in _POST_COLUMNS)}) on conflict (short_id) "
    f"do update set {', '.join(f'{name} = excluded.{name}' for name in _CHANGED)}"
)
_STUB = "insert into users (id, network, found_at, found_by) values (?, 'bluesky', ?, 1) on conflict (id) do nothing"
_NUMBERS = "select id, user_no from users where id in (select value from json_each(?))"
_POST_NUMBERS = "select short_id, post_no from posts where short_id in (select value from json_each(?))"
_SAVE_PROFILE = (
    "update users set name = ?, description = ?, seen_at = ?, seen_by = 1, raw = ?, raw_dictionary = ? where user_no = ?"
)
_SAVE_HANDLE = "update users set handle = ? where user_no = ?"
_TAG = "insert into post_tags (tag, post_no) values (?, ?) on conflict do nothing"
_MENTION = "insert into post_mentions (post_no, user_no) values (?, ?) on conflict do nothing"
_MEDIA = (
    "insert into media (id, post_no, place, kind, short_url, description) values (?, ?, ?, 'image', ?, ?) on conflict do nothing"
)
_RELATION = """
insert into relations (kind, source, target, found_at, found_by, seen_at, record) values ('follow', ?, ?, ?, 1, ?, ?)
on conflict (kind, source, target) do update set seen_at = excluded.seen_at, record = excluded.record, removed_at = null
"""
_UNFOLLOW = "update relations set removed_at = ? where source = ? and record = ?"
_BURY = "insert into deletions (subject, id, reason, at, call) values ('post', ?, 'not_found', ?, 1) on conflict do nothing"
_EMPTY = "update posts set deleted_at = ?, text = null, links = null, raw = null, raw_dictionary = null where short_id = ?"
_AWAY = "insert into unavailable (user_no, reason, since, call) values (?, ?, ?, 1)"
_BACK = "update unavailable set until = ? where user_no = ? and until is null"


class BareStream:
    """Reads one stream into one database."""

    def __init__(self, base: str, path: str, channel: str) -> None:
        place = "/subscribe" if channel == "jetstream" else "/xrpc/com.atproto.sync.subscribeRepos"
        self._url = base + place
        self._read: Callable[[bytes], Iterator[_Change]] = _jetstream if channel == "jetstream" else _firehose
        self._clock = RealClock()
        self._db = sqlite_module().connect(path, isolation_level=None, cached_statements=512)
        for pragma in ("journal_mode = wal", "synchronous = full", "cache_size = -65536", "wal_autocheckpoint = 4000"):
            self._db.execute(f"pragma {pragma}")
        # Its own, as anybody would make it; and what an upsert needs.
        self._db.execute("create unique index bare_posts_id on posts (short_id)")
        self._db.execute("drop index posts_id")
        self._db.execute("create table bare_cursor (stream integer primary key, position bigint not null)")
        self._posts, self._profiles = Packer(1), Packer(2)

    async def __aenter__(self) -> BareStream:
        self._session = aiohttp.ClientSession()
        self._socket = await self._session.ws_connect(self._url, decode_text=False, compress=0)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._socket.close()
        await self._session.close()
        self._db.close()

    async def run(self, count: int) -> None:
        """Saves so many messages."""
        batch: list[bytes] = []
        for left in range(count - 1, -1, -1):
            batch.append((await self._socket.receive()).data)
            if len(batch) == _BATCH or not left:
                self._save(batch)
                batch = []

    def _save(self, messages: list[bytes]) -> None:
        now = to_micros(self._clock.now())
        changes = [change for message in messages for change in self._read(message)]
        self._db.execute("begin immediate")
        people = self._save_people(changes, now)
        self._save_posts([change for change in changes if isinstance(change.record, Post | Repost)], people, now)
        self._save_profiles(changes, people, now)
        follows = [(people[c.did], people[c.record.subject], now, now, c.rkey) for c in changes if isinstance(c.record, Follow)]
        self._db.executemany(_RELATION, follows)
        self._save_ends([change for change in changes if change.is_deleted], people, now)
        self._db.execute("insert or replace into bare_cursor values (1, ?)", (changes[-1].position,))
        self._db.execute("commit")

    def _save_people(self, changes: list[_Change], now: int) -> dict[str, int]:
        """Stubs for everybody named; answers their numbers."""
        named = {change.did for change in changes} | {c.record.subject for c in changes if isinstance(c.record, Follow)}
        for change in changes:
            if isinstance(change.record, Post):
                named.update(_mentions(change.record))
        ids = sorted(named)
        self._db.executemany(_STUB, [(did, now) for did in ids])
        return dict(self._db.execute(_NUMBERS, (msgspec.json.encode(ids).decode(),)).fetchall())

    def _save_posts(self, changes: list[_Change], people: dict[str, int], now: int) -> None:
        db = self._db
        db.executemany(_SAVE_POST, [self._post_row(change, people[change.did], now) for change in changes])
        bearing = [(c, c.record) for c in changes if isinstance(c.record, Post) and (c.record.facets or c.record.embed)]
        ids = msgspec.json.encode([change.uri for change, _ in bearing]).decode()
        numbers = dict(db.execute(_POST_NUMBERS, (ids,)).fetchall())
        db.executemany(_TAG, [(tag, numbers[c.uri]) for c, post in bearing for tag in _tags(post)])
        db.executemany(_MENTION, [(numbers[c.uri], people[did]) for c, post in bearing for did in _mentions(post)])
        db.executemany(_MEDIA, [row for c, post in bearing for row in _media_rows(c, post, numbers[c.uri])])

    def _post_row(self, change: _Change, author: int, now: int) -> tuple[Any, ...]:
        record, packed = change.record, self._posts.pack(change.raw)
        seen = (now, 1, now, 1, packed, self._posts.number)
        created = _micros(record.created_at)
        if isinstance(record, Repost):
            empty = (None,) * 3
            return (
                *(change.uri, "bluesky", author, "repost", created, change.listed_at, *empty, record.subject.uri),
                *(*empty, None, None, *seen),
            )
        reply, embed = record.reply, record.embed
        quoted = embed.record.uri if embed and embed.record else None
        links = [embed.external.uri] if embed and embed.external else None
        return (
            *(change.uri, "bluesky", author, "reply" if reply else "quote" if quoted else "post", created, change.listed_at),
            *(record.text, record.langs[0] if record.langs else None, reply.parent.uri if reply else None, None, quoted),
            *(reply.root.uri if reply else None, f"https://bsky.app/profile/{change.did}/post/{change.rkey}", 0),
            *(msgspec.json.encode(links).decode() if links else None, *seen),
        )

    def _save_profiles(self, changes: list[_Change], people: dict[str, int], now: int) -> None:
        db, profiles = self._db, [(c, c.record) for c in changes if isinstance(c.record, Profile)]
        rows = [
            (p.display_name, p.description, now, self._profiles.pack(c.raw), self._profiles.number, people[c.did])
            for c, p in profiles
        ]
        db.executemany(_SAVE_PROFILE, rows)
        db.executemany(_SAVE_HANDLE, [(c.handle, people[c.did]) for c in changes if c.handle])
        db.executemany(_AWAY, [(people[c.did], c.status, now) for c in changes if c.status])
        db.executemany(_BACK, [(now, people[c.did]) for c in changes if c.is_back])

    def _save_ends(self, changes: list[_Change], people: dict[str, int], now: int) -> None:
        db = self._db
        db.executemany(_UNFOLLOW, [(now, people[c.did], c.rkey) for c in changes if c.collection == _FOLLOW])
        gone = [c.uri for c in changes if c.collection != _FOLLOW]
        db.executemany(_EMPTY, [(now, uri) for uri in gone])
        db.executemany(_BURY, [(uri, now) for uri in gone])


class _Change(Struct):
    """One change, whichever wire it came over."""

    did: str
    position: int
    listed_at: int
    collection: str = ""
    rkey: str = ""
    record: Any = None
    raw: bytes = b""
    is_deleted: bool = False
    handle: str = ""
    status: str | None = None
    is_back: bool = False

    @property
    def uri(self) -> str:
        return f"at://{self.did}/{self.collection}/{self.rkey}"


def _jetstream(message: bytes) -> Iterator[_Change]:
    event = _event.decode(message)
    change = _Change(event.did, event.time_us, event.time_us)
    if event.commit is not None:
        change.collection, change.rkey = event.commit.collection, event.commit.rkey
        if event.commit.operation == "delete":
            change.is_deleted = True
        else:
            change.raw = bytes(event.commit.record)
            change.record = _records[change.collection].decode(change.raw)
    elif event.identity is not None:
        change.handle = event.identity.handle
    elif event.account is not None:
        change.status, change.is_back = event.account.status, event.account.active
    yield change


def _firehose(message: bytes) -> Iterator[_Change]:
    header, body = libipld.decode_dag_cbor_multi(message)
    position, at = body["seq"], _micros(body["time"])
    if header["t"] == "#identity":
        yield _Change(body["did"], position, at, handle=body["handle"])
    elif header["t"] == "#account":
        yield _Change(body["did"], position, at, status=body.get("status"), is_back=body["active"])
    else:
        _, blocks = libipld.decode_car(body["blocks"])
        for op in body["ops"]:
            collection, _, rkey = op["path"].partition("/")
            change = _Change(body["repo"], position, at, collection, rkey)
            if op["action"] == "delete":
                change.is_deleted = True
            else:
                record = blocks[op["cid"]]
                # Links stay bytes here and become base64: good enough to look at.
                change.raw = msgspec.json.encode(record)
                change.record = msgspec.convert(record, _SHAPES[collection])
            yield change


def _tags(post: Post) -> list[str]:
    return [feature.tag for facet in post.facets or () for feature in facet.features if feature.tag]


def _mentions(post: Post) -> list[str]:
    return [feature.did for facet in post.facets or () for feature in facet.features if feature.did]


def _media_rows(change: _Change, post: Post, number: int) -> Iterator[tuple[Any, ...]]:
    for place, image in enumerate((post.embed.images if post.embed else None) or (), 1):
        ref = image.image.ref
        cid = libipld.encode_cid(ref) if isinstance(ref, bytes) else ref.cid
        yield (cid, number, place, f"https://cdn.bsky.app/img/feed_fullsize/plain/{change.did}/{cid}@jpeg", image.alt or None)


def _micros(text: str) -> int:
    return to_micros(datetime.fromisoformat(text))
