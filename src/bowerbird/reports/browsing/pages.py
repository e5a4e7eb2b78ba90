"""Pages of a long list: each says where the next one begins.

A page begins after the last line of the one before, by its key and not by its place: nothing is shown twice or left out while a
crawl adds to the list, and the millionth page is as quick as the first.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from bowerbird.errors import UserError
from bowerbird.ports import Row

Line = TypeVar("Line")
Place = TypeVar("Place", bound=Sequence[Any])
LARGEST = 1_000
"""Lines of one page."""
_MOST = 1 << 62
"""What no number of a row reaches, and a database still takes."""
_LONGEST = 2_000
"""Letters of an id."""


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
        return f"{column} {'<' if self.newest_first else '>'} ?", (read_token(self.after, 1)[0],)

    def page(self, rows: Sequence[Row], number: str, line: Callable[[Row], Line]) -> PageOf[Line]:
        """The page that these rows make; `number`: the column that orders them."""
        shown = rows[: self.size]
        after = token([shown[-1][number]]) if len(rows) > self.size else None
        return PageOf(tuple(line(row) for row in shown), after)


def token(place: Sequence[int | float | str]) -> str:
    """Where a page begins, in a form that can stand in an address."""
    return urlsafe_b64encode(msgspec.msgpack.encode(place)).decode().rstrip("=")


def read_token(written: str, *lengths: int) -> list[int]:
    """The numbers of a token, as many as one of the lengths says; raises `UserError` for anything else."""
    numbers = read_place(written, list[int])
    if len(numbers) not in lengths:
        raise _no_page(written)
    return numbers


def read_place(written: str, kind: type[Place]) -> Place:
    """What a token says, of the kind that its list writes and within what a database takes; raises `UserError` for anything else:
    people write addresses too."""
    try:
        place: Place = msgspec.msgpack.decode(urlsafe_b64decode(written + "=" * (-len(written) % 4)), type=kind)
    except (ValueError, msgspec.MsgspecError) as error:
        raise _no_page(written) from error
    if not all(map(_is_storable, place)):
        raise _no_page(written)
    return place


def _is_storable(value: int | float | str) -> bool:
    return len(value) <= _LONGEST and "\0" not in value if isinstance(value, str) else abs(value) < _MOST


def _no_page(written: str) -> UserError:
    return UserError(f"no page begins at {written!r:.40}", "ask for the first one, without `after` and `before`")
