"""Where a network is knocked at without a credential, and how one knows by the answer that it is theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from bowerbird.model import Answer, Door, Service

_PASSING = frozenset({0, 401, 403, 408, 425, 429})
"""Guards, proxies and limits answer so before anybody has looked at the question."""
_SERVER_ERROR = 500


def recognised(door: Door, service: Service, answers: Sequence[Answer]) -> bool | None:
    """Whether what answers there is an API of the service's network; None where that cannot be told."""
    path = urlsplit(service.base).path.strip("/")
    if any(door.is_own(said, path) for said in map(_said, answers)):
        return True
    is_unclear = any(answer.status in _PASSING or answer.status >= _SERVER_ERROR for answer in answers)
    return None if is_unclear or not answers else False


def _said(answer: Answer) -> Mapping[str, Any]:
    """The object that an answer is; empty for anything else."""
    try:
        said = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}
