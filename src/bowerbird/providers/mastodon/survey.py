"""What a server of the Fediverse says of itself: software, version, where it streams from, who may read its timelines. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from msgspec import Struct

from bowerbird.model import Answer, Flavour, Request
from bowerbird.providers.common.reading.items import UNREADABLE, Reader, shortened

INSTANCE, INSTANCE_V1, NODEINFO = "/api/v2/instance", "/api/v1/instance", "/.well-known/nodeinfo"
_SCHEMAS = ("http://nodeinfo.diaspora.software/ns/schema/2.1", "http://nodeinfo.diaspora.software/ns/schema/2.0")
_COMPATIBLE = re.compile(r"\(compatible; ([\w.+-]+)[ /]?([\w.+-]*)")
_NAMED = re.compile(r"([a-z][a-z-]+)[/ ]v?(\d[\w.+-]*)")
_NUMBERED = re.compile(r"v?(\d+\.[\w.+~-]*)")
_NAMES = {"gotosocial": "gotosocial", "takahe": "takahe", "pleroma": "pleroma", "akkoma": "akkoma"}
"""Software whose version is a bare number: told by the address of its source."""
_OPEN = "public"
_WIRES = {"wss": "https", "ws": "http"}


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


_instances = Reader(_Instance)
_links = Reader(_Links)
_nodes = Reader(_Node)


def survey(answers: Sequence[Answer]) -> Request | Flavour:
    """The next question, or what the answers tell. A server that does not answer is asked no further."""
    if answers and (answers[-1].status == 0 or answers[-1].status == 429 or answers[-1].status >= 500):
        return Flavour()
    told = next((found for answer in answers[:2] if (found := _instance(answer)) is not None), None)
    if told is not None and told.software:
        return told
    if told is None and len(answers) < 2:
        return Request(path=(INSTANCE, INSTANCE_V1)[len(answers)])
    return _named_by_node(answers, told or Flavour())


def _named_by_node(answers: Sequence[Answer], told: Flavour) -> Request | Flavour:
    """The software's name is asked of the node itself, where the instance does not tell it."""
    asked = list(answers[_asked_of_instance(answers) :])
    if not asked:
        return Request(path=NODEINFO)
    if len(asked) == 1:
        path = _schema(asked[0])
        return told if path is None else Request(path=path)
    node = _node(asked[1])
    if node is None:
        return told
    version = _spoken(node.version or told.version)
    return Flavour(software=_lowered(node.name), version=version, streaming=told.streaming, access=told.access)


def _asked_of_instance(answers: Sequence[Answer]) -> int:
    return 1 if answers and _instance(answers[0]) is not None else 2


def _instance(answer: Answer) -> Flavour | None:
    try:
        said = _instances.read(answer.body) if answer.status == 200 else None
    except UNREADABLE:
        return None
    if said is None:
        return None
    urls = (said.configuration and said.configuration.urls) or said.urls or _Urls()
    access = (said.configuration and said.configuration.timelines_access) or {}
    software, version = _software(said)
    return Flavour(
        software=software,
        version=version,
        streaming=_base(urls.streaming or urls.streaming_api or ""),
        access={f"{feed}.{side}": who for feed, sides in access.items() for side, who in sides.items() if who != _OPEN},
    )


def _software(said: _Instance) -> tuple[str, str]:
    """Name and version; the name is empty where only the node itself can tell it."""
    version = _spoken(said.version)
    if found := _COMPATIBLE.search(version):
        return _lowered(found[1]), found[2]
    if found := _NAMED.match(version.casefold()):
        return found[1], found[2]
    source = (said.source_url or "").casefold()
    for part, name in _NAMES.items():
        if part in source:
            return name, version
    numbered = _NUMBERED.match(version)
    # Mastodon left 0.x behind before it had this route; what counts from there is something else.
    is_mastodon = numbered is not None and not numbered[1].startswith("0.")
    return ("mastodon" if is_mastodon else "", version)


def _schema(answer: Answer) -> str | None:
    """Where the node describes itself: only the path, for the address may lead elsewhere."""
    try:
        links = _links.read(answer.body).links if answer.status == 200 else []
        found = {link.rel: link.href for link in links}
        address = next((found[rel] for rel in _SCHEMAS if found.get(rel)), None)
        return None if address is None else _path(address)
    except UNREADABLE:
        return None


def _path(address: str) -> str | None:
    path = urlsplit(address).path
    return path if path.startswith("/") and len(path) <= 200 and path.isprintable() else None


def _node(answer: Answer) -> _Software | None:
    try:
        return _nodes.read(answer.body).software if answer.status == 200 else None
    except UNREADABLE:
        return None


def _base(address: str) -> str:
    """Scheme and host of an address as bases are written; empty when it is none."""
    try:
        parts = urlsplit(_spoken(address))
    except ValueError:
        return ""
    scheme = _WIRES.get(parts.scheme, parts.scheme)
    return f"{scheme}://{parts.netloc}" if scheme in ("http", "https") and parts.netloc and "@" not in parts.netloc else ""


def _spoken(text: str) -> str:
    return shortened(text)[:100]


def _lowered(name: str) -> str:
    return _spoken(name).casefold()


def number(version: str) -> tuple[int, int]:
    """Major and minor of a version, for comparisons; the highest one where it cannot be read."""
    found = re.match(r"v?(\d{1,6})\.(\d{1,6})", version)
    return (int(found[1]), int(found[2])) if found else (10**6, 0)
