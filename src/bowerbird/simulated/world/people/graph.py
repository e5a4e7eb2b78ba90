"""Who follows whom, and since when: every edge has a beginning and an end, so the graph can be asked as of any time."""

from __future__ import annotations

import numpy as np

from bowerbird.simulated.world.hashing import generator
from bowerbird.simulated.world.people.population import Array, Population
from bowerbird.simulated.world.settings import DAY, NEVER, WorldSettings


class FollowGraph:
    """Edges sorted by account on either side, each named by its rank: the number a server would give the follow."""

    def __init__(self, settings: WorldSettings, people: Population) -> None:
        rng = generator(settings.seed, 2)
        sources, targets = _edges(settings, people, rng)
        since, until = _lifetimes(settings, people, rng, sources, targets)
        order = np.argsort(since, kind="stable")
        self.since = since[order]
        self.until = until[order]
        ranks = np.arange(len(order), dtype=np.int32)
        self._following = _Side(sources[order], targets[order], ranks, self.until, len(people))
        self._followers = _Side(targets[order], sources[order], ranks, self.until, len(people))

    def __len__(self) -> int:
        return len(self.since)

    def following(self, account: int, now: int) -> tuple[Array, Array]:
        """Whom the account follows at that time and the edges' ranks, oldest first."""
        return self._live(self._following, account, now)

    def followers(self, account: int, now: int) -> tuple[Array, Array]:
        return self._live(self._followers, account, now)

    def counts(self, account: int, now: int) -> tuple[int, int]:
        """Followers and following at that time."""
        begun = self._begun(now)
        return self._followers.count(account, now, begun), self._following.count(account, now, begun)

    def ever_followed_by(self, account: int) -> Array:
        """All who ever follow the account."""
        return self.all_followers(account)[0]

    def all_followers(self, account: int) -> tuple[Array, Array]:
        """All who ever follow the account, and the edges' ranks."""
        side = self._followers
        part = slice(side.start[account], side.start[account + 1])
        return side.other[part], side.rank[part]

    def picks(self, accounts: Array, draws: Array, times: Array) -> Array:
        """For each account one it follows at that time, chosen by a draw in [0, 1); -1 where the draw hits nobody."""
        side = self._following
        degree = side.start[accounts + 1] - side.start[accounts]
        place = side.start[accounts] + np.minimum((draws * degree).astype(np.int64), np.maximum(degree - 1, 0))
        place = np.minimum(place, max(len(side.other) - 1, 0))
        rank = side.rank[place]
        is_live = (degree > 0) & (self.since[rank] <= times) & (times < self.until[rank])
        return np.where(is_live, side.other[place], -1)

    def everyone_followed(self, account: int) -> Array:
        """All whom the account ever follows."""
        side = self._following
        return side.other[side.start[account] : side.start[account + 1]]

    def ends(self) -> tuple[Array, Array]:
        """Who follows and who is followed, by the edge's rank."""
        sources, targets = np.empty(len(self), np.int32), np.empty(len(self), np.int32)
        sources[self._followers.rank] = self._followers.other
        targets[self._following.rank] = self._following.other
        return sources, targets

    def _live(self, side: _Side, account: int, now: int) -> tuple[Array, Array]:
        start = int(side.start[account])
        stop = start + int(np.searchsorted(side.rank[start : side.start[account + 1]], self._begun(now)))
        rank = side.rank[start:stop]
        is_live = self.until[rank] > now
        return side.other[start:stop][is_live], rank[is_live]

    def _begun(self, now: int) -> int:
        """All edges with a smaller rank have begun by then."""
        return int(np.searchsorted(self.since, now, side="right"))


class _Side:
    """One end of all edges: for each account a stretch of the other ends and of ranks, in the order of ranks."""

    def __init__(self, ends: Array, other: Array, ranks: Array, until: Array, accounts: int) -> None:
        order = np.argsort(ends, kind="stable")
        self.other = other[order]
        self.rank = ranks[order]
        self.start = _starts(ends, accounts)
        ended = np.flatnonzero(until != NEVER)
        ended = ended[np.lexsort((until[ended], ends[ended]))]
        self._ended = until[ended]
        self._ended_start = _starts(ends[ended], accounts)

    def count(self, account: int, now: int, begun: int) -> int:
        """Edges begun less edges ended: two searches, however popular the account."""
        edges = self.rank[self.start[account] : self.start[account + 1]]
        ended = self._ended[self._ended_start[account] : self._ended_start[account + 1]]
        return int(edges.searchsorted(begun) - ended.searchsorted(now, side="right"))


def _starts(ends: Array, accounts: int) -> Array:
    starts = np.zeros(accounts + 1, np.int64)
    np.cumsum(np.bincount(ends, minlength=accounts), out=starts[1:])
    return starts


def _edges(settings: WorldSettings, people: Population, rng: np.random.Generator) -> tuple[Array, Array]:
    n = len(people)
    degree = np.minimum(rng.lognormal(np.log(settings.following) - 0.72, 1.2, n), n / 3).astype(np.int64) + 1
    sources = np.repeat(np.arange(n, dtype=np.int64), degree)
    targets = _by_popularity(people.popularity, np.arange(n), rng.random(len(sources)))
    at_home = rng.random(len(sources)) < 0.7
    for town in np.unique(people.community):
        members = np.flatnonzero(people.community == town)
        chosen = np.flatnonzero(at_home & (people.community[sources] == town))
        targets[chosen] = _by_popularity(people.popularity[members], members, rng.random(len(chosen)))
    pairs = np.sort(sources * n + targets)
    # Sorted first: numpy's own way to distinct numbers, by hashing, takes many times as long.
    pairs = pairs[np.append(True, pairs[1:] != pairs[:-1])]
    sources, targets = pairs // n, pairs % n
    keep = sources != targets
    return sources[keep].astype(np.int32), targets[keep].astype(np.int32)


def _by_popularity(weights: Array, members: Array, draws: Array) -> Array:
    total = np.cumsum(weights)
    chosen: Array = members[np.searchsorted(total, draws * total[-1], side="right").clip(0, len(members) - 1)]
    return chosen


def _lifetimes(
    settings: WorldSettings, people: Population, rng: np.random.Generator, sources: Array, targets: Array
) -> tuple[Array, Array]:
    count = len(sources)
    born = np.maximum(people.created[sources], people.created[targets])
    horizon = settings.horizon.days * DAY
    later = settings.start_ms + (rng.random(count) * horizon).astype(np.int64)
    earlier = born + (rng.random(count) * np.maximum(settings.start_ms - born, 0)).astype(np.int64)
    is_later = (rng.random(count) < 0.2) | (born >= settings.start_ms)
    since = np.maximum(np.where(is_later, later, earlier), born)
    lasts = (rng.exponential(900 * DAY, count)).astype(np.int64)
    ends = np.maximum(since, settings.start_ms) + lasts
    until = np.where(ends < settings.start_ms + horizon, ends, NEVER)
    gone = np.minimum(people.left[sources], people.left[targets])
    return since, np.maximum(np.minimum(until, gone), since)
