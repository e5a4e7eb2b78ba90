"""Graphs that can be looked at: those who answer each other, and what is around one account."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from bowerbird.db.sqlite.millions import by_number
from bowerbird.ports import Database, Transaction
from bowerbird.reports.statistics.documents import read_document
from bowerbird.reports.statistics.people import Person, read_people
from bowerbird.store.posts.by_id import is_same

MOST_NODES = 100
_POSTS = 1_000
"""The latest posts of an account, and of those that name it, that are looked at."""
_LISTED = 1_000
_AUTHOR = f"(select a.author from posts a where {is_same('a.id', '{id}')})"
_WROTE = f"""
(select post_no, id, kind, reply_to, repost_of from posts
where author = ? and deleted_at is null order by {by_number("post_no", "desc")} limit ?)
"""
_MENTIONS_OUT = f"select m.user_no as who from {_WROTE} p join post_mentions m on m.post_no = p.post_no where p.kind <> 'repost'"
_NAMES = f"select {{author}} as who from {_WROTE} p where p.{{column}} is not null"
_MENTIONS_IN = """
select p.author as who from (select post_no from post_mentions where user_no = ? order by post_no desc limit ?) m
join posts p on p.post_no = m.post_no where p.deleted_at is null and p.kind <> 'repost'
"""
# Crossed, so that the posts of the account are gone through and not all others.
_ANSWERED = f"""
select r.author as who from {_WROTE} p cross join posts r where {is_same("r.reply_to", "p.id")} and r.deleted_at is null
limit {_LISTED}
"""
_REPOSTED = f"""
select r.author as who from {_WROTE} p cross join posts r where {is_same("r.repost_of", "p.id")} and r.deleted_at is null
limit {_LISTED}
"""
_LISTED_REPOSTS = f"""
select x.user_no as who from {_WROTE} p cross join reactions x
where x.post_no = p.post_no and x.kind = 'repost' and x.gone_at is null and not exists (
    select 1 from posts r where {is_same("r.repost_of", "p.id")} and r.author = x.user_no and r.deleted_at is null)
