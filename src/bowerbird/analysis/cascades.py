"""Reconstruct how a post spread: the tree behind a list of reposts and quotes.

Networks report who reposted, but not where that account saw the post. A repost is attributed, in this order, to (1) the repost
that the service names as its source (Weibo, Bluesky), (2) the account that its text names (Weibo's `//@name:`), (3) the latest
earlier reposter that the user follows, or the author if the user follows no other, and otherwise (4) to the author, marked as
unknown.
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
    """The evidence for the source of a step."""

    REPORTED = "reported"
    """The service reports the repost that it came from."""
    NAMED = "named"
    """The text names the account that it came from."""
    FOLLOWS = "follows"
    """The user follows an earlier reposter; the latest one is the source."""
    DIRECT = "direct"
    """The user follows the author, and no earlier reposter."""
    UNKNOWN = "unknown"
    """The user found the post in another way, or the accounts that the user follows are not known."""


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
    sources, known = deque([0]), {passed.post}
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
            if each.kind is PostKind.QUOTE and each.as_post is not None and each.as_post not in known:
                known.add(each.as_post)
                sources.append(index)
    return Cascade(_order_steps(steps))


def order_passings(passings: Iterable[Passing], begun: datetime | None) -> list[Passing]:
    """Return the reposts and quotes of one post, oldest first, and only the first repost of each account.

    Lists without times are ordered too, newest first: an entry without a time follows the last older entry with one.
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
    # An account may quote a post several times, but repost it only once.
    unique: dict[tuple[int, PostKind, int | None], Passing] = {}
    for _, _, each in moments:
        unique.setdefault((each.user, each.kind, each.as_post if each.kind is PostKind.QUOTE else None), each)
    return list(unique.values())


def _after_source(passings: Sequence[Passing]) -> Iterator[Passing]:
    """Yield in the same order, but each after its source: times are only accurate to the second."""
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
    match = _NAMED.search(passing.words) if passing.words else None
    named = handles.get(match[1]) if match else None
    if named is not None and named in step_by_user and named != passing.user:
        return step_by_user[named], How.NAMED
    earlier = follows.get(passing.user, frozenset()) & step_by_user.keys() - {passing.user}
    followed = [step_by_user[user] for user in earlier]
    if not followed:
        return source, How.UNKNOWN
    latest = max(followed)
    return latest, How.DIRECT if latest == source else How.FOLLOWS


def _order_steps(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps by time where it is known, each after its parent."""
    moments: list[tuple[datetime, int]] = []
    for index, step in enumerate(steps):
        above = moments[step.parent][0] if index else _LONG_AGO
        moments.append((max(above, step.at or above), index))
    order = [index for _, index in sorted(moments)]
    new_index = {before: after for after, before in enumerate(order)}
    return tuple(steps[index]._replace(parent=new_index[steps[index].parent]) for index in order)
