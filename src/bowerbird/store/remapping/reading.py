"""Payloads of a batch of rows, read again: as they may be stored, without what was forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter

import zstandard

from bowerbird.model import KeptItem, Page, Post, User
from bowerbird.ports import Row, Transaction
from bowerbird.store.forgetting.filtering import Filter
from bowerbird.store.forgetting.tombstones import Tombstones
from bowerbird.store.intake.bounds import bounded_page
from bowerbird.store.intake.clean import clean_page
from bowerbird.store.payloads.raw import Unpacker

ReadAgain = Callable[[KeptItem], User | Post | None]
"""What today's parsers make of one payload."""


async def unpacked(tx: Transaction, unpacker: Unpacker, row: Row) -> bytes:
    """The payload of a row that stands alone; nothing where it was damaged."""
    try:
        return await unpacker.unpack(tx, row["raw"], row["raw_dictionary"]) or b""
    except zstandard.ZstdError:
        return b""


def read_items(read_again: ReadAgain, tombstones: Tombstones, kept: Sequence[KeptItem]) -> Iterator[User | Post]:
    """What could be read and may be kept. A payload that names somebody who was forgotten is not read: it is about to go."""
    for network, together in groupby(sorted(kept, key=attrgetter("network")), attrgetter("network")):
        items = [item for each in together if (item := read_again(each)) is not None]
        users = tuple(item for item in items if isinstance(item, User))
        posts = tuple(item for item in items if isinstance(item, Post))
        page = clean_page(bounded_page(Page(users=users, posts=posts)))
        allowed = Filter(tombstones, network, "").page(page) if tombstones else page
        yield from (user for user in allowed.users if user.raw)
        yield from (post for post in allowed.posts if post.raw)
