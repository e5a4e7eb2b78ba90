"""Which source listed which post: what tells a search from a stream beside it, and whose authors a queue must know."""

from __future__ import annotations

from collections.abc import Iterable

from bowerbird.model import Facet, Page, Subject
from bowerbird.ports import Database
from bowerbird.store.context import SaveContext
from bowerbird.store.posts.by_id import with_ids


class ListedStatements:
    """The statements of this file in one database's words."""

    def __init__(self, database: Database) -> None:
        # In the order of the numbers, so that two transactions never wait for each other in a circle.
        self.note = (
            "insert into sightings (post_no, lane, at, call) "
            "select p.post_no, c.lane, cast(? as bigint), c.call from calls c cross join posts p "
            f"where c.call = ? and {with_ids(database, 'p')} order by p.post_no on conflict (post_no, lane) do nothing"
        )


def is_source(facet: Facet) -> bool:
    """Whether its pages list posts for what they say: searches, hashtags, public timelines, streams."""
    return facet.subject is Subject.WORD and "posts" in facet.yields


def is_compared(asked: Iterable[Facet], streams: int) -> bool:
    """Whether a crawl needs to know which source listed a post: it searches, or it has several streams, which are compared with
    each other as a search is with a stream."""
    return streams > 1 or any(map(is_source, asked))


async def note_sightings(s: SaveContext, sql: ListedStatements, page: Page) -> None:
    """Remembers that this source listed these posts, each once; those that only came along were not listed."""
    listed = [post.id for post in page.posts if post.id not in page.along]
    await s.execute_in(sql.note, listed, s.at, s.call)
