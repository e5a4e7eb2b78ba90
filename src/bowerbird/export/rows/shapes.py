"""What an exported row has: the columns of each kind of thing, the same in every format.

A row is a tuple of plain values in the order of its columns. Times are zoned, lists are tuples of texts, None is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct, structs

from bowerbird.errors import UserError

Row = tuple[Any, ...]


class Kind(StrEnum):
    """What the values of a column are."""

    TEXT = "text"
    NUMBER = "number"
    REAL = "real"
    FLAG = "flag"
    TIME = "time"
    LIST = "list"
    """Texts; in CSV joined by `|`."""
    DOCUMENT = "document"
    """JSON as text."""


class Column(Struct, frozen=True):
    name: str
    kind: Kind = Kind.TEXT
    means: str = ""
    """In a few words, for the documentation."""


class Shape(Struct, frozen=True):
    """The columns of one kind of row, by the name that `export` calls it."""

    name: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def with_columns(self, names: Sequence[str]) -> Shape:
        """The same with more texts in front, such as those of an input file that are carried through."""
        taken = sorted(set(names) & set(self.names))
        if taken:
            raise UserError(
                f"{self.name} have columns called {', '.join(taken)} already", "call yours otherwise", code="already_exists"
            )
        return structs.replace(self, columns=(*(Column(name) for name in names), *self.columns))


_N, _T, _F, _L = Kind.NUMBER, Kind.TIME, Kind.FLAG, Kind.LIST

POSTS = Shape(
    "posts",
    (
        Column("id", means="the post's global id"),
        Column("network"),
        Column("service", means="the service that showed it first"),
        Column("kind", means="`post`, `reply`, `repost` or `quote`"),
        Column("url", means="where a browser finds it"),
        Column("author_id"),
        Column("author_handle"),
        Column("created_at", _T, "as the author's software claims"),
        Column("listed_at", _T, "when the service took it in, where it says so"),
        Column("edited_at", _T),
        Column("text"),
        Column("language"),
        Column("replies", _N),
        Column("reposts", _N),
        Column("likes", _N),
        Column("quotes", _N),
        Column("reply_to", means="id of the post that it answers"),
        Column("repost_of", means="id of the post that it passes on"),
        Column("quote_of", means="id of the post that it quotes"),
        Column("root", means="id of the post that opened the conversation"),
        Column("tags", _L, "hashtags in small letters"),
        Column("cashtags", _L),
        Column("mentions", _L, "ids of the accounts named"),
        Column("links", _L),
        Column("media", _L, "addresses of pictures and films"),
        Column("source", means="the program it was written with"),
        Column("warning", means="what the author put in front of it"),
        Column("is_sensitive", _F),
        Column("labels", _L, "what moderation or the author says of it"),
        Column("place", means="its name, where the author told one"),
        Column("country"),
        Column("longitude", Kind.REAL),
        Column("latitude", Kind.REAL),
        Column("poll", Kind.DOCUMENT, "options, votes and end"),
        Column("emoji", Kind.DOCUMENT, "how often each was given as a reaction"),
        Column("found_at", _T, "when we first heard of it"),
        Column("seen_at", _T, "when we last saw it"),
    ),
)
GONE = (
    Column("deleted_at", _T, "since when it is known to be deleted or its author to be gone"),
    Column("deleted_why", means="`not_found`, `suspended` or `deactivated`"),
)
"""What rows have besides in exports with `--deleted`."""
USERS = Shape(
    "users",
    (
        Column("id", means="the account's global id"),
        Column("network"),
        Column("service", means="the service that told of it first"),
        Column("handle"),
        Column("name"),
        Column("description"),
        Column("location", means="as the account writes it"),
        Column("url"),
        Column("language"),
        Column("gender", means="where the network tells it (Weibo)"),
        Column("time_zone", means="as the account set it (v1.1)"),
        Column("avatar"),
        Column("created_at", _T),
        Column("followers", _N),
        Column("following", _N),
        Column("posts", _N),
        Column("newest_post_at", _T),
        Column("is_protected", _F),
        Column("is_bot", _F),
        Column("is_verified", _F),
        Column("labels", _L),
        Column("found_at", _T, "when we first heard of it"),
        Column("seen_at", _T, "when we last saw its profile"),
    ),
)
FOLLOWS = Shape(
    "follows",
    (
        Column("source_id", means="who follows"),
        Column("source_handle"),
        Column("target_id", means="who is followed"),
        Column("target_handle"),
        Column("network"),
        Column("service", means="the service that showed it first"),
        Column("found_at", _T, "when we first heard of it"),
        Column("seen_at", _T, "when we last saw it"),
    ),
)
