"""Servers that speak Mastodon's API, by name."""

from __future__ import annotations

from bowerbird.errors import UserError
from bowerbird.simulated.mastodon.flavours.gotosocial import GOTOSOCIAL
from bowerbird.simulated.mastodon.flavours.mastodon import MASTODON_4_2, MASTODON_4_3, MASTODON_4_5, NEWEST, NUMBERED
from bowerbird.simulated.mastodon.flavours.model import ServerInfo
from bowerbird.simulated.mastodon.flavours.pleroma import AKKOMA, PLEROMA
from bowerbird.simulated.mastodon.flavours.takahe import TAKAHE

__all__ = ["FLAVOURS", "NEWEST", "ServerInfo", "flavour"]

FLAVOURS = {
    each.name: each for each in (NEWEST, MASTODON_4_5, MASTODON_4_3, MASTODON_4_2, NUMBERED, GOTOSOCIAL, TAKAHE, PLEROMA, AKKOMA)
}


def flavour(name: str) -> ServerInfo:
    """The flavour of that name; the newest Mastodon for none."""
    known = FLAVOURS.get(name or NEWEST.name)
    if known is None:
        raise UserError(
            f"There is no simulated Mastodon server of the flavour {name!r}",
            f"there are {', '.join(FLAVOURS)}.",
            code="unknown_name",
        )
    return known
