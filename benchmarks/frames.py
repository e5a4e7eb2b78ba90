"""Messages of the two Bluesky streams, made up once from one seed: the same events as JSON (Jetstream) and as CBOR (firehose).

The mix: 55 % posts (half of them replies, with facets, pictures, links and quotes), 15 % reposts, 20 % follows, 5 % deletions
of posts, reposts and follows, 5 % profiles, handles and accounts that go and come back. A few accounts are loud, most are heard
once or twice. A commit of the firehose carries its record, a commit block and the tree nodes a repository of some hundred
records would send along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from random import Random
from typing import Any

import libipld
import msgspec
from msgspec import Struct

from bowerbird.simulated.bluesky.car import cid_of_block, linked
from bowerbird.simulated.bluesky.ids import FOLLOW, POST, PROFILE, REPOSTED, spelled

_BEGAN = datetime(2026, 5, 25, 14, tzinfo=UTC)
_STEP = timedelta(microseconds=1_250)
_REMEMBERED = 1_000_000
"""Posts that others still refer to, at most."""
_WORDS = (
    *(
        "the",
        "a",
        "of",
        "to",
        "and",
        "in",
        "is",
        "it",
        "that",
        "was",
        "for",
        "on",
        "you",
        "with",
        "as",
        "this",
        "are",
        "be",
        "not",
    ),
    *("música", "weather", "böse", "coffee", "東京", "train", "election", "kitten", "tomorrow", "🌧️", "😀", "überhaupt", "maybe"),
    *("yesterday", "someone", "listening", "garden", "library", "thinking", "windows", "mountains", "because", "afternoon"),
)
_TAGS = ("art", "photography", "bluesky", "caturday", "news", "football", "climate", "books", "music", "gaming")
_LANGUAGES = ("en", "en", "en", "ja", "pt", "de", "es", "fr")


class Event(Struct, frozen=True):
    """One thing that happened, before it is a message."""

    did: str
    at: datetime
    seq: int
    operation: str = ""
    """Of a record: `create`, `update` or `delete`; empty for what happened to the account itself."""
    path: str = ""
    record: dict[str, Any] | None = None
    handle: str | None = None
    status: str | None = None


def jetstream(event: Event) -> bytes:
    """The event as one message of Jetstream's first wire."""
    head: dict[str, Any] = {"did": event.did, "time_us": round(event.at.timestamp() * 1_000_000)}
    if not event.operation:
        named = {"did": event.did, "seq": event.seq, "time": _stamp(event.at)}
        if event.handle:
            return msgspec.json.encode(head | {"kind": "identity", "identity": named | {"handle": event.handle}})
        return msgspec.json.encode(head | {"kind": "account", "account": named | _standing(event)})
    collection, _, rkey = event.path.partition("/")
    commit: dict[str, Any] = {"rev": _tid(event.at, 1), "operation": event.operation, "collection": collection, "rkey": rkey}
    if event.record is not None:
        commit |= {"record": event.record, "cid": libipld.encode_cid(cid_of_block(_block(event.record)))}
    return msgspec.json.encode(head | {"kind": "commit", "commit": commit})


def firehose(event: Event) -> bytes:
    """The event as one message of `subscribeRepos`."""
    payload: dict[str, Any] = {"seq": event.seq, "time": _stamp(event.at)}
    if not event.operation:
        kind = "#identity" if event.handle else "#account"
        payload |= {"did": event.did} | ({"handle": event.handle} if event.handle else _standing(event))
    else:
        kind = "#commit"
        payload |= _commit(event)
    return libipld.encode_dag_cbor({"op": 1, "t": kind}) + libipld.encode_dag_cbor(payload)


MESSAGES: dict[str, Callable[[Event], bytes]] = {"jetstream": jetstream, "firehose": firehose}


def _standing(event: Event) -> dict[str, Any]:
    return {"active": False, "status": event.status} if event.status else {"active": True}


