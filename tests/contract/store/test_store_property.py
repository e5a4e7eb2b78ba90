"""Whatever pages come in whatever order, both databases end in the same state and the history explains it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_pages import FOLLOWERS, FOLLOWING, POSTS, PROFILES, TIMELINE, Crawled, followers, following, post, user

from bowerbird.clock import RealClock
from bowerbird.db import open_database
from bowerbird.model import Facet, Gone, Outcome, Page, PostKind, Subject
from bowerbird.store.fields import POST_COUNTERS, USER_COUNTERS
from marks import examples

KEYS = st.sampled_from(["1", "2", "3"])
POST_KEYS = st.sampled_from(["10", "11", "12"])
WORDS = st.sampled_from([None, "", "a", "b"])
COUNTS = st.sampled_from([None, 0, 1, 2])

USERS = st.builds(
    user,
    KEYS,
    name=WORDS,
    description=WORDS,
    followers=COUNTS,
    posts=COUNTS,
    opts_out=st.sampled_from([None, None, None, False, True]),
)
PLAIN = st.builds(
    post,
    POST_KEYS,
    KEYS,
    text=WORDS,
    likes=COUNTS,
    tags=st.sampled_from([(), ("t",), ("t", "u")]),
    mentions=st.sampled_from([(), ("2",)]),
)
REPOSTS = st.builds(post, st.just("19"), KEYS, kind=st.just(PostKind.REPOST), repost_of=st.just("x:10"))

PROFILE_PAGES = st.builds(lambda users: (Page(users=tuple(users)), PROFILES, "1"), st.lists(USERS, max_size=3))
TIMELINE_PAGES = st.builds(
    lambda users, posts: (Page(users=tuple(users), posts=tuple(posts)), TIMELINE, "1"),
    st.lists(USERS, max_size=2), st.lists(PLAIN | REPOSTS, max_size=3),
)  # fmt: skip
FOLLOWER_PAGES = st.builds(
    lambda target, sources, more: (Page(relations=followers(target, *sources), cursor=more), FOLLOWERS, target),
    KEYS, st.lists(KEYS, max_size=3), st.sampled_from([None, None, "more"]),
)  # fmt: skip
FOLLOWING_PAGES = st.builds(
    lambda source, targets: (Page(relations=following(source, *targets)), FOLLOWING, source), KEYS, st.lists(KEYS, max_size=3)
)
REASONS = st.sampled_from([Outcome.NOT_FOUND, Outcome.SUSPENDED, Outcome.PROTECTED])
GONE_USERS = st.builds(lambda key, why: (Page(gone=(Gone(Subject.USER, key, why),)), PROFILES, key), KEYS, REASONS)
GONE_POSTS = st.builds(lambda key: (Page(gone=(Gone(Subject.POST, key, Outcome.NOT_FOUND),)), POSTS, key), POST_KEYS)
STEPS = st.lists(
    st.tuples(
        PROFILE_PAGES | TIMELINE_PAGES | FOLLOWER_PAGES | FOLLOWING_PAGES | GONE_USERS | GONE_POSTS, st.sampled_from([1, 30])
    ),
    max_size=14,
)

_OF_SQLITE = ("short_", "change_no")
PEOPLE = {
    "users": (),
    "posts": ("author",),
    "user_history": ("user_no",),
    "post_history": (),
    "post_tags": (),
    "post_mentions": ("user_no",),
    "relations": ("source", "target"),
    "listings": ("user_no",),
    "relation_history": ("source", "target"),
    "deletions": (),
    "unavailable": ("user_no",),
}
"""The tables of the store and which of their columns are numbers of users."""


@pytest.fixture
async def both(migrated_url: str) -> AsyncIterator[list[Crawled]]:
    databases = [await open_database(where, RealClock()) for where in (":memory:", migrated_url)]
    for database in databases:
        await database.create_tables()
    yield [await Crawled(database).register() for database in databases]
    for database in databases:
        await database.close()


async def _cleared(crawled: Crawled) -> Crawled:
    async with crawled.database.transaction() as tx:
        for table in PEOPLE:
            await tx.execute(f"delete from {table}")
    return Crawled(crawled.database)


async def _play(crawled: Crawled, steps: list[tuple[tuple[Page, Facet, str], int]]) -> list[Any]:
    saved = []
    open_lists: dict[tuple[str, str], str | None] = {}
    for (page, facet, target), hours in steps:
        cursor = open_lists.pop((facet.name, target), None) if facet.side else None
        saved.append(await crawled.save(page, facet, target, cursor=cursor, after=timedelta(hours=hours)))
        open_lists[facet.name, target] = page.cursor
    return saved


async def _state(crawled: Crawled) -> dict[str, list[Any]]:
    """Every table with ids in the place of numbers, which may differ."""
    ids = {row["user_no"]: row["id"] for row in await crawled.rows("select user_no, id from users")}
    posts = {row["post_no"]: row["id"] for row in await crawled.rows("select post_no, id from posts")}
    state = {}
    for table, people in PEOPLE.items():
        found = await crawled.rows(f"select * from {table}")
        # How SQLite keeps ids and numbers rows is its own affair: the ids themselves must be the same.
        rows = [
            {name: value for name, value in dict(row).items() if not name.startswith(("short_", "change_no"))} for row in found
        ]
        for row in rows:
            row |= {name: ids[row[name]] for name in people}
            row |= {"post_no": posts[row["post_no"]]} if "post_no" in row else {}
            row.pop("user_no" if table == "users" else "", None)
        state[table] = sorted(rows, key=repr)
    return state


def _check_fields(state: dict[str, list[Any]], items: str, history: str, number: str, counters: frozenset[str]) -> None:
    """Each field's history is a chain that ends in the value that is stored."""
    now = {row["id"]: row for row in state[items]}
    last: dict[tuple[str, str], Any] = {}
    for change in sorted(state[history], key=lambda row: (row["at"], row["call"])):
        before, after = json.loads(change["before"]), json.loads(change["after"])
        for name in before.keys() - counters:
            assert last.get((change[number], name), before[name]) == before[name]
            last[change[number], name] = after[name]
    assert {key: now[key[0]][key[1]] for key in last} == last


