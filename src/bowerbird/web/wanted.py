"""What a dashboard is to show, and where: said by commands before anything is loaded that serving needs."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.transport.serving import Listening

PORT = 8440


class Wanted(Struct, frozen=True, kw_only=True):
    """Which store is to be shown, and where."""

    store: str
    where: Listening
    names: tuple[str, ...] = ()
    """By which others reach it, where something in front of it has another name."""