def _commit(event: Event) -> dict[str, Any]:
    rev = _tid(event.at, 1)
    record = None if event.record is None else _block(event.record)
    cid = None if record is None else cid_of_block(record)
    nodes = [_node(event, number) for number in range(3)]
    top = libipld.encode_dag_cbor(
        {"did": event.did, "version": 3, "data": cid_of_block(nodes[0]), "rev": rev, "prev": None, "sig": bytes(64)}
    )
    root = cid_of_block(top)
    return {
        "repo": event.did,
        "rev": rev,
        "since": _tid(event.at - _STEP, 1),
        "commit": root,
        "tooBig": False,
        "rebase": False,
        "blocks": _archive(root, [top, *nodes, *([record] if record is not None else [])]),
        "ops": [{"action": event.operation, "path": event.path, "cid": cid}],
        "blobs": [],
    }


def _node(event: Event, number: int) -> bytes:
    chance = Random(event.seq * 8 + number)
    entries = [
        {"p": 20, "k": spelled(chance.getrandbits(55), 11).encode(), "v": _link(chance), "t": _link(chance)}
        for _ in range(chance.randint(2, 10))
    ]
    return libipld.encode_dag_cbor({"l": _link(chance), "e": entries})


def _link(chance: Random) -> bytes:
    return b"\x01\x71\x12\x20" + chance.randbytes(32)


def _archive(root: bytes, blocks: list[bytes]) -> bytes:
    header = libipld.encode_dag_cbor({"roots": [root], "version": 1})
    return b"".join(_varint(len(part)) + part for part in (header, *(cid_of_block(block) + block for block in blocks)))


def _varint(number: int) -> bytes:
    digits = b""
    while number > 127:
        digits += bytes([number & 127 | 128])
        number >>= 7
    return digits + bytes([number])


def _block(record: dict[str, Any]) -> bytes:
    return libipld.encode_dag_cbor(linked(record))


def _stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


def _tid(at: datetime, clock: int) -> str:
    return spelled(round(at.timestamp() * 1_000_000) << 10 | clock)


def events(count: int) -> list[Event]:
    return list(islice(Network(count), count))