def _check_relations(state: dict[str, list[Any]]) -> None:
    changes: dict[tuple[str, str], list[str]] = defaultdict(list)
    for change in sorted(state["relation_history"], key=lambda row: row["call"]):
        changes[change["source"], change["target"]].append(change["change"])
    for edge in state["relations"]:
        told = changes[edge["source"], edge["target"]]
        assert all(one != other for one, other in pairwise(told))
        assert (told[-1:] == ["removed"]) == (edge["removed_at"] is not None)


def _check_absent(state: dict[str, list[Any]]) -> None:
    hidden = {row["user_no"] for row in state["unavailable"] if row["until"] is None and row["reason"] != "protected"}
    hidden |= {row["id"] for row in state["users"] if row["opts_out"]}
    assert [row["id"] for row in state["users"] if row["id"] in hidden and (row["raw"] or row["name"] or row["handle"])] == []
    assert [row["id"] for row in state["posts"] if row["deleted_at"] and (row["raw"] or row["text"])] == []


@settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(steps=STEPS)
async def test_any_pages_in_any_order_give_the_same_state_and_a_history_that_explains_it(
    both: list[Crawled], steps: list[tuple[tuple[Page, Facet, str], int]]
) -> None:
    light, heavy = [await _cleared(crawled) for crawled in both]
    assert await _play(light, steps) == await _play(heavy, steps)
    state = await _state(light)
    assert state == await _state(heavy)
    _check_fields(state, "users", "user_history", "user_no", USER_COUNTERS)
    _check_fields(state, "posts", "post_history", "post_no", POST_COUNTERS)
    _check_relations(state)
    _check_absent(state)
