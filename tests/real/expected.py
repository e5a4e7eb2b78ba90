"""What the store must hold for a record, worked out from the record alone and without bowerbird's own parsers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from written import POST, REPOST, Record

Shape = dict[str, Any]

_ADULT = {"porn", "graphic-media"}
BARE = ("text", "language", "reply_to", "repost_of", "quote_of", "links", "tags", "mentions", "media", "is_sensitive")
"""What is not kept of a post whose author wants no strangers."""


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def expected_post(written: Record) -> Shape:
    record = written.record
    if written.collection == REPOST:
        return _shape(written, "repost", repost_of=record["subject"]["uri"], created_at=moment(record["createdAt"]))
    reply, quote = record.get("reply"), _quoted(record)
    return _shape(
        written,
        "reply" if reply else "quote" if quote else "post",
        created_at=moment(record["createdAt"]),
        text=record["text"],
        language=(record.get("langs") or [None])[0],
        reply_to=reply["parent"]["uri"] if reply else None,
        quote_of=quote,
        links=_links(record),
        tags=sorted({tag.casefold() for tag in (*_features(record, "tag"), *record.get("tags", ()))}),
        mentions=sorted(set(_features(record, "did"))),
        media=_media(record),
        is_sensitive=any(label["val"] in _ADULT for label in record.get("labels", {}).get("values", ())),
    )


def bare(post: Shape) -> Shape:
    """The same post without what its author wants kept out."""
    return post | dict.fromkeys(BARE) | {"tags": [], "mentions": [], "media": []}


def _shape(written: Record, kind: str, **known: Any) -> Shape:
    empty: Shape = dict.fromkeys(BARE) | {"tags": [], "mentions": [], "media": []}
    return empty | {"author": written.author, "kind": kind} | known


def _features(record: Shape, name: str) -> list[str]:
    return [each[name] for facet in record.get("facets", ()) for each in facet["features"] if name in each]


def _links(record: Shape) -> list[str] | None:
    external = record.get("embed", {}).get("external")
    links = [*_features(record, "uri"), *([external["uri"]] if external else [])]
    return list(dict.fromkeys(links)) or None


def _quoted(record: Shape) -> str | None:
    inner = record.get("embed", {}).get("record")
    if inner is None:
        return None
    uri: str = inner["uri"] if "uri" in inner else inner["record"]["uri"]
    return uri if f"/{POST}/" in uri else None


def _media(record: Shape) -> list[tuple[str, str, str | None]]:
    embed = record.get("embed", {})
    holder = embed.get("media", embed)
    found = [(each["image"]["ref"]["$link"], "image", each["alt"] or None) for each in holder.get("images", ())]
    if "video" in holder:
        found.append((holder["video"]["ref"]["$link"], "video", holder.get("alt") or None))
    return sorted(found, key=str)
