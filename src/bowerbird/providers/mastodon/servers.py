"""Differences between server software: which one a server runs, which facets, streams and limits it
has.

Only what is certain from the source code of each software is listed; the rest is learned from
refusals.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import replace

from bowerbird.model import Answer, Channel, Facet, Request, ServerInfo
from bowerbird.model.wording import quoted
from bowerbird.providers.base import Tables, closed_to
from bowerbird.providers.items import UNREADABLE, Reader, shortened
from bowerbird.providers.mastodon.endpoints import ADDRESS_BUCKET, ONE_BY_ONE
from bowerbird.providers.mastodon.stream import CHANNELS, PLEROMA_KEYS, SSE, ULID_KEYS, base_name

# What each software has

_FAMILY = {"akkoma": "pleroma", "soapbox": "pleroma", "rebased": "pleroma"}
"""Software with the routes of another."""
_SINCE = {
    "quotes": (4, 5),
    "link": (4, 3),
    "profiles": (4, 3),
    "posts": (4, 3),
    "versions": (3, 5),
    "trending": (3, 5),
    "directory": (3, 0),
}
"""The version of Mastodon that introduced a route."""
_MISSING = {
    "gotosocial": ("profiles", "posts", "quotes", "link", "trending", "trends", "directory"),
    "takahe": ("profiles", "posts", "quotes", "link", "versions", "directory"),
    "pleroma": ("profiles", "posts", "quotes", "link", "trending", "trends", "tags"),
}
_FOR_GUESTS = {
    "gotosocial": (),
    "takahe": ("profile", "followers", "following", "reposts", "likes", "public"),
}
"""Software that answers only its own users, and the facets that are exceptions."""
_FEEDS = {"hashtag": "hashtag_feeds", "public": "live_feeds", "link": "trending_link_feeds"}
"""Facets, and the server's names for the timelines that they read
(`configuration.timelines_access`)."""
_LIMITS_BY_ADDRESS = frozenset({"gotosocial"})
"""Software that limits only addresses (300 calls in five minutes), whoever calls and whichever
page."""
_NO_STREAMS = frozenset({"takahe"})
_WEBSOCKETS_ONLY = frozenset({"gotosocial", "pleroma"})
_KEY_TIMES = {"gotosocial": ULID_KEYS, "pleroma": PLEROMA_KEYS}
_SEARCH = {
    "gotosocial": "only posts by and to the user of the token",
    "takahe": "no posts by words, only by their address",
}
_NO_OPT_OUTS = frozenset({"gotosocial", "takahe", "pleroma"})
"""Software whose accounts have neither `noindex` nor `indexable`."""
_INCOMPLETE = {
    "takahe": {
        "timeline": "it lists what accounts wrote themselves, and leaves out what they boosted"
    }
}


def missing_facets(server: ServerInfo) -> dict[str, str]:
    """Return the facets that the server does not have, with the reason. Batches are not missing:
    they are split."""
    missing = {name: f"{_title(server)} has no such route" for name in _missing_routes(server)}
    missing |= {
        name: f"the server said: {quoted(refusal.words)}"
        for name, refusal in server.refused.items()
    }
    missing |= {
        name: f"the server has closed {feed}"
        for name, feed in _FEEDS.items()
        if _access(server, feed) == {"disabled"}
    }
    return {name: why for name, why in missing.items() if name not in ONE_BY_ONE}


def missing_channels(server: ServerInfo) -> dict[str, str]:
    """Return the channels that would never deliver anything, with the reason."""
    software, title = _software(server), _title(server)
    if software in _NO_STREAMS:
        return dict.fromkeys(CHANNELS, f"{title} has no streams")
    missing: dict[str, str] = {}
    for name in CHANNELS:
        if software == "gotosocial" and name.startswith("hashtag"):
            missing[name] = (
                f"{title} accepts subscriptions to hashtags but sends nothing: "
                "use the facet hashtag instead"
            )
        elif software in _WEBSOCKETS_ONLY and name.endswith(SSE):
            missing[name] = (
                f"{title} streams over WebSockets only: use the channel {base_name(name)}"
            )
    return missing


def warnings(server: ServerInfo, facets: Collection[str]) -> tuple[str, ...]:
    """Return what these facets leave out on this server without saying so."""
    software, found = _software(server), []
    if "search" in facets:
        scope = _SEARCH.get(
            software, "posts only where the server keeps an index of them (Elasticsearch)"
        )
        found.append(f"search finds {scope}: it may stay empty")
    if software in _NO_OPT_OUTS:
        found.append(
            "it does not tell who opted out of indexing: "
            "only opt-outs in the profile text (#nobot) are respected"
        )
    found += [
        f"{name}: {loss}" for name, loss in _INCOMPLETE.get(software, {}).items() if name in facets
    ]
    return tuple(found)


def tables_for(tables: Tables, server: ServerInfo) -> Tables:
    """Return the tables without what the server lacks or shows only to its own users, and with its
    limits."""
    missing, routes, software = missing_facets(server), _missing_routes(server), _software(server)

    def adapted(facet: Facet) -> Facet:
        if facet.name in ONE_BY_ONE and (facet.name in server.refused or facet.name in routes):
            facet = replace(facet, objects_per_call=1, results_per_call=1)
        if facet.name == "search" and software in _SEARCH:
            facet = replace(
                facet, falls_short=f"on {_title(server)} search finds {_SEARCH[software]}"
            )
        if software in _LIMITS_BY_ADDRESS:
            kept = [
                each
                for each in facet.limits
                if not each.only_paged and not each.bucket.endswith("/account")
            ]
            moved = [
                replace(each, bucket=ADDRESS_BUCKET) if each.bucket.endswith("/token") else each
                for each in kept
            ]
            facet = replace(facet, limits=tuple({each.bucket: each for each in moved}.values()))
        return facet

    def is_for_users(name: str) -> bool:
        is_closed = name in _FEEDS and "authenticated" in _access(server, _FEEDS[name])
        return is_closed or name not in _FOR_GUESTS.get(software, (name,))

    there = {
        kind: {name: adapted(facet) for name, facet in table.items() if name not in missing}
        for kind, table in tables.items()
    }
    closed = {name for table in there.values() for name in table if is_for_users(name)}
    return closed_to(there, {"none": closed, "app": closed})


def channels_for(server: ServerInfo) -> Mapping[str, Channel]:
    """Return the channels with the form of the server's ids."""
    keys = _KEY_TIMES.get(_software(server))
    return (
        CHANNELS
        if keys is None
        else {name: replace(channel, key_time=keys) for name, channel in CHANNELS.items()}
    )


