"""The truth behind the streams: happenings in a service's own keys, for evaluations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from bowerbird.simulated.world import Happening, Kind, World
from bowerbird.simulated.world.settings import from_ms

_ABOUT_POSTS = frozenset({Kind.WRITTEN, Kind.EDITED, Kind.DELETED, Kind.LIKED})


class Told(Struct, frozen=True, kw_only=True, gc=False):
    """One happening as somebody who hears everything would know it."""

    at: datetime
    """In the world's time."""
    kind: Kind
    account: str
    post: str = ""
    other: str = ""
    """The account followed or no longer followed."""
    visibility: str = "public"
    """How openly the post was sent, on networks that ask."""
    is_open: bool = True
    """Everybody may read the account at that time."""


class Named(Protocol):
    """Whatever has keys for a world's numbers."""

    world: World

    def account_key(self, account: int) -> str: ...

    def post_key(self, number: int) -> str: ...


def told(names: Named, happenings: Iterable[Happening]) -> Iterator[Told]:
    world = names.world
    for each in happenings:
        is_about_post = each.kind in _ABOUT_POSTS
        yield Told(
            at=from_ms(each.ms),
            kind=each.kind,
            account=names.account_key(each.account),
            post=names.post_key(each.number) if is_about_post else "",
            other=names.account_key(each.other) if each.kind in (Kind.FOLLOWED, Kind.UNFOLLOWED) else "",
            visibility=world.contents.visibility(each.number) if is_about_post else "public",
            is_open=world.is_open(each.account, each.ms),
        )
