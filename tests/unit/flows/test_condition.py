"""Conditions of edges: what they mean, what they refuse, and that nothing a file says can break the parser."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bowerbird.flows.language.condition import FLAGS, NUMBERS, TEXTS, parse


def holds(condition: str, /, **facts: Any) -> bool:
    return parse(condition).holds(facts.get)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("news", True),
        ("not news", False),
        ("depth < 3", True),
        ("depth < 2", False),
        ("2 <= depth", True),
        ("depth < max_depth and followers < 5000", True),
        ("depth > 5 or language in ['pt', 'en']", True),
        ("language not in ['pt', 'en']", False),
        ("not (news and depth < 3)", False),
        ("text contains 'FLOOD'", True),
        ('language == "pt"', True),
        ("language != 'pt'", False),
        ("followers is known and location is unknown", True),
    ],
)
def test_a_condition_holds_when_its_words_say_so(text: str, expected: bool) -> None:
    facts = {"news": True, "depth": 2, "max_depth": 3, "followers": 10, "language": "pt", "text": "a flood is coming"}
    assert holds(text, **facts) is expected


def test_and_binds_tighter_than_or() -> None:
    assert holds("news or new and changed", news=True)
    assert not holds("(news or new) and changed", news=True)


def test_a_comparison_with_the_unknown_holds_neither_way() -> None:
    assert not holds("followers < 5000")
    assert not holds("not followers < 5000")
    assert holds("followers < 5000 or followers is unknown")


def test_a_flag_nobody_told_is_false() -> None:
    assert holds("not protected")
    assert not holds("protected")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("folowers < 5", ["'folowers'", "'followers'"]),
        ("followers", ["followers < 10"]),
        ("news == 3", ["'news'", "'not news'"]),
        ("judged('language', 'english')", ["'english'", "language", "'pt'"]),
        ("judged('variety', 'pt')", ["'pt'", "'pt-PT'", "'pt-BR'", "'mixed'"]),
        ("depth < 'three'", ["'three'", "depth"]),
        ("language < 'pt'", ["'<'", "==", "!=", "in", "contains"]),
        ("depth contains 'x'", ["'contains'"]),
        ("depth < 3 news", ["'news'", "'and'", "'or'"]),
        ("(depth < 3", ["')'"]),
        ("depth <", []),
        ("depth < 3 and", []),
        ("language in 'pt'", ["'['"]),
        ("__import__('os')", ["'__import__'"]),
        ("depth ** 2", ["'** 2'"]),
        ("depth < 3; news", ["'; news'"]),
        ("not " * 100 + "news", []),
        ("news or " * 100 + "news", ["804", "500"]),
    ],
)
def test_a_wrong_condition_says_what_is_allowed(text: str, named: list[str]) -> None:
    with pytest.raises(ValueError) as caught:
        parse(text)
    message = str(caught.value)
    assert repr(text) in message or str(len(text)) in message
    explanation = message.replace(repr(text), "")
    assert all(value in explanation for value in named)


def test_only_conditions_about_change_wake_by_themselves() -> None:
    assert parse("news and depth < 2").is_about_change
    assert not parse("depth < 2").is_about_change


@given(st.text(max_size=60))
def test_any_text_is_either_parsed_or_refused_politely(text: str) -> None:
    try:
        condition = parse(text)
    except ValueError as error:
        refusal = str(error)
    else:
        refusal = ""
        assert condition.holds(lambda word: None) in {True, False}
    assert refusal == "" or "condition" in refusal


_leaves = st.sampled_from(["news", "new", "changed", "protected"])
_trees = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        inner.map(lambda one: f"not ({one})"),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"({' '.join(t)})"),
    ),
    max_leaves=12,
)


@given(_trees, st.fixed_dictionaries({word: st.booleans() for word in ("news", "new", "changed", "protected")}))
def test_flags_combine_as_in_logic(text: str, facts: dict[str, bool]) -> None:
    assert holds(text, **facts) is eval(text, {}, dict(facts))


def test_every_word_of_the_language_is_explained_once() -> None:
    words = [*FLAGS, *NUMBERS, *TEXTS]
    assert len(words) == len(set(words))
    assert all([*FLAGS.values(), *NUMBERS.values(), *TEXTS.values()])