def _software(server: ServerInfo) -> str:
    return _FAMILY.get(server.software, server.software)


def _title(server: ServerInfo) -> str:
    return quoted(server.title) or "the server"


def _missing_routes(server: ServerInfo) -> tuple[str, ...]:
    software = _software(server)
    if software == "mastodon":
        match = re.match(r"v?(\d{1,6})\.(\d{1,6})", server.version)
        version = (int(match[1]), int(match[2])) if match else (10**6, 0)
        return tuple(name for name, since in _SINCE.items() if version < since)
    if software and software not in _MISSING:
        # No other software is known to have the batches of Mastodon 4.3.
        return tuple(ONE_BY_ONE)
    return _MISSING.get(software, ())


def _access(server: ServerInfo, feed: str) -> set[str]:
    return {server.access.get(f"{feed}.{side}", "public") for side in ("local", "remote")}


# Which software a server runs

INSTANCES = ("/api/v2/instance", "/api/v1/instance")
_NODEINFO = "/.well-known/nodeinfo"
_SCHEMAS = (
    "http://nodeinfo.diaspora.software/ns/schema/2.1",
    "http://nodeinfo.diaspora.software/ns/schema/2.0",
)
_COMPATIBLE = re.compile(r"\(compatible; ([\w.+-]+)[ /]?([\w.+-]*)")
_NAMED = re.compile(r"([a-z][a-z-]+)[/ ]v?(\d[\w.+-]*)")
_NUMBERED = re.compile(r"v?(\d+\.[\w.+~-]*)")
_BY_SOURCE = ("gotosocial", "takahe", "pleroma", "akkoma")
"""Software whose version is a bare number; the URL of its source names it."""


