"""What servers of one kind or another can be asked: data, after the routes of each software.

Only what is certain from the software's own routes stands here; the rest a server's refusals tell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import msgspec

from bowerbird.model import Channel, Facet, Flavour, Limit
from bowerbird.model.wording import quoted
from bowerbird.providers.common.asking.tables import Tables, closed_to
from bowerbird.providers.mastodon.channels import CHANNELS, EVENTS, FLAKES, ULIDS, base_name
from bowerbird.providers.mastodon.facets import ADDRESS
from bowerbird.providers.mastodon.requests import ALONE
from bowerbird.providers.mastodon.survey import number

_SINCE = {
    "quotes": (4, 5),
    "link": (4, 3),
    "profiles": (4, 3),
    "posts": (4, 3),
    "versions": (3, 5),
    "trending": (3, 5),
    "directory": (3, 0),
}
"""The version of Mastodon that brought a route."""
_WITHOUT = {
    "gotosocial": ("profiles", "posts", "quotes", "link", "trending", "trends", "directory"),
    "takahe": ("profiles", "posts", "quotes", "link", "versions", "directory"),
    "pleroma": ("profiles", "posts", "quotes", "link", "trending", "trends", "tags"),
}
_KIN = {"akkoma": "pleroma", "soapbox": "pleroma", "rebased": "pleroma"}
"""Software with the routes of another."""
_NO_STREAMS = frozenset({"takahe"})
_SOCKETS_ONLY = frozenset({"gotosocial", "pleroma"})
_KEY_TIMES = {"gotosocial": ULIDS, "pleroma": FLAKES}
_HASHTAGS = ("hashtag", "hashtag_local")
_FEEDS = {"hashtag": "hashtag_feeds", "public": "live_feeds", "link": "trending_link_feeds"}
"""Facets, and what the server calls the timelines they read."""
_SEARCHED = {
    "gotosocial": "only posts by and to the user of the token",
    "takahe": "no posts by words, only by their address",
}
_NO_OPT_OUTS = frozenset({"gotosocial", "takahe", "pleroma"})
"""Software whose accounts carry neither `noindex` nor `indexable`."""
_LOSSES = {
    "takahe": {
        "timeline": "it lists what accounts wrote themselves, and leaves out what they boosted",
    },
}
"""Software, and what its answers leave out without a word, by facet."""
_BY_ADDRESS = frozenset({"gotosocial"})
"""Software that limits addresses alone, as often as Mastodon does (300 in five minutes), whoever asks and for whichever page."""
_INDEXED = "posts only where the server keeps an index of them (Elasticsearch)"
_FOR_GUESTS = {"gotosocial": (), "takahe": ("profile", "followers", "following", "reposts", "likes", "public")}
"""Software that answers nobody but its own users, and the facets of which it does all the same."""


def lacks(flavour: Flavour) -> dict[str, str]:
    """The facets that a server of this flavour does not have, with the reason in words; what is asked for one by one is there."""
    found = {name: f"{_title(flavour)} has no such route" for name in _without(flavour)}
    found |= {name: f"the server said: {quoted(told.words)}" for name, told in flavour.refused.items()}
    found |= {name: f"the server has closed {feed}" for name, feed in _FEEDS.items() if _is_closed(flavour, feed)}
    return {name: why for name, why in found.items() if name not in ALONE}


def mutes(flavour: Flavour) -> dict[str, str]:
    """The channels that would never bring anything, with the reason in words."""
    kind, title = _kind(flavour), _title(flavour)
    if kind in _NO_STREAMS:
        return dict.fromkeys(CHANNELS, f"{title} has no streams")
    found: dict[str, str] = {}
    for name in CHANNELS:
        if kind == "gotosocial" and base_name(name) in _HASHTAGS:
            found[name] = f"{title} lets one subscribe to hashtags and sends nothing: ask for the facet hashtag instead"
        elif kind in _SOCKETS_ONLY and name.endswith(EVENTS):
            found[name] = f"{title} streams over WebSockets only: take the channel {base_name(name)}"
    return found


def singles(flavour: Flavour) -> frozenset[str]:
    """The batches that such a server does not take: they are asked for one by one."""
    return frozenset(name for name in ALONE if name in flavour.refused or name in _without(flavour))


def flavoured(tables: Tables, flavour: Flavour) -> Tables:
    """The tables without what the server lacks, and without what it shows to its own users only."""
    absent, alone = lacks(flavour), singles(flavour)
    shut = frozenset(name for table in tables.values() for name in table if _is_for_users(flavour, name))
    found = {
        kind: {
            name: _alone(facet) if name in alone else _told(facet, flavour) for name, facet in table.items() if name not in absent
        }
        for kind, table in tables.items()
    }
    return closed_to(_limited(found, flavour), {"none": shut, "app": shut})


def _limited(tables: Tables, flavour: Flavour) -> Tables:
    """The tables with one limit for everybody who asks from an address, where the server counts nothing else."""
    if _kind(flavour) not in _BY_ADDRESS:
        return tables
    return {
        kind: {name: msgspec.structs.replace(facet, limits=_by_address(facet.limits)) for name, facet in table.items()}
        for kind, table in tables.items()
    }


def _by_address(limits: tuple[Limit, ...]) -> tuple[Limit, ...]:
    """Mastodon's own limits without those of accounts and of pages; that of a token is the address's."""
    kept = [each for each in limits if not each.only_paged and not each.bucket.endswith("/account")]
    moved = (msgspec.structs.replace(each, bucket=ADDRESS) if each.bucket.endswith("/token") else each for each in kept)
    return tuple({each.bucket: each for each in moved}.values())


def _is_for_users(flavour: Flavour, facet: str) -> bool:
    if facet in _FEEDS and "authenticated" in _access(flavour, _FEEDS[facet]):
        return True
    return facet not in _FOR_GUESTS.get(_kind(flavour), (facet,))


def channels(flavour: Flavour) -> Mapping[str, Channel]:
    """The channels with ids as the server writes them."""
    written = _KEY_TIMES.get(_kind(flavour))
    if written is None:
        return CHANNELS
    return {name: msgspec.structs.replace(channel, key_time=written) for name, channel in CHANNELS.items()}


def cautions(flavour: Flavour, facets: Collection[str]) -> Iterator[str]:
    """Where an empty answer would say nothing, and what never comes."""
    kind = _kind(flavour)
    if "search" in facets:
        yield f"search finds {_SEARCHED.get(kind, _INDEXED)}: it may stay empty"
    if kind in _NO_OPT_OUTS:
        yield "it does not tell who asked not to be indexed: only those are left alone who say so in their profile (#nobot)"
    for name, loss in _LOSSES.get(kind, {}).items():
        if name in facets:
            yield f"{name}: {loss}"


def _alone(facet: Facet) -> Facet:
    return msgspec.structs.replace(facet, objects_per_call=1, results_per_call=1)


def _told(facet: Facet, flavour: Flavour) -> Facet:
    """The facet with what its answers leave out on such a server."""
    kind = _kind(flavour)
    if facet.name != "search" or kind not in _SEARCHED:
        return facet
    return msgspec.structs.replace(facet, falls_short=f"on {_title(flavour)} search finds {_SEARCHED[kind]}")


def _kind(flavour: Flavour) -> str:
    return _KIN.get(flavour.software, flavour.software)


def _without(flavour: Flavour) -> tuple[str, ...]:
    kind = _kind(flavour)
    if kind == "mastodon":
        return tuple(name for name, since in _SINCE.items() if number(flavour.version) < since)
    if kind and kind not in _WITHOUT:
        # Nobody else is known to have copied the batches of Mastodon 4.3; what a stranger has besides, its answers tell.
        return tuple(ALONE)
    return _WITHOUT.get(kind, ())


def _access(flavour: Flavour, feed: str) -> set[str]:
    return {flavour.access.get(f"{feed}.{side}", "public") for side in ("local", "remote")}


def _is_closed(flavour: Flavour, feed: str) -> bool:
    return _access(flavour, feed) == {"disabled"}


def _title(flavour: Flavour) -> str:
    return quoted(flavour.title) or "the server"
