"""Pages of a long list: each says where the next one begins.

A page begins after the last line of the one before, by its key and not by its place: nothing is shown twice or left out while a
crawl adds to the list, and the millionth page is as quick as the first.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.ports import Row

Line = TypeVar("Line")
LARGEST = 1_000
"""Lines of one page."""
_MOST_NUMBERS = 3
_MOST = 1 << 62
"""What no number of a row reaches, and a database still takes."""


class PageOf(Struct, Generic[Line], frozen=True):
    """Some lines of a list, and where it goes on."""

    lines: tuple[Line, ...]
    after: str | None = None
    """Ask with it for the next page; None: there is none."""


class Ask(Struct, frozen=True, kw_only=True):
    """Which page of a list is wanted."""

    after: str | None = None
    """What the page before said; None: the first page."""
    size: int = 50
    newest_first: bool = True

    @property
    def limit(self) -> int:
        """One more than is shown tells whether there is another page."""
        if not 1 <= self.size <= LARGEST:
            raise UserError(f"a page has 1 to {LARGEST:,} lines, not {self.size:,}")
        return self.size + 1

    @property
    def order(self) -> str:
        return "desc" if self.newest_first else "asc"

    def beyond(self, column: str) -> tuple[str, tuple[int, ...]]:
        """The condition for what comes after the page before, and its value."""
        if self.after is None:
            return "1 = 1", ()
        return f"{column} {'<' if self.newest_first else '>'} ?", (read_token(self.after)[0],)

    def page(self, rows: Sequence[Row], number: str, line: Callable[[Row], Line]) -> PageOf[Line]:
        """The page that these rows make; `number`: the column that orders them."""
        shown = rows[: self.size]
        after = token([shown[-1][number]]) if len(rows) > self.size else None
        return PageOf(tuple(line(row) for row in shown), after)


def token(numbers: Sequence[int]) -> str:
    """Where a page begins, in a form that can stand in an address."""
    return urlsafe_b64encode(msgspec.msgpack.encode(numbers)).decode().rstrip("=")


def read_token(written: str) -> list[int]:
    """The numbers of a token, one to three; raises `UserError` for anything else."""
    try:
        numbers = msgspec.msgpack.decode(urlsafe_b64decode(written + "=" * (-len(written) % 4)), type=list[int])
    except (Error, ValueError, msgspec.MsgspecError) as error:
        raise UserError(f"no page begins at {written!r}: ask for the first one, without `after`") from error
    if not 1 <= len(numbers) <= _MOST_NUMBERS or max(map(abs, numbers)) >= _MOST:
        raise UserError(f"no page begins at {written!r}: ask for the first one, without `after`")
    return numbers
