"""Where the networks are knocked at without a credential, and how one knows by the answer that it is theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from bowerbird.model import Answer, Service

_PASSING = frozenset({0, 401, 403, 408, 425, 429})
"""Guards, proxies and limits answer so before anybody has looked at the question."""
_SERVER_ERROR = 500


class Door(Struct, frozen=True):
    """A question that every server of a network answers somehow, and whether an answer is one of its own."""

    path: str
    is_own: Callable[[Mapping[str, Any], str], bool]
    """Told what the answer says, and the path of the base."""


def _mastodon(said: Mapping[str, Any], path: str) -> bool:
    if isinstance(said.get("version"), str) and not said.keys().isdisjoint(("uri", "domain", "title")):
        return True
    # A page for people refuses in the same words, where JSON is wanted of it.
    return not path and isinstance(said.get("error"), str) and said.keys() <= {"error", "error_description"}


def _bluesky(said: Mapping[str, Any], path: str) -> bool:
    return "version" in said or {"error", "message"} <= said.keys()


def _x(said: Mapping[str, Any], path: str) -> bool:
    return not said.keys().isdisjoint(("openapi", "title", "errors"))


def _twitter_v1(said: Mapping[str, Any], path: str) -> bool:
    return not said.keys().isdisjoint(("errors", "resources"))


def _weibo(said: Mapping[str, Any], path: str) -> bool:
    return not said.keys().isdisjoint(("error_code", "ip_limit", "user_limit"))


DOORS: Mapping[str, Door] = {
    "mastodon": Door("/api/v2/instance", _mastodon),
    "bluesky": Door("/xrpc/_health", _bluesky),
    "x": Door("/2/openapi.json", _x),
    "twitter_v1": Door("/1.1/application/rate_limit_status.json", _twitter_v1),
    "weibo": Door("/2/account/rate_limit_status.json", _weibo),
}


def recognised(service: Service, answers: Sequence[Answer]) -> bool | None:
    """Whether what answers there is an API of the service's network; None where that cannot be told."""
    door, path = DOORS.get(service.provider), urlsplit(service.base).path.strip("/")
    if door is None or any(door.is_own(said, path) for said in map(_said, answers)):
        return None if door is None else True
    is_unclear = any(answer.status in _PASSING or answer.status >= _SERVER_ERROR for answer in answers)
    return None if is_unclear or not answers else False


def _said(answer: Answer) -> Mapping[str, Any]:
    """The object that an answer is; empty for anything else."""
    try:
        said = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}
