"""Payloads of the posts of one page, compressed together: a third of the time and half the size of each alone.

A frame is a msgpack list of payloads in zstd. A post names its frame and its place there, which never changes. A frame holds
only what posts still name: a payload that is deleted or replaced leaves the frame in the same transaction, because the frame is
written anew without it. What the columns of a post say too is not in its payload there (`repeated.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec
import zstandard
from msgspec import Struct

from bowerbird.model import Subject
from bowerbird.ports import Database, Row, Transaction
from bowerbird.store.context import SaveContext
from bowerbird.store.payloads.raw import Packer
from bowerbird.store.payloads.repeated import BEGIN, Repeated, all_without_repeated, columns_of, with_repeated

Slot = tuple[int, int]
"""A frame's number and the place of one payload in it."""
COLUMNS = ("raw", "raw_dictionary", "frame", "frame_place")
Placed = tuple[bytes | None, int | None, int | None, int | None]
"""What these columns say of one post."""

FEWEST = 8
"""Fewer payloads are smaller each alone, with a dictionary."""
MOST = 64
"""More save little, and each of them that is deleted would have more others written anew."""
LONGEST = 64 * 1024
"""Bytes of a payload; a longer one stands alone."""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[bytes]).decode
_LEVEL = 1
"""Of so many together higher levels save one per cent, for a third more time."""
_LARGEST = MOST * (LONGEST + 16)
_ADD = "insert into frames (body) values (?) returning frame"
_ADD_NUMBERED = "insert into frames (frame, body) values (?, ?)"
_WRITE = "update frames set body = ? where frame = ?"


class Frames:
    """Writes and reads frames, in one database's words."""

    def __init__(self, database: Database) -> None:
        bigint = database.any("bigint")
        self._database = database
        self._packer = zstandard.ZstdCompressor(level=_LEVEL)
        self._unpacker = zstandard.ZstdDecompressor()
        self._bodies = f"select frame, body from frames where frame {bigint}"
        # Two workers may take different payloads out of one frame: each must see what the other left.
        self._held = self._bodies + (" order by frame for update" if database.dialect == "postgresql" else "")
        self._delete = f"delete from frames where frame {bigint}"
        self._unname = f"update posts set frame = null, frame_place = null where post_no {bigint}"

    async def add(self, s: SaveContext, payloads: Sequence[bytes]) -> list[Slot]:
        """Keeps payloads in new frames; answers where each is."""
        parts = [payloads[at : at + MOST] for at in range(0, len(payloads), MOST)]
        frames = await self._added(s, [self._packed(together) for together in parts]) if parts else ()
        return [(frame, place) for frame, part in zip(frames, parts, strict=True) for place in range(len(part))]

    async def _added(self, s: SaveContext, bodies: Sequence[bytes]) -> Sequence[int]:
        if len(s.reserved.frames) >= len(bodies):
            numbers = [s.reserved.frames.pop(0) for _ in bodies]
            await s.tx.execute_all([(_ADD_NUMBERED, list(zip(numbers, bodies, strict=True)))])
            return numbers
        # Numbers follow the order in which frames are added.
        return sorted(int(row["frame"]) for row in await s.tx.fetch_many(_ADD, [(body,) for body in bodies]))

    async def change(self, s: SaveContext, payloads: Mapping[Slot, bytes]) -> None:
        """Puts other payloads in the places of some, nothing where they are empty; a frame without any is deleted."""
        changed: dict[int, dict[int, bytes]] = {}
        for (frame, place), payload in payloads.items():
            changed.setdefault(frame, {})[place] = payload
        written, emptied = [], []
        for row in await s.fetch_in(self._held, sorted(changed)):
            held = self.unpacked(row["body"])
            for place, payload in changed[row["frame"]].items():
                held[place] = payload
            if any(held):
                written.append((self._packed(held), row["frame"]))
            else:
                emptied.append(row["frame"])
        await s.execute_many(_WRITE, written)
        await s.execute_in(self._delete, emptied)

    async def drop(self, s: SaveContext, posts: Iterable[Row]) -> None:
        """Takes the payloads of some posts out of their frames. The rows are those of `update … returning`: whoever may give a
        post another frame meanwhile waits for us."""
        framed = [row for row in posts if row["frame"] is not None]
        await s.execute_in(self._unname, sorted({row["post_no"] for row in framed}))
        await self.change(s, {(row["frame"], row["frame_place"]): b"" for row in framed})

    async def payloads(self, tx: Transaction, posts: Sequence[Row]) -> dict[Slot, bytes]:
        """The payloads that some posts name, by where they are; the rows have the columns that payloads repeat."""
        naming = [row for row in posts if row["frame"] is not None]
        frames = self._database.members(sorted({row["frame"] for row in naming}))
        found = await tx.fetch(self._bodies, frames) if naming else ()
        kept = {row["frame"]: self.unpacked(row["body"]) for row in found}
        slots = {(row["frame"], row["frame_place"]): columns_of(row) for row in naming}
        read = {slot: with_repeated(kept[slot[0]][slot[1]], columns) for slot, columns in slots.items() if slot[0] in kept}
        return {slot: payload for slot, payload in read.items() if payload}

    def unpacked(self, body: bytes) -> list[bytes]:
        """All payloads of a frame in their places; empty where one was taken out."""
        return _decode(self._unpacker.decompress(bytes(body), max_output_size=_LARGEST))

    def _packed(self, payloads: Sequence[bytes]) -> bytes:
        return self._packer.compress(_encode(payloads))


