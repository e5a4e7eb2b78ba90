"""Records of the simulated network, as their authors' repositories hold them."""

from __future__ import annotations

from typing import Any

import libipld
from msgspec import Raw, Struct

from bowerbird.simulated.bluesky.car import cid_of_block, linked
from bowerbird.simulated.bluesky.ids import FOLLOW, LIKED, POST, PROFILE, REPOSTED, Ids, cid_of, tid
from bowerbird.simulated.wire import encode
from bowerbird.simulated.world import Availability, World
from bowerbird.simulated.world.hashing import mix
from bowerbird.simulated.world.posts.content import Content
from bowerbird.simulated.world.posts.rows import QUOTE, REPLY, Row, author_of, ms_of
from bowerbird.simulated.world.settings import DAY, from_ms

_LONGEST_CHAIN = 60
_SIZE = 100_000
_KEPT = 50_000


def stamp(ms: int) -> str:
    return from_ms(ms).isoformat(timespec="milliseconds")[:23] + "Z"


class Written(Struct, frozen=True, gc=False):
    """A record as JSON, as the block a repository keeps, and with the CID that names it everywhere."""

    json: Raw
    block: bytes
    cid: str


def written(record: dict[str, Any]) -> Written:
    block = libipld.encode_dag_cbor(linked(record))
    return Written(Raw(encode(record)), block, libipld.encode_cid(cid_of_block(block)))


class Records:
    """Writes the record of anything an account did."""

    def __init__(self, world: World, ids: Ids) -> None:
        self.world = world
        self.ids = ids
        self._kept: dict[int, Written] = {}

    def written(self, row: Row) -> Written:
        """A post's record, which never changes."""
        kept = self._kept.get(row.number)
        if kept is None:
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            kept = self._kept[row.number] = written(self.post(row))
        return kept

    def post(self, row: Row) -> dict[str, Any]:
        content = self.world.contents.of(row)
        text, facets = self._text(row, content)
        record: dict[str, Any] = {"$type": POST, "text": text, "createdAt": stamp(claimed_ms(row))}
        if content.language:
            record["langs"] = [content.language]
        if facets:
            record["facets"] = facets
        if row.kind == REPLY:
            record["reply"] = {"root": self.strong(self.root(row)), "parent": self.strong(row.target)}
        embed = self._embed(row, content)
        if embed is not None:
            record["embed"] = embed
        if content.is_sensitive:
            record["labels"] = {"$type": "com.atproto.label.defs#selfLabels", "values": [{"val": "graphic-media"}]}
        return record

    def profile(self, account: int, now: int) -> dict[str, Any]:
        profile = self.world.profiles.at(account, now)
        record: dict[str, Any] = {"$type": PROFILE, "displayName": profile.name, "description": profile.bio_with_place}
        record["createdAt"] = stamp(int(self.world.people.created[account]))
        values = [{"val": value} for value in self.self_labels(account, now)]
        if values:
            record["labels"] = {"$type": "com.atproto.label.defs#selfLabels", "values": values}
        return record

    def self_labels(self, account: int, now: int) -> list[str]:
        """Accounts that another network would protect, or that do not want to be indexed, ask not to be shown to strangers."""
        people = self.world.people
        is_shy = self.world.availability(account, now) is Availability.PROTECTED or bool(people.is_noindex[account])
        return ["!no-unauthenticated"] * is_shy + ["bot"] * bool(people.is_bot[account])

    def repost(self, target: int, ms: int) -> dict[str, Any]:
        return {"$type": REPOSTED, "subject": self.strong(target), "createdAt": stamp(ms)}

    def like(self, target: int, ms: int) -> dict[str, Any]:
        return {"$type": LIKED, "subject": self.strong(target), "createdAt": stamp(ms)}

    def follow(self, other: int, ms: int) -> dict[str, Any]:
        return {"$type": FOLLOW, "subject": self.ids.did(other), "createdAt": stamp(ms)}

    def strong(self, number: int) -> dict[str, str]:
        uri = self.ids.uri(author_of(number), POST, self.ids.rkey(number))
        row = self.world.row(number, ms_of(number))
        return {"uri": uri, "cid": self.written(row).cid if row is not None else cid_of(uri)}

    def root(self, row: Row) -> int:
        """Number of the post that opened the conversation, deleted or not."""
        number = row.target
        for _ in range(_LONGEST_CHAIN):
            above = self.world.row(number, row.ms)
            if above is None or above.kind != REPLY:
                break
            number = above.target
        return number

    def _text(self, row: Row, content: Content) -> tuple[str, list[dict[str, Any]]]:
        """Text and facets, which count bytes of UTF-8."""
        text, facets = "", []
        for account in content.mentions:
            name = f"@{self.ids.handle(account, row.ms)}"
            facets.append(_facet(text, name, {"$type": "app.bsky.richtext.facet#mention", "did": self.ids.did(account)}))
            text += f"{name} "
        text += content.words
        for tag in content.tags:
            facets.append(_facet(f"{text} ", f"#{tag}", {"$type": "app.bsky.richtext.facet#tag", "tag": tag}))
            text += f" #{tag}"
        if content.link:
            shown = content.link.removeprefix("https://")
            facets.append(_facet(f"{text} ", shown, {"$type": "app.bsky.richtext.facet#link", "uri": content.link}))
            text += f" {shown}"
        return text, facets

    def _embed(self, row: Row, content: Content) -> dict[str, Any] | None:
        images = {"$type": "app.bsky.embed.images", "images": [self._image(row, nth) for nth in range(content.pictures)]}
        if row.kind == QUOTE:
            quoted = {"$type": "app.bsky.embed.record", "record": self.strong(row.target)}
            mixed = {"$type": "app.bsky.embed.recordWithMedia", "record": quoted, "media": images}
            return mixed if content.pictures else quoted
        if content.pictures:
            return images
        if content.link:
            external = {"uri": content.link, "title": "News", "description": ""}
            return {"$type": "app.bsky.embed.external", "external": external}
        return None

    def _image(self, row: Row, nth: int) -> dict[str, Any]:
        return {
            "alt": "a picture",
            "image": {"$type": "blob", "ref": {"$link": picture(row, nth)}, "mimeType": "image/jpeg", "size": _SIZE},
        }


def like_key(target: int, ms: int) -> str:
    return tid(ms, mix(target, 73) % 1_000_000)


def follow_key(rank: int, ms: int) -> str:
    return tid(ms, rank % 1_000_000)


def picture(row: Row, nth: int) -> str:
    """The CID of a post's nth picture."""
    return cid_of(f"{row.number}/{nth}", is_file=True)


def claimed_ms(row: Row) -> int:
    """When the author's software says it was written: one in four hundred has a clock that is a year ahead."""
    return row.ms + 400 * DAY if mix(row.number, 71) % 400 == 0 else row.ms


def indexed_ms(number: int, ms: int) -> int:
    """When the service first saw it."""
    return ms + 50 + mix(number, 72) % 900


def _facet(before: str, part: str, feature: dict[str, str]) -> dict[str, Any]:
    start = len(before.encode())
    return {"index": {"byteStart": start, "byteEnd": start + len(part.encode())}, "features": [feature]}
