"""An account with what its judge went by, as lists of people and samples of them show it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bowerbird.ports import Row

_TOLD = ("id", "handle", "name", "description", "location", "language", "url", "followers", "following", "posts")
COLUMNS = f"u.user_no, {', '.join(f'u.{name}' for name in _TOLD)}, j.reason, j.confidence, j.evidence"
"""Of `users u` and `judgements j`, in SQL."""


class JudgedAccount(Struct, frozen=True, kw_only=True):
    """An account, and why it is judged as it is."""

    number: int
    id: str
    handle: str | None
    name: str | None
    description: str | None
    location: str | None
    language: str | None
    url: str | None
    followers: int | None
    following: int | None
    posts: int | None
    reason: str | None
    confidence: float | None
    evidence: Mapping[str, str | float | None]


def fields(row: Row) -> dict[str, Any]:
    """What `COLUMNS` found, by the names that a judged account has for it."""
    return {
        "number": row["user_no"],
        "reason": row["reason"],
        "confidence": row["confidence"],
        "evidence": msgspec.json.decode(row["evidence"] or "{}"),
        **{name: row[name] for name in _TOLD},
    }
