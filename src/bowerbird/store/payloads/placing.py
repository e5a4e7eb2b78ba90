"""Where the payloads of one page's posts are kept: many together in frames, a few or very long ones alone."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from bowerbird.model import Subject
from bowerbird.store.context import SaveContext
from bowerbird.store.payloads.frames import FEWEST, LONGEST, Frames, Slot
from bowerbird.store.payloads.raw import Packer
from bowerbird.store.payloads.repeated import BEGIN, Repeated, all_without_repeated, without_repeated

COLUMNS = ("raw", "raw_dictionary", "frame", "frame_place")
Placed = tuple[bytes | None, int | None, int | None, int | None]
"""What these columns say of one post."""
NOTHING: Placed = (None, None, None, None)


class Incoming(Struct, frozen=True, gc=False):
    """The payload of one post, with the columns that it may repeat, and where a known post has its payload."""

    payload: bytes
    columns: Repeated
    slot: Slot | None = None

    @property
    def stands_alone(self) -> bool:
        return len(self.payload) > LONGEST or self.payload.startswith(BEGIN)


async def place_payloads(s: SaveContext, frames: Frames, packer: Packer, payloads: Mapping[str, Incoming]) -> dict[str, Placed]:
    """Keeps payloads by their posts' ids. A newer payload takes the place of the older one in its frame."""
    placed: dict[str, Placed] = {}
    changed: dict[Slot, bytes] = {each.slot: b"" for each in payloads.values() if each.slot is not None}
    alone, together = {}, {}
    for known, each in payloads.items():
        if each.stands_alone:
            alone[known] = each
        elif each.slot is not None:
            changed[each.slot] = without_repeated(each.payload, each.columns)
            placed[known] = (None, None, *each.slot)
        else:
            together[known] = each
    if len(together) < FEWEST:
        alone, together = alone | together, {}
    for known, each in alone.items():
        placed[known] = (*packer.pack((s.network, Subject.POST), each.payload), None, None)
    kept = all_without_repeated([each.payload for each in together.values()], [each.columns for each in together.values()])
    added = await frames.add(s, kept)
    for known, slot in zip(together, added, strict=True):
        placed[known] = (None, None, *slot)
    await frames.change(s, changed)
    return placed
