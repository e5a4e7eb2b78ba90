"""What hangs on a post and was not found by the parsers of its time: hashtags, cashtags, mentions, media. It is only added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from bowerbird.db.texts import Checked
from bowerbird.model import Post, tags_by_form
from bowerbird.ports import Database
from bowerbird.store.context import SaveContext
from bowerbird.store.people.names import id_for
from bowerbird.store.posts.attachments import CASHTAG, MENTION, TAG, media_writes

Parts = Mapping[int, Post]
"""Posts by their numbers."""


class MissingParts:
    """Finds and adds them, in one database's words."""

    def __init__(self, database: Database) -> None:
        several = database.any("bigint")
        self._tags = f"select post_no, tag from post_tags where post_no {several}"
        self._cashtags = f"select post_no, cashtag from post_cashtags where post_no {several}"
        self._mentions = f"select post_no, user_no from post_mentions where post_no {several}"
        self._media = f"select distinct post_no from media where post_no {several}"
        self._people = f"select user_no, id from users where coalesce(opts_out, 0) = 0 and id {database.any('text')}"

    async def add(self, s: SaveContext, posts: Parts) -> tuple[Counter[str], set[int]]:
        """Adds what is missing; answers how many posts got each kind, and which posts they are."""
        added = {
            "tags": await self._add_tags(s, posts),
            "cashtags": await self._add_cashtags(s, posts),
            "mentions": await self._add_mentions(s, posts),
            "media": await self._add_media(s, posts),
        }
        return Counter({f"posts.{kind}": len(which) for kind, which in added.items() if which}), set().union(*added.values())

    async def _add_tags(self, s: SaveContext, posts: Parts) -> set[int]:
        told = {n: tags_by_form(post.tags) for n, post in posts.items() if post.tags}
        known = {(row["post_no"], row["tag"]) for row in await s.fetch_in(self._tags, sorted(told))}
        rows = [(form, n, None if tag == form else tag) for n, forms in told.items() for form, tag in forms.items()]
        missing = sorted(row for row in rows if (row[1], row[0]) not in known)
        await s.execute_many(TAG, Checked(missing))
        return {row[1] for row in missing}

    async def _add_cashtags(self, s: SaveContext, posts: Parts) -> set[int]:
        told = {(each.upper(), n) for n, post in posts.items() for each in post.cashtags}
        found = await s.fetch_in(self._cashtags, sorted({n for _, n in told}))
        missing = sorted(told - {(row["cashtag"], row["post_no"]) for row in found})
        await s.execute_many(CASHTAG, missing)
        return {n for _, n in missing}

    async def _add_mentions(self, s: SaveContext, posts: Parts) -> set[int]:
        """Those of accounts that the store knows; a server's own keys tell nothing without the server."""
        if s.origin.has_local_keys:
            return set()
        told = {(n, id_for(s.origin.network, "", key)) for n, post in posts.items() for key in post.mentions}
        people = {row["id"]: row["user_no"] for row in await s.fetch_in(self._people, sorted({known for _, known in told}))}
        known = {(row["post_no"], row["user_no"]) for row in await s.fetch_in(self._mentions, sorted({n for n, _ in told}))}
        missing = sorted({(n, people[each]) for n, each in told if each in people} - known)
        await s.execute_many(MENTION, missing)
        return {n for n, _ in missing}

    async def _add_media(self, s: SaveContext, posts: Parts) -> set[int]:
        """Only where none is known: which of several is new, a payload does not tell."""
        told = {n: post.media for n, post in posts.items() if post.media}
        bare = told.keys() - {row["post_no"] for row in await s.fetch_in(self._media, sorted(told))}
        await s.tx.execute_all([media_writes(s, [(n, posts[n]) for n in sorted(bare)])])
        return set(bare)
