"""How a network is asked for keywords, which are terms in normal form: `#london2012`, `olympics`, `opening ceremony`, `@team`."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.model.streams import Subscription


class KeywordStream(Struct, frozen=True, kw_only=True):
    """How keywords are heard on a network."""

    stream: Subscription
    hosts: dict[str, str] = {}
    """By the address that answers, the one that streams, where the network has two."""
    is_filtered: bool = False
    """The network itself sends what the keywords match; otherwise everything comes, and we choose."""
    volume: int | None = None
    """Posts a minute that it brings at most; None: as many as there are."""
    unheard: tuple[str, ...] = ()
    """Keywords that this stream cannot be asked for."""
