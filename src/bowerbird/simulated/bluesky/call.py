"""One request to the Bluesky dialect, and the errors it may end in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
from msgspec import Raw, Struct

from bowerbird.simulated.bluesky.ids import number_spelled, spelled
from bowerbird.simulated.tokens import Token
from bowerbird.simulated.wire import Params, RefusedError, Reply, reply

STALE = "::"


def error(status: int, name: str, message: str) -> Reply:
    return reply({"error": name, "message": message}, status)


def refuse(status: int, name: str, message: str) -> RefusedError:
    return RefusedError(error(status, name, message))


def invalid(message: str) -> RefusedError:
    return refuse(400, "InvalidRequest", message)


class Call(Struct, frozen=True):
    """What a handler needs to know; `now` is the world's time in ms."""

    params: Params
    token: Token | None
    now: int
    arrived_at: datetime
    address: str = ""
    body: bytes = b""

    def text(self, name: str) -> str:
        value = self.params.get(name)
        if not value:
            raise invalid(f'Error: Params must have the property "{name}"')
        return value

    def limit(self, default: int, most: int) -> int:
        """How many results were asked for; too many is an error here, never clipped."""
        if not self.params.has("limit"):
            return default
        limit = self.params.integer("limit", 0)
        if limit > most:
            raise invalid(f"Error: limit can not be greater than {most}")
        if limit < 1:
            raise invalid("Error: limit can not be less than 1")
        return limit

    @property
    def cursor(self) -> str:
        return self.params.get("cursor")

    @property
    def is_stale(self) -> bool:
        """The caller holds a cursor of the old kind: the answer is an empty list, without an error."""
        return STALE in self.cursor

    def key(self) -> int | None:
        """The cursor as a number of ours."""
        if not self.cursor:
            return None
        number = number_spelled(self.cursor)
        if number is None:
            raise invalid("Malformed cursor")
        return min(number, (1 << 63) - 1)

    def offset(self) -> int:
        if self.cursor and not self.cursor.isdecimal():
            raise invalid("Malformed cursor")
        return min(self.params.integer("cursor", 0), 10_000_000)


def page(name: str, items: Sequence[bytes], cursor: str | None = None, **other: Any) -> Reply:
    """A list answer; without a cursor the list has ended."""
    body: dict[str, Any] = {**other, name: [Raw(item) for item in items]}
    return reply(body if cursor is None else {**body, "cursor": cursor})


def newest_first(call: Call, keys: Any, limit: int) -> tuple[list[int], str | None]:
    """Places of one page in keys that rise, newest first; like the real service with a cursor unless the page is empty."""
    key = call.key()
    end = len(keys) if key is None else int(np.searchsorted(keys, key))
    start = max(0, end - limit)
    return list(range(end - 1, start - 1, -1)), spelled(int(keys[start])) if start < end else None
