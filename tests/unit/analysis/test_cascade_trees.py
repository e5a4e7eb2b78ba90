"""Cascades reconstructed from reposts and quotes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import combinations
from random import Random
from typing import Any

import pytest

from bowerbird.analysis.cascades import Cascade, How, Step, order_passings, rebuild
from bowerbird.model import Passed, Passing, PostKind

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
POST, AUTHOR = 100, 1


def minute(number: int) -> datetime:
    return NOON + timedelta(minutes=number)


def repost(user: int, at: int | None = None, **other: Any) -> Passing:
    return Passing(**{"user": user, "of": POST, "at": None if at is None else minute(at), "found_at": minute(900)} | other)


def quote(user: int, at: int, as_post: int, of: int = POST) -> Passing:
    return Passing(user=user, of=of, kind=PostKind.QUOTE, as_post=as_post, at=minute(at), found_at=minute(900))


def cascade(*passings: Passing, **follows: set[int]) -> Cascade:
    followed = {int(user[1:]): frozenset(others) for user, others in follows.items()}
    users: dict[int, tuple[str, str | None]] = {user: (f"x:{user}", f"u{user}") for user in range(1, 10)}
    return rebuild(Passed(post=POST, author=AUTHOR, at=NOON, passings=passings, follows=followed, users=users))


def edges(tree: Cascade) -> list[tuple[int, int, str]]:
    return [(step.user, tree.steps[step.parent].user, str(step.how)) for step in tree.steps[1:]]


def test_rebuild_repost_comes_from_latest_followed_reposter() -> None:
    tree = cascade(repost(2, 1), repost(3, 2), repost(4, 3), repost(5, 9), _4={2, 3, 5}, _2={1})
    assert edges(tree) == [(2, 1, "direct"), (3, 1, "unknown"), (4, 3, "follows"), (5, 1, "unknown")]
    assert [step.depth for step in tree.steps] == [0, 1, 1, 2, 1]
    assert tree.ways == {How.DIRECT: 1, How.FOLLOWS: 1, How.UNKNOWN: 2}


def test_rebuild_source_is_never_later_or_same_user() -> None:
    tree = cascade(repost(2, 5), repost(3, 1), _3={2, 3, 1})
    assert edges(tree) == [(3, 1, "direct"), (2, 1, "unknown")]


def test_rebuild_orders_list_without_times() -> None:
    newest_first = [repost(user, sweep=7, place=place) for place, user in enumerate((4, 3, 2))]
    tree = cascade(*newest_first, _4={3}, _3={2}, _2={1})
    assert edges(tree) == [(2, 1, "direct"), (3, 2, "follows"), (4, 3, "follows")]


def test_order_passings_later_listing_is_newer() -> None:
    before = [repost(2, sweep=1, place=0), repost(3, sweep=1, place=1)]
    now = [repost(5, sweep=8, place=0), repost(4, sweep=8, place=1)]
    assert [each.user for each in order_passings([*before, *now], NOON)] == [3, 2, 4, 5]


def test_order_passings_merges_times_and_places() -> None:
    listed = [
        repost(2, sweep=1, place=3),
        repost(3, 10, sweep=1, place=2),
        repost(4, sweep=1, place=1),
        repost(5, 20, sweep=1, place=0),
    ]
    others = [repost(6, 15), repost(7, 5)]
    assert [each.user for each in order_passings([*others, *listed], NOON)] == [2, 7, 3, 4, 6, 5]


def test_rebuild_counts_first_repost_and_every_quote() -> None:
    tree = cascade(repost(2, 5, as_post=501), repost(2, 1, as_post=502), quote(2, 7, 601), quote(2, 8, 602))
    assert [(step.kind, step.at) for step in tree.steps[1:]] == [
        (PostKind.REPOST, minute(1)),
        (PostKind.QUOTE, minute(7)),
        (PostKind.QUOTE, minute(8)),
    ]
    assert (tree.size, tree.people, tree.kinds[PostKind.QUOTE]) == (3, 2, 2)


def test_rebuild_includes_reposts_of_quotes() -> None:
    tree = cascade(
        repost(2, 1), quote(3, 2, 601), repost(4, 3, of=601), quote(5, 4, 602, of=601), repost(6, 5, of=602), _3={2}, _4={3, 2}
    )
    assert edges(tree) == [(2, 1, "unknown"), (3, 2, "follows"), (4, 3, "direct"), (5, 3, "unknown"), (6, 5, "unknown")]
    assert [step.depth for step in tree.steps] == [0, 1, 2, 3, 3, 4]


def test_rebuild_named_account_precedes_follows() -> None:
    named = repost(4, 3, as_post=700, words="真好//@u2:转发微博//@u3:看")
    stranger = repost(5, 4, as_post=701, words="//@nobody:转发")
    tree = cascade(repost(2, 1), repost(3, 2), named, stranger, _4={3}, _5={3})
    assert edges(tree)[2:] == [(4, 2, "named"), (5, 3, "follows")]


def test_rebuild_source_reported_by_service_precedes_all() -> None:
    # All in one second, and the list tells them the other way round.
    told = [repost(4, 3, as_post=703, via=702), repost(3, 3, as_post=702, via=701), repost(2, 3, as_post=701)]
    tree = cascade(*told, repost(5, 4, as_post=704, via=999, words="//@u3:x"), _4={2}, _3={1})
    assert sorted(edges(tree)) == [(2, 1, "unknown"), (3, 2, "reported"), (4, 3, "reported"), (5, 3, "named")]
    assert tree.depth == 3


def test_rebuild_circular_reposts_terminates() -> None:
    tree = cascade(repost(2, 1, as_post=701, via=702), repost(3, 2, as_post=702, via=701), repost(4, 3, as_post=703, via=703))
    assert sorted(step.user for step in tree.steps) == [1, 2, 3, 4]


def test_rebuild_circular_quotes_terminates() -> None:
    tree = cascade(quote(2, 1, 601), quote(3, 2, 602, of=601), quote(2, 3, 601, of=602))
    assert tree.size == 3


def test_rebuild_without_passings_returns_root() -> None:
    tree = cascade()
    assert (tree.size, tree.depth, tree.virality, tree.people) == (0, 0, 0.0, 1)


def _distance(steps: tuple[Step, ...], one: int, other: int) -> int:
    ways = []
    for place in (one, other):
        way = [place]
        while way[-1]:
            way.append(steps[way[-1]].parent)
        ways.append(way)
    shared = len(set(ways[0]) & set(ways[1]))
    return len(ways[0]) + len(ways[1]) - 2 * shared


@pytest.mark.parametrize("seed", range(5))
def test_virality_is_mean_distance_between_nodes(seed: int) -> None:
    draw = Random(seed)
    follows = {f"_{user}": set(draw.sample(range(1, user), k=draw.randint(0, user - 1))) for user in range(2, 10)}
    tree = cascade(*(repost(user, user) for user in range(2, 10)), **follows)
    pairs = list(combinations(range(9), 2))
    assert tree.virality == pytest.approx(sum(_distance(tree.steps, *pair) for pair in pairs) / len(pairs))


def test_virality_chain_exceeds_broadcast() -> None:
    star = cascade(*(repost(user, user) for user in range(2, 10)))
    chain = cascade(*(repost(user, user) for user in range(2, 10)), **{f"_{user}": {user - 1} for user in range(2, 10)})
    assert (star.depth, chain.depth) == (1, 8)
    assert star.virality < 2 < chain.virality == pytest.approx(10 / 3)
