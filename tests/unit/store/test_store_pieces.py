"""The pure pieces of the store: names, cleaning, changes, dictionaries."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from bowerbird.model import Facet, Media, Page, Place, Poll, PollOption, Post, Subject, User
from bowerbird.store.fields import USER_FIELDS, bare_post, changed_fields, history_texts, merged, post_values, user_values
from bowerbird.store.intake.clean import LONGEST_ID, clean_page, clean_text
from bowerbird.store.people.names import id_for, is_provisional
from bowerbird.store.posts.listed import is_compared


@pytest.mark.parametrize(
    ("network", "expected"),
    [("x", "x:7"), ("weibo", "weibo:7"), ("bluesky", "7"), ("mastodon", "mastodon:mammoth/7")],
)
def test_a_key_has_one_id_in_each_network(network: str, expected: str) -> None:
    assert id_for(network, "mammoth", "7") == expected
    assert is_provisional(expected) is (network == "mastodon")


@given(st.text(alphabet=st.characters(codec=None)))
def test_clean_text_is_always_fit_for_a_database(text: str) -> None:
    cleaned = clean_text(text, 50)
    assert "\0" not in cleaned
    assert cleaned.encode().decode() == cleaned
    assert len(cleaned) <= 50


@given(
    st.lists(
        st.builds(
            User, id=st.text(max_size=5), key=st.text(max_size=5), name=st.text(max_size=5), posts=st.none() | st.integers()
        )
    )
)
def test_a_cleaned_page_needs_no_second_cleaning(users: list[User]) -> None:
    once = clean_page(Page(users=tuple(users)))
    assert clean_page(once) is once
    assert len(once.users) + len(once.broken) == len(users)


def test_a_page_that_is_fine_is_passed_on_untouched() -> None:
    page = Page(users=(User(id="x:1", key="1", name="é"),), posts=(Post(id="x:2", key="2", author="x:1", tags=("a",)),))
    assert clean_page(page) is page


@pytest.mark.parametrize("name", ["reply_to", "repost_of", "quote_of", "root", "via", "edit_of"])
def test_a_reference_that_no_index_can_hold_is_left_out(name: str) -> None:
    post = Post(id="x:2", key="2", author="x:1", text="words", reply_to="x:3")
    (kept,) = clean_page(Page(posts=(structs.replace(post, **{name: "x:" + "9" * LONGEST_ID}),))).posts
    assert kept == structs.replace(post, **{name: None})


def test_what_is_fine_stays_as_it_is_beside_what_is_not() -> None:
    media = (Media(id="x:4", kind="photo", url="https://a.example/4.jpg"), Media(id="x:5", kind="photo", url="", description=""))
    poll = Poll(options=(PollOption("yes", 1), PollOption("no", None)))
    place = Place(name="here")
    fine = Post(
        id="x:2", key="2", author="x:1", text="", tags=("a",), links=("https://b.example",), labels=("l",), media=media,
        poll=poll, place=place, emoji={"e": 1}, mentions=("7",), cashtags=("c",),
    )  # fmt: skip
    known = User(id="x:1", key="1", name="", labels=("l",))
    page = clean_page(Page(users=(known, User(id="x:9", key="9", name="\0")), posts=(fine, Post(id="x:3", key="3", author=""))))
    assert page.posts == (fine,)
    assert page.users[0] == known


def test_labels_of_a_post_are_made_storable() -> None:
    (kept,) = clean_page(Page(posts=(Post(id="x:2", key="2", author="x:1", labels=("a\ud800\0",)),))).posts
    assert kept.labels == ("a?",)


def test_a_post_whose_author_has_no_name_is_quarantined() -> None:
    fine = Post(id="x:2", key="2", author="x:1")
    page = clean_page(Page(posts=(fine, Post(id="x:3", key="3", author=""))))
    assert page.posts == (fine,)
    assert [broken.subject for broken in page.broken] == [Subject.POST]


def test_unknown_values_never_replace_known_ones() -> None:
    old = user_values(User(id="x:1", key="1", name="Ada", followers=3))
    new = user_values(User(id="x:1", key="1", name="", posts=1))
    both = merged(old, new)
    assert changed_fields(USER_FIELDS, old, both) == ["name", "posts"]
    before, after = history_texts(USER_FIELDS, ["name", "posts"], old, both)
    assert (json.loads(before), json.loads(after)) == ({"name": "Ada", "posts": None}, {"name": "", "posts": 1})


def test_a_bare_post_keeps_only_kind_and_time() -> None:
    post = Post(id="x:2", key="2", author="x:1", text="secret", url="u", likes=4, created_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert [value for value in bare_post(post_values(post)) if value is not None] == ["post", 1_767_225_600_000_000]


SEARCH = Facet(name="search", subject=Subject.WORD, yields=frozenset({"posts"}))
TIMELINE = Facet(name="timeline", subject=Subject.USER, yields=frozenset({"posts"}))


@pytest.mark.parametrize(
    ("asked", "streams", "is_kept"), [([SEARCH], 0, True), ([TIMELINE], 1, False), ([TIMELINE], 2, True), ([], 0, False)]
)
def test_sightings_are_kept_where_sources_are_compared(asked: list[Facet], streams: int, is_kept: bool) -> None:
    assert is_compared(asked, streams) is is_kept
