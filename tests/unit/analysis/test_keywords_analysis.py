"""Grades of relevance, seeds proposed, and terms that belong together, reckoned by hand."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from bowerbird.analysis.keywords.grading import (
    SCORES,
    Category,
    agreement,
    category,
    category_of,
    grade,
    is_related,
    krippendorff,
    retained,
    scored,
)
from bowerbird.analysis.keywords.proposing import Tally, candidates, likelihood_ratio, proposed
from bowerbird.analysis.keywords.related import Traffic, related, surprise
from bowerbird.errors import UserError
from bowerbird.model.terms import Reading, read_text

C1, C2, C3, C4 = Category
LABELS = {"#olympics": C1, "#gb": C2, "#news": C3, "#奥运": C4}
SCORED = scored({tag: (label,) for tag, label in LABELS.items()}, (*LABELS, "#forgotten"))


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
def test_a_post_is_the_sum_of_its_hashtags_and_related_above_zero(tags: set[str], points: int) -> None:
    assert grade(tags, SCORED) == points
    assert is_related(tags, SCORED) is (points > 0)


def test_taggers_are_averaged_with_their_agreement() -> None:
    given = {"#a": (C1, C1, C2), "#b": (C3, C2), "#c": (C1, C3), "#d": (C2, C4)}
    scores = scored(given, given)
    # (3 + 3 + 1) / 3; (-3 + 1) / 2; and who contradict each other know nothing.
    assert scores == {"#a": pytest.approx(7 / 3), "#b": -1, "#c": 0, "#d": 0.5}
    assert [category(score) for score in scores.values()] == [C1, C3, C4, C2]
    assert [category(score) for score in SCORES.values()] == list(SCORES)
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
def test_categories_are_read_by_sign_word_or_letter(written: tuple[str, ...], meant: Category) -> None:
    assert {category_of(each) for each in written} == {meant}


def test_what_is_no_category_is_told_with_those_that_there_are() -> None:
    with pytest.raises(UserError, match=r"unknown label 'relatd' \(did you mean 'related'\?\); write one of related \(C1, r\), "):
        category_of("relatd")


def test_the_share_of_keywords_retained_is_told_by_category() -> None:
    assert retained(LABELS, ["#olympics", "#gb", "#news"], {"#olympics"}) == {
        "C1": 1.0,
        "C2": 0.0,
        "C3": 0.0,
        "all": pytest.approx(1 / 3),
    }


def test_seeds_are_frequent_in_the_event_and_rare_elsewhere() -> None:
    event = [read_text(f"The Bow River is rising #abflood {number}") for number in range(20)]
    other = [read_text(f"the sun is out {number}") for number in range(200)]
    counted = tally(event)
    found = proposed(counted, tally(other))
    assert found == proposed(counted, tally(other, candidates(counted)))
    assert {each.term for each in found} >= {"#abflood"}
    assert not {"the", "is"} & {each.term for each in found}
    assert "in 20 of 20 posts, and in 0 of 200 others" in found[0].reason
    assert not any(" " in each.term and set(each.term.split()) & {one.term for one in found} for each in found)


def test_a_few_examples_are_enough_to_propose_something() -> None:
    examples = [read_text("Explosion in West, Texas #westtx"), read_text("plant explosion near Waco")]
    assert "explosion" in {each.term for each in proposed(tally(examples), tally([read_text("good morning all")] * 50))}
    assert likelihood_ratio((5, 10), (5, 10)) == pytest.approx(0)


def test_terms_that_come_together_and_rise_together_are_related() -> None:
    traffic = Traffic({"#a": (1, 2, 3), "#b": (2, 4, 6), "#c": (3, 2, 1)}, {"#a": {"#b": 6}, "#c": {"#a": 1}}, posts=100)
    first, second = related("#a", traffic)
    assert (first.term, first.together, first.jaccard, first.share) == ("#b", 6, 0.5, 1.0)
    assert (first.correlation, second.correlation) == (pytest.approx(1), pytest.approx(-1))
    assert second.together == 1
    assert surprise(10, 10, 1, 100) == pytest.approx(0)
    assert surprise(5, 5, 0, 100) == -1
    assert related("#unseen", traffic) == []
