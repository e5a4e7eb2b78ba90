"""What each reply, repost, quote and like of a day refers to, and who refers to a post: the two directions of one truth."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from bowerbird.simulated.world.hashing import generator, mix_many, unit_many
from bowerbird.simulated.world.passing.days import Writing
from bowerbird.simulated.world.people.graph import FollowGraph
from bowerbird.simulated.world.people.population import Array, Population
from bowerbird.simulated.world.posts.rows import LIKE, POST, REPOST, numbers_of
from bowerbird.simulated.world.posts.tags import NO_EVENT
from bowerbird.simulated.world.settings import NEVER

REACH = 2
"""Nobody passes on a post more than this many days after it was written."""
_TRIES = 4
_SECOND_HAND = 0.35
"""Share of reposts found through another's repost: that makes cascades."""
_DELETED = 0.04


class References(Struct, frozen=True):
    """All reactions of a day by target: those to `target[i]` lie from `start[i]` to `start[i + 1]`, in the order of time."""

    target: Array
    start: Array
    by: Array
    """Number of the reacting post; for a like, the account."""
    ms: Array
    kind: Array
    gone_at: Array

    def of(self, number: int) -> slice:
        place = int(self.target.searchsorted(number))
        if place == len(self.target) or self.target[place] != number:
            return slice(0, 0)
        return slice(int(self.start[place]), int(self.start[place + 1]))


class Day(Struct, frozen=True):
    """One day, complete: posts with targets and ends, likes, and both looked up from the other side."""

    number: Array
    kind: Array
    target: Array
    tag: Array
    second_tag: Array
    gone_at: Array
    event: Array
    start: Array
    """Where each account's posts begin; one longer than the accounts."""
    liked_start: Array
    liked: Array
    liked_ms: Array
    references: References


class Resolver:
    """Finds what an account may have seen: the recent posts of those it follows."""

    def __init__(self, seed: int, graph: FollowGraph, people: Population) -> None:
        self._seed = seed
        self._graph = graph
        self._people = people

    def resolve(self, day: int, salt: int, author: Array, ms: Array, seen: list[Writing]) -> Array:
        """For each action the number of a post of somebody followed, or 0 where nothing was to be seen."""
        pool = _Pool(seen)
        found = np.zeros(len(author), np.int64)
        rng = generator(self._seed, 6, salt, day & 0xFFFFFFFF)
        for _ in range(_TRIES):
            draws, back = rng.random(len(author)), rng.geometric(0.5, len(author))
            open_ = np.flatnonzero(found == 0)
            whom = self._graph.picks(author[open_], draws[open_], ms[open_])
            is_public = (whom >= 0) & (self._people.protected[whom] == NEVER)
            found[open_] = np.where(is_public, pool.latest(whom, ms[open_], back[open_]), 0)
        return found

    def second_hand(self, day: int, author: Array, ms: Array, found: Array) -> Array:
        """Reposts of what somebody followed has reposted shortly before, where the draw says so."""
        rng = generator(self._seed, 7, day & 0xFFFFFFFF)
        draws, wants = rng.random(len(author)), rng.random(len(author)) < _SECOND_HAND
        whom = self._graph.picks(author, draws, ms)
        keys = _keys(author, ms)
        place = np.searchsorted(keys, _keys(np.maximum(whom, 0), ms)) - 1
        is_theirs = (place >= 0) & (whom >= 0) & (author[np.maximum(place, 0)] == whom)
        passed_on = np.where(is_theirs, found[np.maximum(place, 0)], 0)
        is_own = (passed_on & ((1 << 22) - 1)) == author
        return np.where(wants & (passed_on > 0) & ~is_own, passed_on, found)


class _Pool:
    """Everything that can be answered or passed on, sorted by (account, time)."""

    def __init__(self, seen: list[Writing]) -> None:
        author = np.concatenate([part.author[part.kind != REPOST] for part in seen])
        ms = np.concatenate([part.ms[part.kind != REPOST] for part in seen])
        order = np.argsort(_keys(author, ms), kind="stable")
        self._author, self._ms = author[order], ms[order]
        self._key = _keys(self._author, self._ms)

    def latest(self, whom: Array, before: Array, back: Array) -> Array:
        if not len(self._key):
            return np.zeros(len(whom), np.int64)
        place = np.searchsorted(self._key, _keys(np.maximum(whom, 0), before)) - back
        place = np.maximum(place, 0)
        is_theirs = (self._author[place] == whom) & (self._ms[place] < before)
        return np.where(is_theirs, numbers_of(self._ms[place], self._author[place]), 0)


