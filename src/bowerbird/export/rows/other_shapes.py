"""The columns of rows that are exported besides posts, users and follows."""

from __future__ import annotations

from bowerbird.export.rows.shapes import FOLLOWS, POSTS, USERS, Column, Kind, Shape

_N, _T = Kind.NUMBER, Kind.TIME

REACTIONS = Shape(
    "reactions",
    (
        Column("post_id"),
        Column("kind", means="`repost` or `like`"),
        Column("user_id"),
        Column("user_handle"),
        Column("network"),
        Column("service", means="the service that listed it first"),
        Column("at", _T, "where the network's list tells it"),
        Column("found_at", _T),
        Column("seen_at", _T),
    ),
)
MEDIA = Shape(
    "media",
    (
        Column("id", means="the same picture may stand in many posts"),
        Column("post_id"),
        Column("author_id"),
        Column("author_handle"),
        Column("network"),
        Column("created_at", _T, "of the post"),
        Column("kind"),
        Column("url"),
        Column("description", means="as the author wrote it"),
        Column("state", means="whether a file was fetched: `kept`, `waiting`, `given_up`"),
        Column("path", means="below the folder of the crawl's media"),
        Column("type", means="as the server calls it"),
        Column("bytes", _N),
        Column("sha256"),
    ),
)
JUDGEMENTS = Shape(
    "judgements",
    (
        Column("judge"),
        Column("version"),
        Column("subject", means="`user` or `post`"),
        Column("id"),
        Column("handle"),
        Column("value", means="what it is said to be"),
        Column("reason", means="what decided"),
        Column("confidence", Kind.REAL),
        Column("evidence", Kind.DOCUMENT),
        Column("at", _T),
    ),
)
CALLS = Shape(
    "calls",
    (
        Column("call", _N),
        Column("crawl"),
        Column("service"),
        Column("facet"),
        Column("state"),
        Column("outcome"),
        Column("status", _N),
        Column("targets"),
        Column("objects", _N),
        Column("results", _N),
        Column("new_items", _N),
        Column("bytes", _N),
        Column("credential", means="its name"),
        Column("leased_at", _T),
        Column("sent_at", _T),
        Column("received_at", _T),
        Column("settled_at", _T),
        Column("detail", means="what the service said"),
    ),
)
KEYWORDS = Shape(
    "keywords",
    (
        Column("crawl"),
        Column("method", means="whose keyword it is"),
        Column("term", means="in small letters without accents"),
        Column("since", _T, "when it came in"),
        Column("why"),
        Column("numbers", Kind.DOCUMENT, "those that decided"),
        Column("until", _T, "when it left; empty: it is followed"),
        Column("until_why"),
        Column("until_numbers", Kind.DOCUMENT),
    ),
)
SHAPES = {shape.name: shape for shape in (POSTS, USERS, FOLLOWS, REACTIONS, MEDIA, JUDGEMENTS, CALLS, KEYWORDS)}
