"""What a crawl found of its places: who and what belongs to each, what decided, and how much two of them share."""

from __future__ import annotations

from msgspec import Struct

from bowerbird.model import Source, Subject
from bowerbird.ports import Database

_COUNTS = """
select value as place, subject, reason as source, count(*) as found from judgements where judge = 'place'
group by value, subject, reason
"""
_SHARED = """
select a.value as one, b.value as other, a.subject as subject, count(*) as shared
from judgements a join judgements b on b.judge = a.judge and b.subject = a.subject and b.id = a.id and a.value < b.value
where a.judge = 'place' group by a.value, b.value, a.subject
"""


_TOLD = (Source.COORDINATES, Source.PLACE)
"""What the post itself tells, and a network can be asked for."""


class PlaceCount(Struct, frozen=True, kw_only=True):
    """One place: how many accounts and posts belong to it, by what decided."""

    place: str
    users: dict[str, int]
    posts: dict[str, int]

    @property
    def all_users(self) -> int:
        return sum(self.users.values())

    @property
    def all_posts(self) -> int:
        return sum(self.posts.values())

    def gained(self, found: dict[str, int]) -> float | None:
        """What profiles and words brought besides, as a part of what posts tell by themselves; None where that is nothing."""
        told = sum(found.get(source, 0) for source in _TOLD)
        return round((sum(found.values()) - told) / told, 4) if told else None


class Sharing(Struct, frozen=True, kw_only=True):
    """How much two places share: what belongs to both, of what belongs to either (Jaccard)."""

    places: tuple[str, str]
    users: float
    posts: float


async def read_places(database: Database, names: tuple[str, ...] = ()) -> tuple[list[PlaceCount], list[Sharing]]:
    """The places (also those named without a find) and what every two of them share."""
    async with database.reading() as tx:
        counts = await tx.fetch(_COUNTS)
        shared = await tx.fetch(_SHARED)
    found: dict[tuple[str, str], dict[str, int]] = {}
    for row in counts:
        found.setdefault((row["place"], row["subject"]), {})[row["source"]] = row["found"]
    known = dict.fromkeys((*names, *sorted(row["place"] for row in counts)))
    places = [_count(place, found) for place in known]
    # By unordered pair: the databases need not sort names as Python does.
    both = {(frozenset((row["one"], row["other"])), row["subject"]): row["shared"] for row in shared}
    return places, [_sharing(one, other, both) for number, one in enumerate(places) for other in places[number + 1 :]]


def _count(place: str, found: dict[tuple[str, str], dict[str, int]]) -> PlaceCount:
    users, posts = (found.get((place, subject.value), {}) for subject in (Subject.USER, Subject.POST))
    order = [source.value for source in Source]
    return PlaceCount(
        place=place,
        users={source: users[source] for source in order if source in users},
        posts={source: posts[source] for source in order if source in posts},
    )


def _sharing(one: PlaceCount, other: PlaceCount, both: dict[tuple[frozenset[str], str], int]) -> Sharing:
    pair = frozenset((one.place, other.place))
    users, posts = (both.get((pair, subject.value), 0) for subject in (Subject.USER, Subject.POST))
    return Sharing(
        places=(one.place, other.place),
        users=_jaccard(users, one.all_users, other.all_users),
        posts=_jaccard(posts, one.all_posts, other.all_posts),
    )


def _jaccard(both: int, one: int, other: int) -> float:
    either = one + other - both
    return round(both / either, 4) if either else 0.0
