"""Payloads of Bluesky, written by hand after the documented samples."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from bowerbird.model import Answer, Ask, Page, Progress, Service
from bowerbird.providers import Bluesky

SERVICE = Service(name="b", provider="bluesky", base="https://b.example")
LATER = datetime(2026, 6, 1, tzinfo=UTC)
"""When the answers came: after all that is told in them."""
ALICE, BOB, CAROL = (f"did:plc:{name * 6}" for name in ("aaaa", "bbbb", "cccc"))

bluesky = Bluesky()


def read(facet: str, targets: tuple[str, ...] | str, answered: Answer, hints: dict[str, str] | None = None, **at: str) -> Page:
    asked = (targets,) if isinstance(targets, str) else targets
    answered = replace(answered, received_at=LATER)
    return bluesky.parse(Ask(facet, asked, Progress(**at), hints or {}), answered, SERVICE)


def post_uri(did: str = ALICE, rkey: str = "3mmoojp4cd223") -> str:
    return f"at://{did}/app.bsky.feed.post/{rkey}"


def ref(uri: str) -> dict[str, str]:
    return {"uri": uri, "cid": "bafyreicl7rzk"}


def actor(did: str = ALICE, **other: Any) -> dict[str, Any]:
    return {
        "did": did,
        "handle": f"{did[8:12]}.test",
        "displayName": f"Name of {did[8:12]}",
        "avatar": "https://cdn.example/a@jpeg",
        "labels": [],
        "createdAt": "2024-01-01T00:00:00Z",
        **other,
    }


def detailed(did: str = ALICE, **other: Any) -> dict[str, Any]:
    counts = {"followersCount": 1204, "followsCount": 14, "postsCount": 411}
    return actor(did, **{"description": "Social networking", "indexedAt": "2024-01-20T05:33:33.007Z", **counts, **other})


def record(**other: Any) -> dict[str, Any]:
    return {
        "$type": "app.bsky.feed.post",
        "text": "Olá @bbbb.test #Python e.example",
        "createdAt": "2026-05-25T14:23:28.757Z",
        "langs": ["pt", "en"],
        "facets": [
            {"index": {"byteStart": 5, "byteEnd": 15}, "features": [{"$type": "app.bsky.richtext.facet#mention", "did": BOB}]},
            {"index": {"byteStart": 16, "byteEnd": 23}, "features": [{"$type": "app.bsky.richtext.facet#tag", "tag": "Python"}]},
            {
                "index": {"byteStart": 24, "byteEnd": 33},
                "features": [{"$type": "app.bsky.richtext.facet#link", "uri": "https://e.example"}, {"$type": "x.y.z#new"}],
            },
        ],
        "tags": ["research"],
        **other,
    }


def view(uri: str = post_uri(), **other: Any) -> dict[str, Any]:
    return {
        "uri": uri,
        "cid": "bafyreicl7rzk",
        "author": actor(uri.split("/")[2]),
        "record": record(),
        "replyCount": 1,
        "repostCount": 2,
        "likeCount": 5,
        "quoteCount": 0,
        "indexedAt": "2026-05-25T14:23:29.132Z",
        "labels": [],
        **other,
    }


def quoted(uri: str) -> dict[str, Any]:
    """What a post shows of the post it quotes."""
    shown = {name: value for name, value in view(uri).items() if name != "record"}
    return {
        "$type": "app.bsky.embed.record#viewRecord",
        **shown,
        "value": record(text="quoted", facets=[], tags=[]),
        "embeds": [],
    }


def bluesky_list(owner: str = BOB, **other: Any) -> dict[str, Any]:
    return {
        "uri": f"at://{owner}/app.bsky.graph.list/3mmlist222222",
        "cid": "bafyreicl7rzk",
        "creator": actor(owner),
        "name": "Birds",
        "purpose": "app.bsky.graph.defs#curatelist",
        "description": "who sings",
        "listItemCount": 7,
        "indexedAt": "2026-05-25T14:24:00.000Z",
        **other,
    }


def repost(uri: str | None = f"at://{BOB}/app.bsky.feed.repost/3mmookaaaaa23") -> dict[str, Any]:
    reason = {"$type": "app.bsky.feed.defs#reasonRepost", "by": actor(BOB), "indexedAt": "2026-05-25T14:24:00.000Z"}
    return {**reason, "uri": uri} if uri else reason