def _keys(author: Array, ms: Array) -> Array:
    return (author.astype(np.int64) << 44) | ms


def own_end(seed: int, numbers: Array) -> Array:
    """When each post is deleted by its author: mostly soon, if at all."""
    draw = mix_many(numbers ^ np.int64(seed & 0x7FFFFFFF), 11)
    is_deleted = unit_many(draw) < _DELETED
    delay = np.exp(6.0 + 14.0 * unit_many(mix_many(draw, 12)) ** 1.2)
    ms = (numbers >> 22) + 1_288_834_974_657
    return np.where(is_deleted, ms + 60_000 + delay.astype(np.int64), NEVER)


def complete(day: int, seed: int, accounts: int, writing: list[Writing], liking: tuple[Array, Array], resolver: Resolver) -> Day:
    """The day with everything it refers to; `writing` holds the days before it that can be seen, then its own."""
    today = writing[-1]
    number = numbers_of(today.ms, today.author)
    target = _targets(day, today, writing, resolver)
    kind = np.where(target == 0, POST, today.kind).astype(np.int8)
    gone_at = own_end(seed, number)
    is_repost = kind == REPOST
    event = np.where(is_repost, NO_EVENT, today.event).astype(np.int32)
    gone_at[is_repost] = np.minimum(gone_at[is_repost], np.maximum(own_end(seed, target[is_repost]), today.ms[is_repost]))
    liker, liked_ms = liking
    liked = resolver.resolve(day, 2, liker, liked_ms, writing)
    keep = np.flatnonzero(liked)
    keep = keep[np.argsort(_keys(liker[keep], liked_ms[keep]), kind="stable")]
    keep = keep[np.sort(np.unique(mix_many(liked[keep]) ^ mix_many(liker[keep], 5), return_index=True)[1])]
    liker, liked_ms, liked = liker[keep], liked_ms[keep], liked[keep]
    return Day(
        number, kind, target, today.tag, today.second_tag, gone_at, event,
        _starts(today.author, accounts), _starts(liker, accounts), liked, liked_ms,
        _references(
            np.concatenate([target, liked]),
            np.concatenate([number, liker]),
            np.concatenate([today.ms, liked_ms]),
            np.concatenate([kind, np.full(len(liked), LIKE, np.int8)]),
            np.concatenate([gone_at, np.full(len(liked), NEVER)]),
        ),
    )  # fmt: skip


def _targets(day: int, today: Writing, writing: list[Writing], resolver: Resolver) -> Array:
    target = np.zeros(len(today.author), np.int64)
    acts = np.flatnonzero(today.kind != POST)
    target[acts] = resolver.resolve(day, 1, today.author[acts], today.ms[acts], writing)
    reposts = np.flatnonzero(today.kind == REPOST)
    target[reposts] = resolver.second_hand(day, today.author[reposts], today.ms[reposts], target[reposts])
    # Nobody can repost the same post twice: the second becomes an ordinary post.
    pair = mix_many(target[reposts]) ^ mix_many(today.author[reposts], 5)
    is_first = np.zeros(len(reposts), bool)
    is_first[np.unique(pair, return_index=True)[1]] = True
    target[reposts[~is_first]] = 0
    return target


def _starts(author: Array, accounts: int) -> Array:
    starts = np.zeros(accounts + 1, np.int32)
    np.cumsum(np.bincount(author, minlength=accounts), out=starts[1:])
    return starts


def _references(target: Array, by: Array, ms: Array, kind: Array, gone_at: Array) -> References:
    refers = np.flatnonzero(target)
    order = refers[np.lexsort((ms[refers], target[refers]))]
    targets, start = np.unique(target[order], return_index=True)
    start = np.append(start, len(order)).astype(np.int32)
    return References(targets, start, by[order], ms[order], kind[order], gone_at[order])
