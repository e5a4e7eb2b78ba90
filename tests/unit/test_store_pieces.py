"""The pure pieces of the store: names, cleaning, changes, dictionaries."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bowerbird.model import Page, Post, User
from bowerbird.store.fields import USER_FIELDS, bare_post, changed_fields, history_texts, merged, post_values, user_values
from bowerbird.store.intake.clean import clean_page, clean_text
from bowerbird.store.people.names import id_for, is_provisional


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