limit {_LISTED}
"""
_FOLLOWS = """
select {other} as who from relations where kind = 'follow' and {own} = ? and removed_at is null limit ?
"""
_AMONG = """
select source, target from relations
where kind = 'follow' and source {several} and target {several} and removed_at is null
"""
WEIGHTS = {
    "replies": 3, "answered by": 3, "mentions": 2, "mentioned by": 2, "reposts": 2, "reposted by": 2,
    "follows": 1, "followed by": 1,
}  # fmt: skip
"""What each tie counts when the strongest are chosen: who is answered is nearer than who is followed."""
BACK = {"follows": "followed by", "mentions": "mentioned by", "replies": "answered by", "reposts": "reposted by"}
"""What a tie is called from its other end."""
_FORTH = {back: kind for kind, back in BACK.items()}

_SPOKEN = frozenset({"replies", "reposts", "mentions"})


class Edge(Struct, frozen=True, kw_only=True):
    source: int
    target: int
    weight: int
    kind: str


class Graph(Struct, frozen=True, kw_only=True):
    """Accounts and ties between them."""

    as_of: datetime | None
    """None: as it is now."""
    people: Sequence[Person]
    groups: Mapping[int, int]
    """By account the number of its group: those who are tied together, the largest first."""
    edges: Sequence[Edge]
    left_out: int
    """Accounts (around one) or pairs (of friends) that are not shown, being weaker."""
    spoken_to: tuple[int, ...] = ()
    """Around an account: how often it mentioned, answered or passed on each of those who may be told of."""


class _Friends(Struct):
    pairs: int
    strongest: list[tuple[int, int, int, int]]


async def read_friends(tx: Transaction, database: Database, most: int = 3 * MOST_NODES) -> Graph | None:
    """The pairs that answered each other at least twice in both directions, the strongest of them."""
    found = await read_document(tx, "friends", _Friends)
    if found is None:
        return None
    kept, at = found
    shown: list[tuple[int, int, int, int]] = []
    nodes: set[int] = set()
    for pair in kept.strongest:
        if len(nodes | {pair[0], pair[1]}) <= most:
            nodes |= {pair[0], pair[1]}
            shown.append(pair)
    people = await read_people(tx, database, nodes)
    edges = [
        Edge(source=one, target=two, weight=there + back, kind="replies")
        for one, two, there, back in shown
        if one in people and two in people
    ]
    tied = {end for edge in edges for end in (edge.source, edge.target)}
    return Graph(
        as_of=at,
        people=[people[number] for number in sorted(tied)],
        groups=groups(edges),
        edges=edges,
        left_out=kept.pairs - len(edges),
    )


async def read_around(tx: Transaction, database: Database, user: int, most: int = MOST_NODES) -> Graph | None:
    """Whom an account follows, answers, names and passes on, and who does so to it, by the latest posts; the strongest ties, and
    who follows whom among them. None: nobody has that number, or nothing may be told."""
    own = await read_people(tx, database, [user])
    if user not in own:
        return None
    ties = await _ties(tx, user)
    strength: Counter[int] = Counter()
    for (who, kind), n in ties.items():
        strength[who] += WEIGHTS[kind] * n
    ranked = sorted(strength, key=lambda who: (-strength[who], who))
    people = await read_people(tx, database, ranked[: 2 * most])
    chosen = [who for who in ranked if who in people][:most]
    edges = [_edge(user, who, kind, n) for (who, kind), n in sorted(ties.items()) if who in set(chosen)]
    edges += await _among(tx, database, chosen)
    between = [edge for edge in edges if user not in (edge.source, edge.target)]
    left_out = len(ranked) - len(chosen)
    known = [own[user], *(people[who] for who in chosen)]
    spoken: Counter[int] = Counter()
    for (who, kind), n in ties.items():
        if who in people and kind in _SPOKEN:
            spoken[who] += n
    told = tuple(sorted(spoken.values(), reverse=True))
    return Graph(as_of=None, people=known, groups=groups(between), edges=edges, left_out=left_out, spoken_to=told)


_QUESTIONS = (
    ("replies", _NAMES.format(column="reply_to", author=_AUTHOR.format(id="p.reply_to")), _POSTS),
    ("answered by", _ANSWERED, _POSTS),
    ("reposts", _NAMES.format(column="repost_of", author=_AUTHOR.format(id="p.repost_of")), _POSTS),
    ("reposted by", _REPOSTED, _POSTS),
    ("reposted by", _LISTED_REPOSTS, _POSTS),
    ("mentions", _MENTIONS_OUT, _POSTS),
    ("mentioned by", _MENTIONS_IN, _POSTS),
    ("follows", _FOLLOWS.format(own="source", other="target"), _LISTED),
    ("followed by", _FOLLOWS.format(own="target", other="source"), _LISTED),
)


async def _ties(tx: Transaction, user: int) -> Counter[tuple[int, str]]:
    found: Counter[tuple[int, str]] = Counter()
    for kind, sql, most in _QUESTIONS:
        found.update((row["who"], kind) for row in await tx.fetch(sql, user, most) if row["who"] not in (None, user))
    return found


def _edge(user: int, who: int, kind: str, n: int) -> Edge:
    if kind in _FORTH:
        return Edge(source=who, target=user, weight=n, kind=_FORTH[kind])
    return Edge(source=user, target=who, weight=n, kind=kind)


async def _among(tx: Transaction, database: Database, chosen: Sequence[int]) -> Sequence[Edge]:
    if not chosen:
        return []
    numbers = database.members(list(chosen))
    rows = await tx.fetch(_AMONG.format(several=database.any("bigint")), numbers, numbers)
    return [Edge(source=row["source"], target=row["target"], weight=1, kind="follows") for row in rows]


def groups(edges: Iterable[Edge]) -> dict[int, int]:
    """Who belongs together, the largest group first: everybody takes the group that most of the ties around it have."""
    around: dict[int, Counter[int]] = {}
    for edge in edges:
        around.setdefault(edge.source, Counter())[edge.target] += edge.weight
        around.setdefault(edge.target, Counter())[edge.source] += edge.weight
    group = {node: node for node in around}
    for _ in range(20):
        moved = False
        for node in sorted(around):
            votes: Counter[int] = Counter()
            for other, weight in around[node].items():
                votes[group[other]] += weight
            best = max(votes, key=lambda each: (votes[each], each == group[node], -each))
            moved, group[node] = moved or best != group[node], best
        if not moved:
            break
    sizes = Counter(group.values())
    order = {name: place for place, (name, _) in enumerate(sorted(sizes.items(), key=lambda item: (-item[1], item[0])))}
    return {node: order[name] for node, name in group.items()}
