"""What reaches the rankers: each task's own news, and how much an edge says is new."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bowerbird.crawl.answers.visits import visits_of
from bowerbird.crawl.seeding.seeder import FlowSeeder
from bowerbird.flows.flow import Edge, FacetUse, Flow
from bowerbird.model import (
    Gone,
    Outcome,
    Page,
    Post,
    Relation,
    RelationKind,
    Saved,
    SavedPost,
    SavedUser,
    Subject,
    Task,
    User,
)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LANES = {"profiles": 1, "timeline": 2, "search": 3}


def task(number: int, target: str) -> Task:
    return Task(task=number, lane=1, target=target, token=1, visits=1)


def user(key: str) -> User:
    return User(id=f"x:{key}", key=key, created_at=NOW - timedelta(days=int(key)))


def post(key: str, author: str) -> Post:
    return Post(id=f"x:{key}", key=key, author=f"x:{author}", created_at=NOW - timedelta(minutes=int(key)))


def saved(*posts: Post, old: tuple[str, ...] = (), users: tuple[SavedUser, ...] = (), relations: int = 0) -> Saved:
    rows = tuple(SavedPost(each.id, each.key, each.author, each.key not in old) for each in posts)
    return Saved(users=users, posts=rows, relations_new=relations)


def stored(key: str, before: int | None, now: int | None) -> SavedUser:
    return SavedUser(f"x:{key}", key, False, False, before, now)


def test_in_a_batch_everybody_gets_his_own_news_and_counters() -> None:
    posts = (post("10", "1"), post("20", "2"), post("30", "2"))
    page = Page(users=(user("1"), user("2")), posts=posts, gone=(Gone(Subject.USER, "3", Outcome.SUSPENDED),))
    facts = saved(*posts, old=("30",), users=(stored("1", 4, 5), stored("2", 7, 7)))
    visits = visits_of([task(n, str(n)) for n in (1, 2, 3)], page, facts, NOW)
    assert [visits[n].new for n in (1, 2, 3)] == [1, 1, 0]
    assert visits[2].post_times == (NOW - timedelta(minutes=20),)
    assert (visits[1].posts_before, visits[1].posts_now, visits[1].created_at) == (4, 5, NOW - timedelta(days=1))
    assert [visits[n].outcome for n in (1, 3)] == [Outcome.OK, Outcome.SUSPENDED]


def test_a_lone_task_gets_everything_new_on_its_page() -> None:
    link = Relation(RelationKind.FOLLOW, "1", "9")
    posts = (post("10", "1"), post("20", "5"))
    visit = visits_of([task(1, "1")], Page(posts=posts, relations=(link,)), saved(*posts, relations=1), NOW)[1]
    assert (visit.new, len(visit.post_times), visit.relations) == (3, 2, (link,))


def test_reactions_and_tags_are_news_of_a_list_as_relations_are() -> None:
    for facts in (Saved(relations_new=2), Saved(reactions_new=2), Saved(tags_new=2)):
        assert visits_of([task(1, "1")], Page(), facts, NOW)[1].new == facts.items_new == 2


def test_a_visit_tells_what_a_list_lost_and_whether_a_profile_showed_a_post() -> None:
    left = Saved(relations_removed=2)
    assert visits_of([task(1, "1")], Page(), left, NOW)[1].removed == 2
    own, along = post("10", "1"), post("20", "2")
    facts = saved(own, along, old=("10", "20"), users=(stored("1", 4, 5), stored("2", 7, 7)))
    page = Page(users=(user("1"), user("2")), posts=(own, along), along=frozenset({along.id}))
    visits = visits_of([task(n, str(n)) for n in (1, 2)], page, facts, NOW)
    assert [visits[n].shows_posts for n in (1, 2)] == [True, False]


def seeder(*edges: Edge) -> FlowSeeder:
    return FlowSeeder(Flow("test", tuple(FacetUse(name) for name in LANES), edges, ("profiles",)), LANES)


NEWS = Edge("profiles", "timeline", "asked", when="news")


@pytest.mark.parametrize(("before", "now", "news"), [(4, 9, 5), (9, 4, 1), (None, 7, 1)])
def test_an_edge_says_by_how_much_the_counter_moved(before: int | None, now: int, news: int) -> None:
    page, facts = Page(users=(user("1"),)), saved(users=(stored("1", before, now),))
    (arrival,) = seeder(NEWS).seed("profiles", [task(1, "1")], page, facts)
    assert arrival.news == news


@pytest.mark.parametrize(("now", "is_asked"), [(5, False), (6, True)])
def test_a_profile_that_brings_the_only_new_post_wakes_no_timeline(now: int, is_asked: bool) -> None:
    newest = post("10", "1")
    facts = saved(newest, users=(stored("1", 4, now),))
    found = seeder(NEWS).seed("profiles", [task(1, "1")], Page(users=(user("1"),), posts=(newest,)), facts)
    assert bool(found) == is_asked


def test_an_author_of_two_posts_on_a_page_arrives_once_with_both() -> None:
    posts = (post("10", "1"), post("20", "1"), post("30", "2"))
    found = seeder(Edge("search", "timeline", "authors")).seed("search", [task(1, "word")], Page(posts=posts), saved(*posts))
    assert [(arrival.target, arrival.news) for arrival in found] == [("1", 2), ("2", 1)]
