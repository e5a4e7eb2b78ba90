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
        Column("decided_by", means="who, where a person did"),
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
        Column("numbers", Kind.DOCUMENT, "those that decided; [their names](how-to/events.md)"),
        Column("until", _T, "when it left; empty: it is followed"),
        Column("until_why"),
        Column("until_numbers", Kind.DOCUMENT),
    ),
)
CANDIDATES = Shape(
    "candidates",
    (
        Column("crawl"),
        Column("id"),
        Column("handle"),
        Column("source", means="who named it first: `member` (itself), `mentions`, `neighbours`"),
        Column("state", means="`named`, `asked`, `valid`, `invalid`"),
        Column("reason", means="why it is invalid"),
        Column("found_at", _T),
        Column("mentions", _N, "posts of members that mention it"),
        Column("replies", _N),
        Column("reposts", _N),
        Column("listed", _N, "lists of members that it is on"),
        Column("votes_at", _T, "when those around it were counted"),
        Column("followed_by_yes", _N, "who are judged to belong, and follow it"),
        Column("followed_by_no", _N),
        Column("follows_yes", _N),
        Column("follows_no", _N),
        Column("mentioned_by_yes", _N),
        Column("mentioned_by_no", _N),
    ),
)
LABELS = Shape(
    "labels",
    (
        Column("crawl"),
        Column("judge"),
        Column("said", means="what the judge said when the sample was drawn"),
        Column("id"),
        Column("handle"),
        Column("who", means="the person who labelled"),
        Column("label", means="`yes`, `no` or `unsure`"),
        Column("at", _T),
    ),
)
MODULE_RUNS = Shape(
    "module_runs",
    (
        Column("run", _N),
        Column("crawl"),
        Column("module"),
        Column("is_by_hand", Kind.FLAG),
        Column("started_at", _T),
        Column("ended_at", _T, "empty: it runs, or its process ended first"),
        Column("counts", Kind.DOCUMENT, "what it did"),
        Column("error"),
    ),
)
GROWTH = Shape(
    "growth",
    (
        Column("name", means="of the table"),
        Column("at", _T),
        Column("rows", _N),
        Column("is_exact", Kind.FLAG, "counted, as against estimated"),
    ),
)
SHAPES = {
    shape.name: shape
    for shape in (
        *(POSTS, USERS, FOLLOWS, REACTIONS, MEDIA, JUDGEMENTS, CALLS, KEYWORDS),
        *(CANDIDATES, LABELS, MODULE_RUNS, GROWTH),
    )
}
