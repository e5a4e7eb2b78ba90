"""What each command asks: of which facets, on the way over which others, and what its rows are."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from bowerbird.export.rows.shapes import FOLLOWS, POSTS, USERS, Column, Kind, Shape
from bowerbird.store.results.wanted import What

REPOSTS = Shape(
    "reposts",
    (
        Column("post", means="the post that was passed on, as it was asked for"),
        Column("user_id", means="who passed it on"),
        Column("user_handle"),
        Column("user_name"),
        Column("network"),
        Column("reposted_at", Kind.TIME, "where the network tells it"),
        Column("repost_id", means="id of the repost, where it is a post of its own"),
    ),
)
TRENDS = Shape(
    "trends",
    (
        Column("rank", Kind.NUMBER),
        Column("word"),
        Column("volume", Kind.NUMBER, "how often, where the network tells it"),
        Column("place"),
        Column("network"),
    ),
)
COUNTS = Shape(
    "counts",
    (
        Column("query"),
        Column("begins_at", Kind.TIME),
        Column("ends_at", Kind.TIME),
        Column("posts", Kind.NUMBER),
        Column("network"),
    ),
)
_SHAPES = {
    What.POSTS: POSTS,
    What.USERS: USERS,
    What.FOLLOWS: FOLLOWS,
    What.REPOSTS: REPOSTS,
    What.TRENDS: TRENDS,
    What.VOLUMES: COUNTS,
}


class Asking(Struct, frozen=True, kw_only=True):
    """One command: what it wants, and how a flow gets there."""

    what: What
    answers: tuple[str, ...] = ()
    """The facets whose pages hold the rows; those that a network lacks are left out."""
    leads: Mapping[str, str] = {}
    """Facets that seeds may go to first, each with what is taken from there to the last of `answers`."""
    rows: str = "posts"
    """What the rows are called."""
    is_batched: bool = False
    """Every input is one row: a limit is one of inputs."""
    names_inputs: bool = True
    """Rows say which of several inputs they are for; those that are the input themselves need not."""
    needs_on: bool = False
    """Inputs never tell the network."""

    @property
    def shape(self) -> Shape:
        return _SHAPES[self.what]


_ACCOUNTS = {"handles": "asked", "profile": "asked"}
ASKINGS: Mapping[str, Asking] = {
    "timeline": Asking(what=What.POSTS, answers=("timeline",), leads=_ACCOUNTS),
    "followers": Asking(what=What.FOLLOWS, answers=("followers",), leads=_ACCOUNTS, rows="followers"),
    "following": Asking(what=What.FOLLOWS, answers=("following",), leads=_ACCOUNTS, rows="followed accounts"),
    "users": Asking(what=What.USERS, answers=("profiles", "handles", "profile"), rows="users", is_batched=True),
    "search": Asking(what=What.POSTS, answers=("search", "hashtag"), needs_on=True),
    "hydrate": Asking(what=What.POSTS, answers=("posts", "thread"), is_batched=True, names_inputs=False),
    "thread": Asking(what=What.POSTS, answers=("posts", "thread")),
    "reposts": Asking(what=What.REPOSTS, answers=("reposts",), leads={"thread": "own_posts"}, rows="reposts"),
    "trends": Asking(what=What.TRENDS, answers=("trends",), rows="trends", needs_on=True),
    "counts": Asking(what=What.VOLUMES, answers=("volumes",), rows="counts", needs_on=True),
    "stream": Asking(what=What.POSTS, needs_on=True),
}
"""By command; `timelines` and `searches` ask what `timeline` and `search` ask, about many."""