class _Urls(Struct):
    streaming: str | None = None
    streaming_api: str | None = None


class _Configuration(Struct):
    urls: _Urls | None = None
    timelines_access: dict[str, dict[str, str]] | None = None


class _Instance(Struct):
    version: str
    source_url: str | None = None
    configuration: _Configuration | None = None
    urls: _Urls | None = None


class _Link(Struct):
    rel: str | None = None
    href: str | None = None


class _Links(Struct):
    links: list[_Link]


class _Software(Struct):
    name: str
    version: str | None = None


class _Node(Struct):
    software: _Software


_instances, _links, _nodes = Reader(_Instance), Reader(_Links), Reader(_Node)


def probe_server(answers: Sequence[Answer]) -> Request | ServerInfo:
    """Return the next question, or what the answers tell: first the instance, then NodeInfo if that
    does not name the software. A server that does not answer is not asked again."""
    if answers and (answers[-1].status in (0, 429) or answers[-1].status >= 500):
        return ServerInfo()
    instances = [_parse_instance(answer) for answer in answers[:2]]
    info = next(filter(None, instances), None)
    if info is not None and info.software:
        return info
    if info is None and len(answers) < 2:
        return Request(path=INSTANCES[len(answers)])
    info = info or ServerInfo()
    nodeinfo = answers[1 if instances[0] is not None else 2 :]
    try:
        match len(nodeinfo):
            case 0:
                return Request(path=_NODEINFO)
            case 1:
                links = {link.rel: link.href for link in _links.read(_ok(nodeinfo[0])).links}
                # Only the path: the host may be another one.
                path = urlsplit(
                    next(filter(None, (links.get(schema) for schema in _SCHEMAS)), "")
                ).path
                return (
                    Request(path=path)
                    if path.startswith("/") and len(path) <= 200 and path.isprintable()
                    else info
                )
        node = _nodes.read(_ok(nodeinfo[1])).software
    except UNREADABLE:
        return info
    return replace(
        info, software=_short(node.name).casefold(), version=_short(node.version or info.version)
    )


def _ok(answer: Answer) -> bytes:
    if answer.status != 200:
        raise ValueError(f"status {answer.status}")
    return answer.body


def _parse_instance(answer: Answer) -> ServerInfo | None:
    try:
        instance = _instances.read(_ok(answer))
    except UNREADABLE:
        return None
    configuration = instance.configuration or _Configuration()
    urls = configuration.urls or instance.urls or _Urls()
    access = configuration.timelines_access or {}
    version, software = _short(instance.version), ""
    source = (instance.source_url or "").casefold()
    if match := _COMPATIBLE.search(version):
        software, version = match[1].casefold(), match[2]
    elif match := _NAMED.match(version.casefold()):
        software, version = match[1], match[2]
    elif by_source := next((name for name in _BY_SOURCE if name in source), ""):
        software = by_source
    elif (match := _NUMBERED.match(version)) and not match[1].startswith("0."):
        # Mastodon had this route only after 0.x; other software counts from there.
        software = "mastodon"
    return ServerInfo(
        software=software,
        version=version,
        streaming=_base(urls.streaming or urls.streaming_api or ""),
        access={
            f"{feed}.{side}": who
            for feed, sides in access.items()
            for side, who in sides.items()
            if who != "public"
        },
    )


def _base(url: str) -> str:
    """Return scheme and host of a WebSocket or HTTP address; empty if it is not one."""
    try:
        parts = urlsplit(_short(url))
    except ValueError:
        return ""
    scheme = {"wss": "https", "ws": "http"}.get(parts.scheme, parts.scheme)
    return (
        f"{scheme}://{parts.netloc}"
        if scheme in ("http", "https") and parts.netloc and "@" not in parts.netloc
        else ""
    )


def _short(text: str) -> str:
    return shortened(text)[:100]
