"""Where the payloads of one page's posts are kept: many together in frames, a few or very long ones alone."""

from __future__ import annotations

from collections.abc import Mapping

from bowerbird.model import Subject
from bowerbird.store.context import SaveContext
from bowerbird.store.payloads.frames import FEWEST, LONGEST, Frames, Slot
from bowerbird.store.payloads.raw import Packer

COLUMNS = ("raw", "raw_dictionary", "frame", "frame_place")
Placed = tuple[bytes | None, int | None, int | None, int | None]
"""What these columns say of one post."""
NOTHING: Placed = (None, None, None, None)


async def place_payloads(
    s: SaveContext, frames: Frames, packer: Packer, payloads: Mapping[str, bytes], slots: Mapping[str, Slot]
) -> dict[str, Placed]:
    """Keeps payloads by their posts' ids; `slots` are those that known posts have already. A newer payload takes the place of the
    older one in its frame."""
    placed: dict[str, Placed] = {}
    changed: dict[Slot, bytes] = {slot: b"" for known, slot in slots.items() if known in payloads}
    alone, together = {}, {}
    for known, payload in payloads.items():
        if len(payload) > LONGEST:
            alone[known] = payload
        elif (slot := slots.get(known)) is not None:
            changed[slot] = payload
            placed[known] = (None, None, *slot)
        else:
            together[known] = payload
    if len(together) < FEWEST:
        alone, together = alone | together, {}
    for known, payload in alone.items():
        placed[known] = (*packer.pack((s.network, Subject.POST), payload), None, None)
    for known, slot in zip(together, await frames.add(s, list(together.values())), strict=True):
        placed[known] = (None, None, *slot)
    await frames.change(s, changed)
    return placed
