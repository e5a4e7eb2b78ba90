"""Whom a good answer leaves without an answer because a part of it could not be read."""

from __future__ import annotations

import pytest
from provider_payloads import account, answer

from bowerbird.crawl.answers.unreadable import answers_to, unread
from bowerbird.crawl.answers.verdict import MOST_WORDLESS
from bowerbird.evaluate.hostile.stored import Thing, Trouble
from bowerbird.model import Ask, Broken, Facet, Gone, Outcome, Page, Post, Service, Subject, Task, User
from bowerbird.providers import provider

FACETS = provider("twitter_v1").facets
PROFILES, POSTS, TIMELINE, FOLLOWERS = (FACETS[name] for name in ("profiles", "posts", "timeline", "followers"))
BROKEN = Broken(Subject.USER, b"{}", "ValueError: no id")


def user(key: str) -> User:
    return User(id=f"x:{key}", key=key)


def post(key: str) -> Post:
    return Post(id=f"x:{key}", key=key, author="x:1")


def tasks(*targets: str, attempts: int = 0) -> list[Task]:
    return [Task(task=n, lane=1, target=target, token=1, attempts=attempts) for n, target in enumerate(targets)]


def test_of_a_batch_those_are_asked_again_whose_own_item_could_not_be_read() -> None:
    page = Page(users=(user("1"),), gone=(Gone(Subject.USER, "2", Outcome.NOT_FOUND),), broken=(BROKEN,), results=2)
    assert unread(tasks("1", "2", "3"), page, PROFILES) == {"3"}
    posts = Page(posts=(post("7"),), broken=(BROKEN,), results=2)
    assert unread(tasks("7", "8"), posts, POSTS) == {"8"}


def test_an_answer_that_can_be_read_leaves_nobody_without_one() -> None:
    assert unread(tasks("1", "2"), Page(users=(user("1"),), results=1), PROFILES) == set()
    assert unread(tasks("1"), Page(outcome=Outcome.UNREADABLE, broken=(BROKEN,)), PROFILES) == set()


def test_answers_to_task_whose_item_is_unreadable_is_unreadable_and_others_keep_theirs() -> None:
    page = Page(users=(user("1"),), broken=(BROKEN,), results=2)
    read, unreadable = answers_to(tasks("1", "2"), page, PROFILES)
    assert read is page
    assert unreadable.outcome is Outcome.UNREADABLE


@pytest.mark.parametrize("facet", [TIMELINE, FOLLOWERS], ids=lambda facet: facet.name)
def test_a_page_of_a_list_is_asked_for_again_only_if_nothing_of_it_can_be_read_and_not_for_ever(facet: Facet) -> None:
    nothing = Page(broken=(BROKEN, BROKEN), results=2, cursor="next")
    assert unread(tasks("1"), nothing, facet) == {"1"}
    assert unread(tasks("1", attempts=MOST_WORDLESS - 1), nothing, facet) == set()
    assert unread(tasks("1"), Page(posts=(post("7"),), broken=(BROKEN,), results=2), facet) == set()


@pytest.mark.parametrize("network", ["mastodon", "twitter_v1", "weibo", "bluesky"])
def test_nobody_is_taken_for_gone_because_of_an_item_under_a_name_that_nobody_asked_for(network: str) -> None:
    service = Service(name="s", provider=network, base="https://s.example")
    item = {"id": [], "idstr": "x", "id_str": "x", "did": "x", "uid": "x"}
    bodies = {"weibo": {"users": [item]}, "bluesky": {"profiles": [item]}}
    page = provider(network).parse(Ask("profiles", ("1", "2"), looks=2), answer(bodies.get(network, [item])), service)
    assert (page.outcome, page.gone, len(page.broken)) == (Outcome.OK, (), 1)


def test_an_answer_about_nobody_who_was_asked_for_is_no_answer() -> None:
    mastodon, service = provider("mastodon"), Service(name="s", provider="mastodon", base="https://s.example")
    for targets in (("1", "2"), ("1",)):
        told = mastodon.parse(Ask("profiles", targets, looks=2), answer([account("7")]), service)
        assert (told.outcome, told.gone, told.users) == (Outcome.UNREADABLE, (), ())
    part = mastodon.parse(Ask("profiles", ("7", "8")), answer([account("7")]), service)
    assert ([user.key for user in part.users], [gone.key for gone in part.gone]) == (["7"], ["8"])


def test_what_is_missing_after_an_attack_is_accounted_for_only_by_a_word_about_that_very_thing() -> None:
    noted = Trouble((), frozenset({("timeline", "1")}), b'{"id":"55","account":{"id":"5"}}', frozenset({"x:9"}))
    assert noted.accounts_for(Thing(("x:10", "x:1"), (("timeline", "1"),)))
    assert not noted.accounts_for(Thing(("x:20", "x:2"), (("timeline", "2"),)))
    assert noted.accounts_for(Thing(("x:55", "x:5"), (("timeline", "5"),)))
    assert not noted.accounts_for(Thing(("x:1",), (("profiles", "1"),)))
    assert noted.accounts_for(Thing(("x:9",), (("profiles", "9"),)))