class Network:
    """A small loud world, as large as so many events need: who does what next, without end."""

    def __init__(self, count: int, seed: int = 3) -> None:
        self._chance = chance = Random(seed)
        self._accounts = [f"did:plc:{spelled(chance.getrandbits(118), 24)}" for _ in range(max(count // 3, 10))]
        self._seq = 30_340_000_000
        self._at = _BEGAN
        self._posts: list[tuple[str, str]] = []
        self._records: list[tuple[str, str]] = []
        self._away: list[str] = []

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        self._seq += self._chance.randint(1, 3)
        self._at += _STEP * self._chance.uniform(0.2, 1.8)
        what = self._chance.random()
        if what < 0.55:
            return self._write(POST, self._post())
        if what < 0.70:
            return self._write(REPOSTED, {"$type": REPOSTED, "createdAt": self._now(), "subject": self._subject()})
        if what < 0.90:
            return self._write(FOLLOW, {"$type": FOLLOW, "createdAt": self._now(), "subject": self._somebody()})
        return self._delete() if what < 0.95 else self._personal()

    def _write(self, collection: str, record: dict[str, Any]) -> Event:
        did, rkey = self._somebody(), _tid(self._at, self._chance.randrange(1024))
        written = self._posts if collection == POST else self._records
        written.append((did, f"{collection}/{rkey}"))
        if len(written) > _REMEMBERED:
            del written[: _REMEMBERED // 2]
        return self._event(did, "create", f"{collection}/{rkey}", record)

    def _event(self, did: str, operation: str, path: str, record: dict[str, Any] | None = None) -> Event:
        return Event(did, self._at, self._seq, operation, path, record)

    def _delete(self) -> Event:
        """Of something heard before or, as often on a real stream, of something older than all we heard."""
        written = self._posts if self._chance.random() < 0.4 else self._records
        if written and self._chance.random() < 0.6:
            return self._event(*self._taken(written))
        collection = self._chance.choice((POST, REPOSTED, FOLLOW))
        return self._event(self._somebody(), "delete", f"{collection}/{_tid(_BEGAN - _STEP * self._seq, 5)}")

    def _taken(self, written: list[tuple[str, str]]) -> tuple[str, str, str]:
        at = self._chance.randrange(len(written))
        written[at], written[-1] = written[-1], written[at]
        did, path = written.pop()
        return did, "delete", path

    def _personal(self) -> Event:
        did, what = self._somebody(), self._chance.random()
        if what < 0.6:
            about = {
                "displayName": self._text(3),
                "description": self._text(20),
                "createdAt": _stamp(_BEGAN),
                "avatar": self._file(),
            }
            return self._event(did, "update", f"{PROFILE}/self", {"$type": PROFILE} | about)
        if what < 0.9:
            return Event(did, self._at, self._seq, handle=f"{did[-8:]}.bsky.social")
        if self._away and what < 0.94:
            return Event(self._away.pop(), self._at, self._seq)
        self._away.append(did)
        return Event(did, self._at, self._seq, status="deactivated")

    def _post(self) -> dict[str, Any]:
        chance = self._chance
        record: dict[str, Any] = {"$type": POST, "createdAt": self._now(), "langs": [chance.choice(_LANGUAGES)]}
        record["text"], facets = self._rich_text()
        if facets:
            record["facets"] = facets
        if chance.random() < 0.5:
            record["reply"] = {"root": self._subject(), "parent": self._subject()}
        embed = self._embed()
        return record | {"embed": embed} if embed else record

    def _rich_text(self) -> tuple[str, list[dict[str, Any]]]:
        text, facets = self._text(self._chance.randint(2, 40)), []
        if self._chance.random() < 0.15:
            tag = self._chance.choice(_TAGS)
            text, facet = _with_facet(text, f"#{tag}", {"$type": "app.bsky.richtext.facet#tag", "tag": tag})
            facets.append(facet)
        if self._chance.random() < 0.1:
            did = self._somebody()
            text, facet = _with_facet(text, f"@{did[-8:]}", {"$type": "app.bsky.richtext.facet#mention", "did": did})
            facets.append(facet)
        return text, facets

    def _embed(self) -> dict[str, Any] | None:
        what = self._chance.random()
        if what < 0.15:
            return {"$type": "app.bsky.embed.images", "images": [{"alt": self._text(6), "image": self._file()}]}
        if what < 0.30:
            link = {"uri": f"https://news.example/{self._seq}", "title": self._text(6), "description": self._text(12)}
            return {"$type": "app.bsky.embed.external", "external": link}
        return {"$type": "app.bsky.embed.record", "record": self._subject()} if what < 0.36 else None

    def _file(self) -> dict[str, Any]:
        cid = libipld.encode_cid(b"\x01\x55\x12\x20" + self._chance.randbytes(32))
        return {"$type": "blob", "ref": {"$link": cid}, "mimeType": "image/jpeg", "size": self._chance.randint(9_000, 900_000)}

    def _subject(self) -> dict[str, str]:
        """A post by name: one of this stream, or one written before it began."""
        if self._posts and self._chance.random() < 0.5:
            did, path = self._posts[-1 - int(self._chance.random() ** 2 * len(self._posts))]
        else:
            did, path = self._somebody(), f"{POST}/{_tid(_BEGAN - _STEP * self._chance.randrange(10**6), 7)}"
        return {"cid": libipld.encode_cid(_link(self._chance)), "uri": f"at://{did}/{path}"}

    def _somebody(self) -> str:
        return self._accounts[int(self._chance.random() ** 2.5 * len(self._accounts))]

    def _text(self, words: int) -> str:
        return " ".join(self._chance.choices(_WORDS, k=words))

    def _now(self) -> str:
        return _stamp(self._at - timedelta(milliseconds=self._chance.randint(50, 900)))


def _with_facet(text: str, word: str, feature: dict[str, str]) -> tuple[str, dict[str, Any]]:
    begin = len(text.encode()) + 1
    return f"{text} {word}", {"index": {"byteStart": begin, "byteEnd": begin + len(word.encode())}, "features": [feature]}
