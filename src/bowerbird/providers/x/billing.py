"""What X charges for: the kind of thing a facet lists, its price, and the names under which one answer's items are billed.

The price list has accounts, and followers with followed accounts, on two lines, so that one paid for as a follower is not
taken for paid when it is looked up, nor one follower of two accounts; X says that it charges each resource once a day.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from bowerbird.model import Facet
from bowerbird.providers.items import UNREADABLE
from bowerbird.providers.x.ids import is_key

PRICES = {"post": 5, "user": 10, "follow": 10, "list": 5, "like": 1}
"""In thousandths of a dollar for each object returned."""
BY_CALL = {"trends": 10, "volumes": 5}
"""Facets that are paid by the request."""

_LISTED = {"followers": "follow", "following": "follow", "likes": "like", "lists": "list"}
_BETWEEN_TWO = frozenset({"follow", "like"})


class _Named(Struct, gc=False):
    id: str | int


_names = msgspec.json.Decoder(_Named)


def resource(facet: Facet) -> str:
    """The line of the price list that a facet's results are on."""
    return _LISTED.get(facet.name, "post" if "posts" in facet.yields else "user")


def billed(facet: Facet, target: str, raws: tuple[bytes, ...]) -> tuple[str, ...]:
    """A name for each object listed, as far as it has an id: the same for what X takes for the same."""
    if facet.name in BY_CALL:
        return ()
    kind = resource(facet)
    whose = f"{facet.name}:{target}:" if kind in _BETWEEN_TWO else f"{kind}:"
    return tuple(whose + name for name in map(_name, raws) if is_key(name))


def _name(raw: bytes) -> str:
    try:
        return str(_names.decode(raw).id)
    except UNREADABLE:
        return ""
