"""Pseudonyms: nobody is named, in texts and addresses too, and the same name always gets the same one."""

from __future__ import annotations

import pytest

from bowerbird.export.cleaning.rules import RULES
from bowerbird.export.jobs.pseudonyms import HANDLES, IDS, LEFT_OUT, POST_IDS, Pseudonyms
from bowerbird.export.rows.other_shapes import SHAPES

NAMES = Pseudonyms(b"a key of thirty-two bytes or more")


@pytest.mark.parametrize(
    "text",
    [
        "Thanks @alice.example!",
        "@alice and @alice@social.example.",
        "https://bsky.app/profile/alice.bsky.social/post/3k2",
        "see https://bsky.app/profile/did:plc:alice123/post/3k2",
        "https://social.example/@alice/1234?x=1",
        "https://social.example/users/alice/statuses/1234",
        "https://x.com/alice/status/1234 and https://twitter.com/alice",
        "https://weibo.com/u/alice",
        "https://m.weibo.cn/alice/1234",
        "did:plc:alice123 said",
        "alice.bsky.social said",
        "(@Alice)",
        ".@alice is wrong",
        "//@alice:\u8f6c\u53d1",
        "\u8f6c\u53d1@alice \u597d",
        "\uff20alice",
        "social.example/@alice",
    ],
)
def test_nobody_is_named_in_a_text(text: str) -> None:
    told = NAMES.in_text(text)
    assert "alice" not in told.lower()
    assert "1234" not in told
    assert NAMES.in_text(text) == told


def test_other_words_and_addresses_stay() -> None:
    text = "Mail me at a@b.example, 5 @ 3 euro, https://example.org/news/2026?id=1234 #tag"
    assert NAMES.in_text(text) == text


def test_a_mention_and_the_handle_have_the_same_pseudonym() -> None:
    assert NAMES.in_text("@Alice.example hi") == f"@{NAMES.of_handle('alice.example')} hi"


def test_another_key_gives_other_pseudonyms_and_another_fingerprint() -> None:
    other = Pseudonyms(b"b" * 32)
    assert other.of_id("x:1") != NAMES.of_id("x:1")
    assert other.fingerprint != NAMES.fingerprint
    assert NAMES.of_id("x:1") != NAMES.of_post("x:1")


def test_every_column_that_names_somebody_is_changed_or_left_out() -> None:
    """In whatever can be exported: a new kind of rows must say what becomes of its names."""
    assert RULES.keys() == SHAPES.keys()
    known = {
        what: {*IDS.get(what, ()), *HANDLES.get(what, ()), *POST_IDS.get(what, ()), *LEFT_OUT.get(what, ())} for what in RULES
    }
    named = {
        what: {*(name for pair in rules.users for name in pair), *rules.posts, *rules.references, *rules.mentions, *rules.lines}
        for what, rules in RULES.items()
    }
    assert {what: sorted(names - known[what]) for what, names in named.items() if names - known[what]} == {}
    there = {what: {column.name for column in shape.columns} for what, shape in SHAPES.items()}
    assert {what: sorted(names - there[what]) for what, names in known.items() if names - there[what]} == {}
