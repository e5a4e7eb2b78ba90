"""Grades of relevance and proposed seeds, computed by hand."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from bowerbird.errors import UserError
from bowerbird.keywords.grading import (
    SCORES,
    Category,
    PostGrader,
    category_of,
    parse_category,
    score_terms,
    share_retained,
)
from bowerbird.keywords.seeds import Tally, propose_seeds
from bowerbird.model.terms import Reading, read_text
from failures import raises_code

C1, C2, C3, C4 = Category
LABELS = {"#olympics": C1, "#gb": C2, "#news": C3, "#奥运": C4}
GRADER = PostGrader(score_terms({tag: (label,) for tag, label in LABELS.items()}, (*LABELS, "#forgotten")))


def tally(posts: Iterable[Reading], wanted: Iterable[str] | None = None) -> Tally:
    found = Tally(None if wanted is None else tuple(wanted))
    for each in posts:
        found.add(each)
    return found


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("#olympics", 3),
        ("#Olympics #news", 0),
        ("#gb", 1),
        ("#gb #other", 0),
        ("#olympics #gb #other", 3),
        ("#奥运", 0),
        ("#gb #forgotten", 1),
        ("no hashtag", 0),
    ],
)
def test_score_sums_hashtags_and_post_is_related_above_zero(text: str, points: int) -> None:
    assert GRADER.score(read_text(text)) == points
    assert GRADER.is_related(read_text(text)) is (points > 0)


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("the river rises", 3),
        ("flood warning for all", 1),
        ("warning: flood", 0),
        ("by the #river", 3),
        ("#river #other", 2),
        ("to @mayor with a flood warning", -2),
    ],
)
def test_score_sums_words_phrases_and_accounts(text: str, points: int) -> None:
    labels = {"river": (C1,), "flood warning": (C2,), "@mayor": (C3,)}
    grader = PostGrader(score_terms(labels, labels))
    assert grader.score(read_text(text)) == points


def test_score_terms_averages_taggers() -> None:
    given = {"#a": (C1, C1, C2), "#b": (C3, C2), "#c": (C1, C3), "#d": (C2, C4)}
    scores = score_terms(given, given)
    # (3 + 3 + 1) / 3; (-3 + 1) / 2; and who contradict each other know nothing.
    assert scores == {"#a": pytest.approx(7 / 3), "#b": -1, "#c": 0, "#d": 0.5}
    assert [category_of(score) for score in scores.values()] == [C1, C3, C4, C2]
    assert [category_of(score) for score in SCORES.values()] == list(SCORES)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (("c1", "Related", " r "), C1),
        (("C2", "possibly", "Possibly related", "possibly-related", "P"), C2),
        (("C3", "unrelated", "non-related", "not related", "Not", "n"), C3),
        (("C4", "unknown", "u"), C4),
    ],
)
def test_parse_category_accepts_sign_word_and_letter(written: tuple[str, ...], meant: Category) -> None:
    assert {parse_category(each) for each in written} == {meant}


def test_parse_category_unknown_raises() -> None:
    with raises_code(UserError, "invalid") as caught:
        parse_category("relatd")
    assert "'relatd'" in caught.value.problem
    assert "'related'" in caught.value.problem


def test_share_retained_by_category() -> None:
    assert share_retained(LABELS, ["#olympics", "#gb", "#news"], {"#olympics"}) == {
        "C1": 1.0,
        "C2": 0.0,
        "C3": 0.0,
        "all": pytest.approx(1 / 3),
    }


def test_propose_seeds_puts_the_tag_of_the_event_first_among_unrelated_posts() -> None:
    event = [f"The Bow River is rising over its banks #abflood {number}" for number in range(20)]
    event += ["good morning #monday", "#monday again", "good food and #coffee", "my #coffee is cold"] * 3
    unrelated = [f"the sun is out over the park {number}" for number in range(400)]
    others = [*unrelated, *["#monday feeling", "one more #coffee"] * 40]
    found = propose_seeds(tally(map(read_text, [*event, *unrelated])), tally(map(read_text, others)))
    assert (found[0].term, found[0].posts, found[0].others) == ("#abflood", 20, 0)
    assert {"#monday", "#coffee"}.isdisjoint(each.term for each in found)


def test_propose_seeds_without_other_posts_leaves_out_common_words_and_their_phrases() -> None:
    event = tally(read_text(f"The Bow River is rising over its banks {number}") for number in range(20))
    words = {word for each in propose_seeds(event, tally([])) for word in each.term.split(" ")}
    assert {"bow", "banks"} <= words
    assert words.isdisjoint({"the", "is", "its", "over"})


def test_propose_seeds_counts_only_wanted_terms_of_other_posts() -> None:
    event, others = tally([read_text("#abflood here")] * 5), [read_text("the #abflood of today")] * 9
    assert propose_seeds(event, tally(others, event.counts)) == propose_seeds(event, tally(others))


def test_propose_seeds_of_two_examples_finds_their_tag() -> None:
    examples = ["the river is over its banks #flood", "flood in the old town, stay away from the river"]
    found = propose_seeds(tally(map(read_text, examples)), tally([]), min_posts=2)
    assert [each.term for each in found] == ["#flood", "river"]


def test_propose_seeds_without_hashtags_finds_words() -> None:
    examples = ["Explosion in West, Texas", "plant explosion near Waco"]
    found = propose_seeds(tally(map(read_text, examples)), tally([read_text("good morning all")] * 50), min_posts=2)
    assert [each.term for each in found] == ["explosion"]
