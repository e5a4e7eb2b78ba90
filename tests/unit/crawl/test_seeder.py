"""The seeder: what a page adds to the frontier, how deep, whom it wakes, and whom it leaves alone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bowerbird.crawl.seeding.seeder import FlowSeeder, seed_arrival
from bowerbird.flows.built_in import builtin_flows
from bowerbird.flows.files.flow_file import parse_flow
from bowerbird.flows.flow import Edge, FacetUse, Filters, Flow
from bowerbird.model import (
    Arrival,
    Gone,
    Outcome,
    Page,
    Post,
    PostKind,
    Relation,
    RelationKind,
    Saved,
    SavedPost,
    SavedUser,
    Subject,
    Task,
    User,
    UserList,
)
from bowerbird.policies import RANKERS

LANES = {"profile": 0, "profiles": 1, "timeline": 2, "followers": 3, "following": 4, "posts": 5, "hashtag": 6, "thread": 7}


NO_FILTERS = Filters()


def seeder(*edges: Edge, filters: Filters = NO_FILTERS) -> FlowSeeder:
    flow = Flow("test", tuple(FacetUse(name) for name in LANES), edges, ("profiles",), filters=filters)
    return FlowSeeder(flow, LANES)


def task(target: str, depth: int = 0, visits: int = 1) -> Task:
    return Task(task=1, lane=1, target=target, token=1, depth=depth, visits=visits)


def user(key: str, **fields: object) -> User:
    return User(id=f"x:{key}", key=key, **fields)  # type: ignore[arg-type]


def post(key: str, author: str, **fields: object) -> Post:
    return Post(id=f"x:{key}", key=key, author=f"x:{author}", **fields)  # type: ignore[arg-type]


def saved(key: str, before: int | None, now: int | None, *, is_new: bool = False, is_changed: bool = False) -> SavedUser:
    return SavedUser(f"x:{key}", key, is_new, is_changed, before, now)


def follows(*pairs: tuple[str, str]) -> tuple[Relation, ...]:
    return tuple(Relation(RelationKind.FOLLOW, source, target) for source, target in pairs)


def targets(arrivals: Sequence[Arrival]) -> list[str]:
    return [arrival.target for arrival in arrivals]


NEWS = Edge("profiles", "timeline", "asked", "news")


@pytest.mark.parametrize(
    ("before", "now", "is_new", "visits", "has_news"),
    [
        (5, 7, False, 3, True),
        (5, 4, False, 3, True),
        (5, 5, False, 3, False),
        (5, 5, False, 0, True),
        (None, 5, True, 0, True),
        (None, 0, True, 0, True),
        (0, 0, False, 3, False),
        (5, 0, False, 3, True),
        (None, None, False, 3, True),
        (5, None, False, 3, True),
    ],
)
def test_news_is_anything_but_a_known_counter_that_stood_still(
    before: int | None, now: int | None, is_new: bool, visits: int, has_news: bool
) -> None:
    page = Page(users=(user("1"),))
    found = seeder(NEWS).seed(
        "profiles", [task("1", visits=visits)], page, Saved(users=(saved("1", before, now, is_new=is_new),))
    )
    assert targets(found) == (["1"] if has_news else [])


def test_whom_a_batch_left_out_without_a_word_is_asked_about_alone_and_not_woken_again() -> None:
    vague, exact = Gone(Subject.USER, "1", Outcome.NOT_FOUND, True), Gone(Subject.USER, "2", Outcome.SUSPENDED)
    lost_post = Gone(Subject.POST, "3", Outcome.NOT_FOUND, True)
    way = seeder(Edge("profiles", "profile", "missing"))
    found = way.seed("profiles", [task("1", depth=2), task("2")], Page(gone=(vague, exact, lost_post)), Saved())
    assert found == (Arrival(lane=0, target="1", depth=2, wakes=False, is_asked=True),)


def test_lists_lead_to_their_members_unless_the_owner_opted_out() -> None:
    shown = (UserList(id="x:7", key="7", owner="1"), UserList(id="x:8", key="8", owner="2"))
    page = Page(users=(user("1"), user("2", opts_out=True)), lists=(*shown, UserList(id="x:9", key="9")))
    found = seeder(Edge("profiles", "hashtag", "lists")).seed("profiles", [task("1")], page, Saved())
    assert targets(found) == ["7", "9"]


def test_a_condition_may_ask_whether_a_post_was_edited() -> None:
    edited = post("7", "1", edited_at=datetime(2026, 1, 5, tzinfo=UTC))
    page = Page(users=(user("1"),), posts=(edited, post("8", "1")))
    found = seeder(Edge("timeline", "thread", "posts", "edited")).seed("timeline", [task("1")], page, Saved())
    assert targets(found) == ["7"]


def test_news_wakes_the_timeline_at_the_same_depth() -> None:
    page, stored = Page(users=(user("1"),)), Saved(users=(saved("1", 1, 2),))
    assert seeder(NEWS).seed("profiles", [task("1", depth=2)], page, stored) == (
        Arrival(lane=2, target="1", depth=2, wakes=True, is_asked=True),
    )


@pytest.mark.parametrize(("before", "now", "news"), [(5, 5, None), (5, 6, None), (5, 8, 2), (5, 4, None)])
def test_where_a_profile_shows_its_newest_post_only_what_it_does_not_show_is_news(
    before: int, now: int, news: int | None
) -> None:
    page = Page(users=(user("1"),), posts=(post("7", "1"),))
    stored = Saved(users=(saved("1", before, now),), posts=(SavedPost("x:7", "7", "x:1", True),))
    found = seeder(NEWS).seed("profiles", [task("1")], page, stored)
    assert [arrival.news for arrival in found] == ([] if news is None else [news])


def test_a_post_that_came_along_inside_anothers_is_not_what_a_profile_shows() -> None:
    page = Page(users=(user("1"),), posts=(post("7", "1"),), along=frozenset({"x:7"}))
    stored = Saved(users=(saved("1", 5, 6),), posts=(SavedPost("x:7", "7", "x:1", True),))
    assert targets(seeder(NEWS).seed("profiles", [task("1")], page, stored)) == ["1"]


def test_a_flow_may_leave_out_the_first_look() -> None:
    later = Edge("profiles", "timeline", "asked", "news and not first")
    page, stored = Page(users=(user("1"),)), Saved(users=(saved("1", 1, 3),))
    assert targets(seeder(later).seed("profiles", [task("1", visits=0)], page, stored)) == []
    assert targets(seeder(later).seed("profiles", [task("1", visits=1)], page, stored)) == ["1"]
    unknown = Saved(users=(saved("1", None, 3, is_new=True),))
    assert targets(seeder(later).seed("profiles", [task("1", visits=0)], page, unknown)) == []


def test_a_target_brings_along_what_the_asking_ranker_believes_of_it() -> None:
    page, stored = Page(users=(user("1"),)), Saved(users=(saved("1", 1, 3),))
    asked = Task(task=1, lane=1, target="1", token=1, visits=2, memory=b"belief")
    (arrival,) = seeder(NEWS).seed("profiles", [asked], page, stored)
    assert (arrival.belief, arrival.memory) == (b"belief", None)


def test_only_the_accounts_asked_about_are_taken_as_asked() -> None:
    page = Page(users=(user("1"), user("99")), posts=(post("7", "99"),))
    stored = Saved(users=(saved("1", 1, 2), saved("99", 1, 2)))
    assert targets(seeder(NEWS).seed("profiles", [task("1"), task("2")], page, stored)) == ["1"]


@pytest.mark.parametrize("handle", ["Ada", "@ada", "ada"])
def test_an_account_asked_by_handle_goes_on_by_key(handle: str) -> None:
    way = seeder(Edge("profile", "profiles", "asked"))
    found = way.seed("profile", [task("@ADA"), task("@bob")], Page(users=(user("1", handle=handle),)), Saved())
    assert found == (Arrival(lane=1, target="1", depth=0, wakes=False, is_asked=True),)


def test_a_lone_account_answers_a_lone_handle() -> None:
    way = seeder(Edge("profile", "profiles", "asked"))
    found = way.seed("profile", [task("@ada@home.example")], Page(users=(user("1", handle="ada"),)), Saved())
    assert [(arrival.target, arrival.depth) for arrival in found] == [("1", 0)]


def test_neighbours_are_one_step_farther_and_wake_nobody() -> None:
    page = Page(relations=follows(("2", "1"), ("3", "1"), ("2", "1")))
    found = seeder(Edge("followers", "profiles", "neighbours")).seed("followers", [task("1", depth=1)], page, Saved())
    assert found == (Arrival(lane=1, target="2", depth=2, wakes=False), Arrival(lane=1, target="3", depth=2, wakes=False))


def test_neighbours_work_in_both_directions() -> None:
    page = Page(relations=follows(("1", "2"), ("3", "1"), ("1", "1")))
    found = seeder(Edge("following", "profiles", "neighbours")).seed("following", [task("1")], page, Saved())
    assert targets(found) == ["2", "3"]


def test_sources_and_targets_are_the_ends_of_relations() -> None:
    page = Page(relations=follows(("2", "1"), ("3", "1")))
    assert targets(seeder(Edge("followers", "profiles", "sources")).seed("followers", [task("1")], page, Saved())) == ["2", "3"]
    found = seeder(Edge("followers", "profiles", "targets")).seed("followers", [task("1", depth=4)], page, Saved())
    assert [(arrival.target, arrival.depth) for arrival in found] == [("1", 4)]


POSTS = Page(
    users=(user("1"), user("2")),
    posts=(
        post("10", "1", mentions=("5", "6"), tags=("flood",), reply_to="x:77"),
        post("11", "1", kind=PostKind.REPOST, repost_of="x:20"),
        post("20", "2", mentions=("5",), tags=("flood", "rain")),
        post("12", "1", quote_of="https://far.example/1"),
    ),
)


@pytest.mark.parametrize(
    ("take", "to", "expected"),
    [
        ("authors", "profiles", [("1", 0), ("2", 1)]),
        ("users", "profiles", [("1", 0), ("2", 1)]),
        ("mentions", "profiles", [("5", 1), ("6", 1)]),
        ("posts", "posts", [("10", 0), ("11", 0), ("20", 0), ("12", 0)]),
        ("reposted", "posts", [("20", 1)]),
        ("replied", "posts", [("77", 1)]),
        ("quoted", "posts", []),
        ("tags", "hashtag", [("flood", 1), ("rain", 1)]),
    ],
)
def test_every_take_finds_its_targets_once(take: str, to: str, expected: list[tuple[str, int]]) -> None:
    found = seeder(Edge("timeline", to, take)).seed("timeline", [task("1")], POSTS, Saved())
    assert [(arrival.target, arrival.depth) for arrival in found] == expected


def test_conditions_about_posts_look_at_the_post() -> None:
    reposts = seeder(Edge("timeline", "posts", "posts", "repost")).seed("timeline", [task("1")], POSTS, Saved())
    assert targets(reposts) == ["11"]
    stored = Saved(posts=(SavedPost("x:10", "10", "x:1", True), SavedPost("x:11", "11", "x:1", False)))
    assert targets(seeder(Edge("timeline", "thread", "posts", "new")).seed("timeline", [task("1")], POSTS, stored)) == ["10"]


def test_conditions_about_accounts_look_at_the_profile() -> None:
    page = Page(users=(user("1", followers=10), user("2", followers=9000), user("3"), user("4", followers=1, is_protected=True)))
    way = seeder(Edge("profiles", "followers", "asked", "followers < 5000 and not protected"))
    assert targets(way.seed("profiles", [task(str(key)) for key in range(1, 5)], page, Saved())) == ["1"]


def test_in_a_batch_every_account_has_the_depth_of_its_own_task() -> None:
    way = seeder(Edge("profiles", "followers", "asked", "depth < max_depth"), filters=Filters(max_depth=2))
    page = Page(users=(user("1"), user("2"), user("3")))
    found = way.seed("profiles", [task("1", 0), task("2", 1), task("3", 2)], page, Saved())
    assert [(arrival.target, arrival.depth) for arrival in found] == [("1", 0), ("2", 1)]


def test_in_a_batch_an_item_of_unknown_origin_counts_as_deepest() -> None:
    way = seeder(Edge("posts", "profiles", "authors"))
    page = Page(posts=(post("10", "1"), post("99", "2")))
    found = way.seed("posts", [task("10", 0), task("11", 3)], page, Saved())
    assert [(arrival.target, arrival.depth) for arrival in found] == [("1", 1), ("2", 4)]


def test_nobody_is_followed_beyond_the_depth_limit() -> None:
    way = seeder(Edge("followers", "profiles", "neighbours"), filters=Filters(max_depth=1))
    page = Page(relations=follows(("2", "1")))
    assert targets(way.seed("followers", [task("1", depth=0)], page, Saved())) == ["2"]
    assert targets(way.seed("followers", [task("1", depth=1)], page, Saved())) == []


def test_what_was_asked_about_is_told_from_what_was_found_by_key_or_by_handle() -> None:
    way = seeder(Edge("followers", "profiles", "users"), Edge("followers", "followers", "owners"))
    page = Page(users=(user("1"), user("2", handle="Ada"), user("3")))
    found = way.seed("followers", [task("1"), task("@ada")], page, Saved())
    assert [(arrival.target, arrival.is_asked) for arrival in found] == [("1", True), ("2", True), ("3", False), ("1", True)]


def test_accounts_that_opted_out_are_left_alone_with_their_posts() -> None:
    page = Page(
        users=(user("1", opts_out=True), user("2")),
        posts=(post("10", "1", tags=("a",), mentions=("3",)), post("20", "2", mentions=("1",))),
        relations=follows(("1", "2")),
    )
    edges = [Edge("timeline", "profiles", take) for take in ("users", "authors", "mentions", "neighbours")]
    edges += [Edge("timeline", "posts", "posts"), Edge("timeline", "hashtag", "tags")]
    found = seeder(*edges).seed("timeline", [task("2")], page, Saved())
    assert [(arrival.lane, arrival.target) for arrival in found] == [(1, "2"), (5, "20")]
    consent = seeder(*edges, filters=Filters(follow_opted_out=True)).seed("timeline", [task("2")], page, Saved())
    assert {arrival.target for arrival in consent} == {"1", "2", "3", "10", "20", "a"}


def test_languages_and_keywords_sort_what_was_found_but_not_the_seeds() -> None:
    filters = Filters(languages=("pt",), keywords=("Flood",))
    page = Page(
        posts=(
            post("1", "11", language="pt-BR", text="a FLOOD"),
            post("2", "12", language="en", text="flood"),
            post("3", "13", text="sun"),
            post("4", "14", text="x", tags=("flood",)),
        )
    )
    way = seeder(Edge("hashtag", "profiles", "authors"), filters=filters)
    assert targets(way.seed("hashtag", [task("word")], page, Saved())) == ["11", "14"]
    seeds = seeder(NEWS, filters=Filters(languages=("pt",))).seed(
        "profiles", [task("1")], Page(users=(user("1", language="en"),)), Saved()
    )
    assert targets(seeds) == ["1"]


def test_a_target_found_by_two_edges_keeps_the_shorter_way_and_wakes_if_either_does() -> None:
    edges = (Edge("timeline", "profiles", "mentions"), Edge("timeline", "profiles", "users", "new"))
    page = Page(users=(user("1"),), posts=(post("10", "1", mentions=("1",)),))
    found = seeder(*edges).seed("timeline", [task("1", depth=3)], page, Saved(users=(saved("1", None, 1, is_new=True),)))
    assert found == (Arrival(lane=1, target="1", depth=3, wakes=True, is_asked=True),)


def test_facets_without_edges_and_empty_pages_add_nothing() -> None:
    assert seeder(NEWS).seed("timeline", [task("1")], POSTS, Saved()) == ()
    assert seeder(NEWS).seed("profiles", [task("1")], Page(), Saved()) == ()


def test_seeds_given_again_wake_nobody() -> None:
    assert seed_arrival(1, "a") == Arrival(lane=1, target="a", depth=0, wakes=False)


def test_the_built_in_graph_goes_breadth_first_within_its_limits() -> None:
    text = builtin_flows()["graph"].replace("[filters]\n", "[filters]\nmax_following = 10000\n")
    way = FlowSeeder(parse_flow(text, "graph", {}, RANKERS), LANES)
    page = Page(users=(user("1", followers=500_000, following=20_000), user("2", followers=5, following=5)))
    found = way.seed("profiles", [task("1", 1), task("2", 2)], page, Saved())
    assert [(arrival.lane, arrival.target, arrival.depth) for arrival in found] == [(LANES["followers"], "1", 1)]
    listed = way.seed("followers", [task("1", 1)], Page(relations=follows(("9", "1"))), Saved())
    assert [(arrival.lane, arrival.target, arrival.depth) for arrival in listed] == [(LANES["profiles"], "9", 2)]


def test_a_new_post_of_a_known_author_wakes_and_one_that_came_along_leads_nowhere() -> None:
    edge = Edge("hashtag", "followers", "authors", "new_post and not along")
    page = Page(
        users=(user("1"), user("2"), user("3")),
        posts=(post("a", "1"), post("b", "1"), post("c", "2"), post("d", "3")),
        along=frozenset({"x:d"}),
    )
    stored = tuple(
        SavedPost(f"x:{key}", key, "", is_new) for key, is_new in (("a", True), ("b", True), ("c", False), ("d", True))
    )
    found = seeder(edge).seed("hashtag", [task("word")], page, Saved(posts=stored, users=(saved("1", 1, 1),)))
    assert [(one.target, one.wakes, one.news) for one in found] == [("1", True, 2)]


_keys = st.sampled_from([str(number) for number in range(8)])


@given(st.lists(st.tuples(_keys, _keys), max_size=20), st.lists(_keys, unique=True, min_size=1, max_size=3), st.integers(0, 3))
def test_no_target_comes_twice_nor_beyond_the_limit(pairs: list[tuple[str, str]], asked: list[str], limit: int) -> None:
    edges = [Edge("followers", "profiles", take) for take in ("sources", "targets", "neighbours")]
    way = seeder(*edges, filters=Filters(max_depth=limit))
    found = way.seed("followers", [task(key, depth) for depth, key in enumerate(asked)], Page(relations=follows(*pairs)), Saved())
    assert len(set(targets(found))) == len(found)
    assert all(arrival.depth <= limit for arrival in found)
    assert set(targets(found)) <= {key for pair in pairs for key in pair}
