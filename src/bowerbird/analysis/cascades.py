"""Who passed a post on to whom: the tree behind a list of reposts and quotes. Pure.

Networks tell that somebody passed a post on, but not where it was seen. A repost is attributed to the latest earlier one by an
account that the user follows, or to the author if that is whom the user follows; where the service tells the repost through which
another came (Weibo, Bluesky), that is so, and where the words themselves name somebody (Weibo's `//@name:`), that counts. What
nobody can tell is attributed to the author and marked so.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from bowerbird.model import Passed, Passing, PostKind

_NAMED = re.compile("//@([^:\uff1a/@\\s]{1,60})[:\uff1a]")
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class How(StrEnum):
    """Why a step is attributed as it is."""

    TOLD = "told"
    """The service says from which repost it came."""
    NAMED = "named"
    """The words say from whom it came."""
    FOLLOWS = "follows"
    """The user follows somebody who had passed it on before; the latest of them."""
    DIRECT = "direct"
    """The user follows the author, and nobody else who had it before."""
    UNKNOWN = "unknown"
    """Found some other way, or the user's follows are not known."""


class Step(NamedTuple):
    """One node of the tree; the first one is the post itself."""

    user: int
    kind: PostKind
    of: int | None
    """The post that was passed on."""
    as_post: int | None
    at: datetime | None
    parent: int
    """The step it came from, by place in the cascade; the root is its own parent."""
    how: How | None
    depth: int


class Cascade(NamedTuple):
    """The tree of one post, in the order in which things happened."""

    steps: tuple[Step, ...]

    @property
    def size(self) -> int:
        """How often it was passed on."""
        return len(self.steps) - 1

    @property
    def depth(self) -> int:
        return max(step.depth for step in self.steps)

    @property
    def people(self) -> int:
        """Accounts that took part, the author included."""
        return len({step.user for step in self.steps})

    @property
    def kinds(self) -> Counter[PostKind]:
        return Counter(step.kind for step in self.steps[1:])

    @property
    def ways(self) -> Counter[How]:
        return Counter(step.how for step in self.steps if step.how is not None)

    @property
    def virality(self) -> float:
        """Structural virality: the mean distance between two nodes; below 2 for a broadcast, more for chains (Goel et al.)."""
        nodes = len(self.steps)
        below = [1] * nodes
        for place in range(nodes - 1, 0, -1):
            below[self.steps[place].parent] += below[place]
        # Each edge lies on the way between everybody below it and everybody else.
        ways = sum(below[place] * (nodes - below[place]) for place in range(1, nodes))
        return 2 * ways / (nodes * (nodes - 1)) if nodes > 1 else 0.0


def rebuild(passed: Passed) -> Cascade:
    """The cascade of one post: its reposts and quotes, those of its quotes, and so on."""
    tree = _Tree(passed)
    tree.grow()
    return Cascade(_in_time(tree.steps))


def in_order(passings: Iterable[Passing], begun: datetime | None) -> list[Passing]:
    """The passings of one post, oldest first; of an account that passed it on twice, the first time.

    Lists without times still tell the order, newest first: who stands there without a time came after the last one before it
    whose time is known.
    """
    listed: list[Passing] = []
    others: list[Passing] = []
    for each in passings:
        (others if each.place is None else listed).append(each)
    listed.sort(key=lambda each: (each.sweep, -(each.place or 0)))
    latest = begun or _LONG_AGO
    moments: list[tuple[datetime, int, Passing]] = []
    for rank, each in enumerate(listed):
        latest = max(latest, each.at or latest)
        moments.append((each.at or latest, rank, each))
    moments += [(each.at or each.found_at, len(listed), each) for each in others]
    moments.sort(key=lambda moment: (moment[0], moment[1], moment[2].user))
    first = {_once(each): each for _, _, each in reversed(moments)}
    return [each for _, _, each in moments if first[_once(each)] is each]


def _after_their_source(passings: Sequence[Passing]) -> Iterator[Passing]:
    """The same in the same order, but nobody before the repost through which it came: times are only to the second."""
    to_come = {each.as_post for each in passings if each.as_post is not None}
    waiting: defaultdict[int, list[Passing]] = defaultdict(list)
    for each in passings:
        if each.via is not None and each.via in to_come and each.via != each.as_post:
            waiting[each.via].append(each)
            continue
        ready = deque([each])
        while ready:
            one = ready.popleft()
            yield one
            to_come.discard(one.as_post)
            ready.extend(waiting.pop(one.as_post or 0, ()))
    yield from (each for circle in waiting.values() for each in circle)


def _once(passing: Passing) -> tuple[int, PostKind, int | None]:
    """What counts once: a repost by an account; but the same post may be quoted again, in other words."""
    return passing.user, passing.kind, passing.as_post if passing.kind is PostKind.QUOTE else None


class _Tree:
    """A cascade while it grows from its root: post by post, each with those who passed it on."""

    def __init__(self, passed: Passed) -> None:
        self._passed = passed
        self._by_post: defaultdict[int, list[Passing]] = defaultdict(list)
        for each in passed.passings:
            self._by_post[each.of].append(each)
        self._names = {handle: user for user, (_, handle) in passed.users.items() if handle}
        self._own: dict[int, int] = {}
        """Reposts and quotes that are posts of their own: where each stands."""
        self.steps = [Step(passed.author, PostKind.POST, None, passed.post, passed.at, 0, None, 0)]

    def grow(self) -> None:
        open_posts, known = deque([0]), {self._passed.post}
        while open_posts:
            source = open_posts.popleft()
            for place in self._pass_on(source):
                as_post = self.steps[place].as_post
                if self.steps[place].kind is PostKind.QUOTE and as_post is not None and as_post not in known:
                    known.add(as_post)
                    open_posts.append(place)

    def _pass_on(self, source: int) -> list[int]:
        """Adds everybody who passed on the post of one step; answers where they stand."""
        step = self.steps[source]
        had: dict[int, int] = {step.user: source}
        """Who has had the post so far, by user: the step."""
        added: list[int] = []
        for each in _after_their_source(in_order(self._by_post.pop(step.as_post or 0, ()), step.at)):
            parent, how = self._origin(each, source, had)
            place = len(self.steps)
            self.steps.append(
                Step(each.user, each.kind, each.of, each.as_post, each.at, parent, how, self.steps[parent].depth + 1)
            )
            added.append(place)
            if each.as_post is not None:
                self._own[each.as_post] = place
            if each.kind is PostKind.REPOST:
                had[each.user] = place
        return added

    def _origin(self, passing: Passing, source: int, had: Mapping[int, int]) -> tuple[int, How]:
        if passing.via is not None and passing.via in self._own:
            return self._own[passing.via], How.TOLD
        named = _NAMED.search(passing.words) if passing.words else None
        via = self._names.get(named[1]) if named else None
        if via is not None and via in had and via != passing.user:
            return had[via], How.NAMED
        followed = self._passed.follows.get(passing.user, frozenset())
        places = [had[user] for user in followed if user in had and user != passing.user]
        if not places:
            return source, How.UNKNOWN
        latest = max(places)
        return latest, How.DIRECT if latest == source else How.FOLLOWS


def _in_time(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps by time where it is known; nobody comes before the one it came from."""
    moments: list[tuple[datetime, int]] = []
    for place, step in enumerate(steps):
        above = moments[step.parent][0] if place else _LONG_AGO
        moments.append((max(above, step.at or above), place))
    order = [place for _, place in sorted(moments)]
    places = {before: after for after, before in enumerate(order)}
    return tuple(steps[place]._replace(parent=places[steps[place].parent]) for place in order)
