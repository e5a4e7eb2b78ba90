"""What the columns of exported rows say about people and posts, and so what becomes of them."""

from __future__ import annotations

from msgspec import Struct

COPIED = ("text", "warning", "poll", "links", "tags", "cashtags", "mentions", "media")
"""What a repost has of the post that it passes on."""


DOCUMENTS = ("poll", "evidence")
"""JSON: in JSON lines as it is, elsewhere as a text."""


class Rules(Struct, frozen=True, kw_only=True):
    """One kind of rows."""

    users: tuple[tuple[str, str], ...] = ()
    """Columns with the id and the handle of an account: without it there is no row."""
    posts: tuple[str, ...] = ()
    """Ids of posts without which there is no row."""
    references: tuple[str, ...] = ()
    """Ids of other posts: emptied where one was forgotten."""
    mentions: tuple[str, ...] = ()
    """Lists of accounts."""
    texts: tuple[str, ...] = ()
    """What people wrote; lists and documents too. Names of the forgotten are taken out."""
    lines: tuple[str, ...] = ()
    """What services or we wrote: the same, but any word may be a key."""

    @property
    def columns(self) -> tuple[str, ...]:
        """All that must be read of a row."""
        people = [name for pair in self.users for name in pair]
        whole = (*people, *self.posts, *self.references, *self.mentions, *self.texts, *self.lines)
        return tuple(dict.fromkeys((*whole, "network", "subject", "id", "handle", *COPIED)))


RULES = {
    "posts": Rules(
        users=(("author_id", "author_handle"),),
        posts=("id",),
        references=("reply_to", "repost_of", "quote_of", "root"),
        mentions=("mentions",),
        texts=("text", "warning", "links", "url", "source", "labels", "place", "poll"),
    ),
    "users": Rules(users=(("id", "handle"),), texts=("name", "description", "location", "url", "avatar", "labels")),
    "follows": Rules(users=(("source_id", "source_handle"), ("target_id", "target_handle"))),
    "reactions": Rules(users=(("user_id", "user_handle"),), posts=("post_id",)),
    "media": Rules(users=(("author_id", "author_handle"),), posts=("post_id",), texts=("description",)),
    "judgements": Rules(texts=("evidence",)),
    "calls": Rules(lines=("targets", "detail")),
    "keywords": Rules(texts=("term",)),
    "candidates": Rules(users=(("id", "handle"),)),
    "labels": Rules(users=(("id", "handle"),), lines=("who",)),
    "module_runs": Rules(lines=("counts", "error")),
    "growth": Rules(),
}
"""By what was exported. Judgements are about an account or a post, which `subject` tells."""
