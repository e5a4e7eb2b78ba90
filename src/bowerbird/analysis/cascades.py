"""Reconstruct how a post spread: the tree behind a list of reposts and quotes.

Networks report who reposted, but not where that account saw the post. A repost is attributed to the first of these:

- `reported`: the repost that the service names as its source (Weibo, Bluesky)
- `named`: the account that its text names (Weibo's `//@name:`)
- `follows`: the latest earlier reposter that the user follows
- `direct`: the author, whom the user follows, although no earlier reposter
- `unknown`: the author, if the user found the post in another way or the follows of the user are not known
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from bowerbird.model import Passed, Passing, PostKind

_NAMED = re.compile("//@([^:\uff1a/@\\s]{1,60})[:\uff1a]")
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class How(StrEnum):
    """The evidence for the source of a step."""

    REPORTED = "reported"
    NAMED = "named"
    FOLLOWS = "follows"
    DIRECT = "direct"
    UNKNOWN = "unknown"


class Step(NamedTuple):
    """A node of the tree; the first one is the post itself."""

    user: int
    kind: PostKind
    of: int | None
    """The post that was reposted or quoted."""
    as_post: int | None
    at: datetime | None
    parent: int
    """Index of the step that it came from; the root is its own parent."""
    how: How | None
    depth: int


class Cascade(NamedTuple):
    """The tree of one post, ordered by time."""

    steps: tuple[Step, ...]

    @property
    def size(self) -> int:
        """The number of reposts and quotes."""
        return len(self.steps) - 1

    @property
    def depth(self) -> int:
        return max(step.depth for step in self.steps)

    @property
    def people(self) -> int:
        """The number of accounts, including the author."""
        return len({step.user for step in self.steps})

    @property
    def kinds(self) -> Counter[PostKind]:
        return Counter(step.kind for step in self.steps[1:])

    @property
    def ways(self) -> Counter[How]:
        return Counter(step.how for step in self.steps if step.how is not None)

    @property
    def virality(self) -> float:
        """Structural virality (Goel et al.): the mean distance between two nodes; below 2 for a broadcast, more for chains."""
        nodes = len(self.steps)
        below = [1] * nodes
        for index in range(nodes - 1, 0, -1):
            below[self.steps[index].parent] += below[index]
        # Each edge lies between the nodes below it and all others.
        distances = sum(below[index] * (nodes - below[index]) for index in range(1, nodes))
        return 2 * distances / (nodes * (nodes - 1)) if nodes > 1 else 0.0


def rebuild(passed: Passed) -> Cascade:
    """Return the cascade of a post: its reposts and quotes, those of its quotes, and so on."""
    by_post: defaultdict[int, list[Passing]] = defaultdict(list)
    for each in passed.passings:
        by_post[each.of].append(each)
    handles = {handle: user for user, (_, handle) in passed.users.items() if handle}
    # The step of each repost and quote that is a post itself.
    own: dict[int, int] = {}
    steps = [Step(passed.author, PostKind.POST, None, passed.post, passed.at, 0, None, 0)]
    sources = deque([0])
    while sources:
        source = sources.popleft()
        step_by_user = {steps[source].user: source}
        for each in _after_source(order_passings(by_post.pop(steps[source].as_post or 0, ()), steps[source].at)):
            parent, how = _find_parent(each, source, step_by_user, own, handles, passed.follows)
            step = Step(each.user, each.kind, each.of, each.as_post, each.at, parent, how, steps[parent].depth + 1)
            index = len(steps)
            steps.append(step)
            if each.as_post is not None:
                own[each.as_post] = index
            if each.kind is PostKind.REPOST:
                step_by_user[each.user] = index
            else:
                sources.append(index)
    return Cascade(_order_steps(steps))


def order_passings(passings: Sequence[Passing], begun: datetime | None) -> list[Passing]:
    """Return the reposts and quotes of one post, oldest first, and only the first repost of each account.

    Lists without times are ordered too, newest first: an entry without a time follows the last older entry with one.
    """
    listed = sorted((each for each in passings if each.place is not None), key=lambda each: (each.sweep, -(each.place or 0)))
    latest = begun or _LONG_AGO
    moments: list[tuple[datetime, int, Passing]] = []
    for rank, each in enumerate(listed):
        latest = max(latest, each.at or latest)
        moments.append((each.at or latest, rank, each))
    moments += [(each.at or each.found_at, len(listed), each) for each in passings if each.place is None]
    moments.sort(key=lambda moment: (moment[0], moment[1], moment[2].user))
    # An account may quote a post several times, but repost it only once.
    unique: dict[tuple[int, PostKind, int | None], Passing] = {}
    for _, _, each in moments:
        unique.setdefault((each.user, each.kind, each.as_post if each.kind is PostKind.QUOTE else None), each)
    return list(unique.values())


def _after_source(passings: Sequence[Passing]) -> Iterator[Passing]:
    """Yield in the same order, but each after its source: times are only accurate to the second."""
    by_post: dict[int | None, Passing] = {each.as_post: each for each in passings if each.as_post is not None}
    done: set[Passing] = set()
    for each in passings:
        chain: list[Passing] = []
        one: Passing | None = each
        while one is not None and one not in done:
            chain.append(one)
            done.add(one)
            one = by_post.get(one.via)
        yield from reversed(chain)


def _find_parent(
    passing: Passing,
    source: int,
    step_by_user: Mapping[int, int],
    own: Mapping[int, int],
    handles: Mapping[str, int],
    follows: Mapping[int, frozenset[int]],
) -> tuple[int, How]:
    """Return the source step of a repost or quote, and the evidence."""
    if passing.via is not None and passing.via in own:
        return own[passing.via], How.REPORTED
    match = _NAMED.search(passing.words)
    named = handles.get(match[1]) if match else None
    if named is not None and named in step_by_user and named != passing.user:
        return step_by_user[named], How.NAMED
    earlier = follows.get(passing.user, frozenset()) & step_by_user.keys() - {passing.user}
    if not earlier:
        return source, How.UNKNOWN
    latest = max(step_by_user[user] for user in earlier)
    return latest, How.DIRECT if latest == source else How.FOLLOWS


def _order_steps(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps by time where it is known, each after its parent."""
    times: list[datetime] = []
    for step in steps:
        above = times[step.parent] if times else _LONG_AGO
        times.append(max(above, step.at or above))
    order = sorted(range(len(steps)), key=lambda index: times[index])
    new_index = {before: after for after, before in enumerate(order)}
    return tuple(steps[index]._replace(parent=new_index[steps[index].parent]) for index in order)