class Incoming(Struct, frozen=True, gc=False):
    """The payload of one post, with the columns that it may repeat, and where a known post has its payload."""

    payload: bytes
    columns: Repeated
    slot: Slot | None = None


async def place_payloads(s: SaveContext, frames: Frames, packer: Packer, payloads: Mapping[str, Incoming]) -> dict[str, Placed]:
    """Keeps payloads by their posts' ids. A newer payload takes the place of the older one in its frame."""
    placed: dict[str, Placed] = {}
    changed: dict[Slot, bytes] = {}
    renewed: dict[Slot, Incoming] = {}
    loose: dict[str, Incoming] = {}
    for known, each in payloads.items():
        if each.slot is not None and _is_framed(each.payload):
            renewed[each.slot] = each
            placed[known] = (None, None, *each.slot)
        else:
            loose[known] = each
            changed |= {} if each.slot is None else {each.slot: b""}
    placed |= zip(loose, await place_new(s, frames, packer, *_split(loose.values())), strict=True)
    changed |= zip(renewed, all_without_repeated(*_split(renewed.values())), strict=True)
    await frames.change(s, changed)
    return placed


def _split(incoming: Collection[Incoming]) -> tuple[list[bytes], list[Repeated]]:
    return [each.payload for each in incoming], [each.columns for each in incoming]


async def place_new(
    s: SaveContext, frames: Frames, packer: Packer, payloads: Sequence[bytes], columns: Sequence[Repeated]
) -> list[Placed]:
    """Keeps payloads that have no place yet, with the columns that they may repeat; answers for each of them where it is, and for
    an empty one nothing."""
    together = [at for at, payload in enumerate(payloads) if payload and _is_framed(payload)]
    if len(together) < FEWEST:
        together = []
    kept = all_without_repeated([payloads[at] for at in together], [columns[at] for at in together])
    slots = dict(zip(together, await frames.add(s, kept), strict=True))
    kind = (s.origin.network, Subject.POST)
    return [
        (None, None, *slots[at]) if at in slots else (*packer.pack(kind, payload), None, None)
        for at, payload in enumerate(payloads)
    ]


def _is_framed(payload: bytes) -> bool:
    """Whether a payload may stand in a frame with others."""
    return len(payload) <= LONGEST and not payload.startswith(BEGIN)
