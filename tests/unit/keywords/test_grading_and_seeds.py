"""Grades of relevance, seeds proposed, and terms that belong together, reckoned by hand."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from bowerbird.errors import UserError
from bowerbird.keywords.grading import (
    SCORES,
    Category,
    agreement,
    category_of,
    is_related,
    krippendorff,
    parse_category,
    score_post,
    score_terms,
    share_retained,
)
from bowerbird.keywords.related import find_related, surprise
from bowerbird.keywords.seeds import Tally, find_candidates, likelihood_ratio, propose_seeds
from bowerbird.model.terms import Kind, Reading, read_text

C1, C2, C3, C4 = Category
LABELS = {"#olympics": C1, "#gb": C2, "#news": C3, "#奥运": C4}
SCORED = score_terms({tag: (label,) for tag, label in LABELS.items()}, (*LABELS, "#forgotten"))


def tally(posts: Iterable[Reading], wanted: Iterable[str] | None = None) -> Tally:
    found = Tally(None if wanted is None else tuple(wanted))
    for each in posts:
        found.add(each)
    return found


@pytest.mark.parametrize(
    ("tags", "points"),
    [
        ({"#olympics"}, 3),
        ({"#olympics", "#news"}, 0),
        ({"#gb"}, 1),
        ({"#gb", "#other"}, 0),
        ({"#olympics", "#gb", "#other"}, 3),
        ({"#奥运"}, 0),
        ({"#gb", "#forgotten"}, 1),
        (set(), 0),
    ],
)
def test_score_post_sums_hashtags_and_is_related_above_zero(tags: set[str], points: int) -> None:
    assert score_post(tags, SCORED) == points
    assert is_related(tags, SCORED) is (points > 0)


def test_score_terms_averages_taggers() -> None:
    given = {"#a": (C1, C1, C2), "#b": (C3, C2), "#c": (C1, C3), "#d": (C2, C4)}
    scores = score_terms(given, given)
    # (3 + 3 + 1) / 3; (-3 + 1) / 2; and who contradict each other know nothing.
    assert scores == {"#a": pytest.approx(7 / 3), "#b": -1, "#c": 0, "#d": 0.5}
    assert [category_of(score) for score in scores.values()] == [C1, C3, C4, C2]
    assert [category_of(score) for score in SCORES.values()] == list(SCORES)
    agreed, alpha = agreement(given.values())
    assert (agreed, alpha) == (pytest.approx(2 / 12), krippendorff(list(given.values())))
    assert krippendorff([[C1, C1], [C3, C3]]) == 1.0
    assert krippendorff([[C1, C3], [C3, C1]]) == pytest.approx(-0.5)
    assert agreement([(C1,), (C2,)]) == (None, None)


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
    with pytest.raises(UserError, match=r"'relatd' \(did you mean 'related'\?\)"):
        parse_category("relatd")


def test_share_retained_by_category() -> None:
    assert share_retained(LABELS, ["#olympics", "#gb", "#news"], {"#olympics"}) == {
        "C1": 1.0,
        "C2": 0.0,
        "C3": 0.0,
        "all": pytest.approx(1 / 3),
    }


def test_propose_seeds_prefers_hashtags_of_the_event() -> None:
    event = tally(read_text(f"The Bow River is rising over its banks #abflood {number}") for number in range(20))
    others = [read_text(f"the sun is out over the park {number}") for number in range(200)]
    found = propose_seeds(event, tally(others))
    assert found == propose_seeds(event, tally(others, find_candidates(event, 3)))
    assert (found[0].term, found[0].kind, found[0].posts, found[0].others) == ("#abflood", Kind.HASHTAG, 20, 0)
    assert not {"the", "is", "its", "over"} & {each.term for each in found}


def test_propose_seeds_of_two_examples_finds_their_tag_without_other_posts() -> None:
    examples = ["the river is over its banks #flood", "flood in the old town, stay away from the river"]
    found = propose_seeds(tally(map(read_text, examples)), tally([]), min_posts=2)
    assert found[0].term == "#flood"
    assert not {"its", "over", "the", "is", "in", "away", "from", "old"} & {each.term for each in found}


def test_propose_seeds_without_hashtags_finds_words() -> None:
    examples = ["Explosion in West, Texas", "plant explosion near Waco"]
    found = propose_seeds(tally(map(read_text, examples)), tally([read_text("good morning all")] * 50), min_posts=2)
    assert [each.term for each in found] == ["explosion"]
    assert likelihood_ratio(5, 10, 5, 10) == pytest.approx(0)


def test_find_related_orders_by_closeness() -> None:
    traffic = {"#a": (1, 2, 3), "#b": (2, 4, 6), "#c": (3, 2, 1)}
    together = {"#a": {"#b": 6}, "#c": {"#a": 1}}
    first, second = find_related("#a", traffic, together, posts=100)
    assert (first.term, first.together, first.jaccard) == ("#b", 6, 0.5)
    assert (first.correlation, second.correlation) == (pytest.approx(1), pytest.approx(-1))
    assert second.together == 1
    assert surprise(10, 10, 1, 100) == pytest.approx(0)
    assert surprise(5, 5, 0, 100) == -1
    assert find_related("#unseen", traffic, together, posts=100) == []
