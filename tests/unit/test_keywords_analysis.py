"""Grades of relevance, seeds proposed, and terms that belong together, reckoned by hand."""

from __future__ import annotations

import pytest

from bowerbird.analysis.keywords.grading import Category, agreed, category_of, grade, is_related, krippendorff, retained
from bowerbird.analysis.keywords.proposing import likelihood_ratio, proposed
from bowerbird.analysis.keywords.related import Traffic, related, surprise
from bowerbird.errors import UserError
from bowerbird.model.terms import read_text

C1, C2, C3, C4 = Category
LABELS = {"#olympics": C1, "#gb": C2, "#news": C3, "#奥运": C4}


@pytest.mark.parametrize(
    ("tags", "points"),
    [
        ({"#olympics"}, 3),
        ({"#olympics", "#news"}, 0),
        ({"#gb"}, 1),
        ({"#gb", "#other"}, 0),
        ({"#olympics", "#gb", "#other"}, 3),
        ({"#奥运"}, 0),
        (set(), 0),
    ],
)
def test_a_post_is_the_sum_of_its_hashtags_and_related_above_zero(tags: set[str], points: int) -> None:
    assert grade(tags, LABELS) == points
    assert is_related(tags, LABELS) is (points > 0)


def test_taggers_are_averaged_with_their_agreement() -> None:
    found = agreed([{"#a": C1, "#b": C3}, {"#a": C1, "#b": C2}, {"#a": C2}])
    # #a: (3 + 3 + 1) / 3 = 2.33, nearest to 3. #b: (-3 + 1) / 2 = -1, nearest to 0.
    assert found.labels == {"#a": C1, "#b": C4}
    assert found.agreement == pytest.approx(2 / 8)
    assert krippendorff([[C1, C1], [C3, C3]]) == 1.0
    assert krippendorff([[C1, C3], [C3, C1]]) == pytest.approx(-0.5)
    assert agreed([]).labels == {}


def test_categories_are_read_by_sign_or_word() -> None:
    assert [category_of(each) for each in ("c1", "Possibly related", "non-related", "unknown")] == [C1, C2, C3, C4]
    with pytest.raises(UserError, match="is no category"):
        category_of("maybe")


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
    found = proposed(event, other)
    assert {each.term for each in found} >= {"#abflood"}
    assert not {"the", "is"} & {each.term for each in found}
    assert "in 20 of 20 posts, and in 0 of 200 others" in found[0].reason
    assert not any(" " in each.term and set(each.term.split()) & {one.term for one in found} for each in found)


def test_a_few_examples_are_enough_to_propose_something() -> None:
    examples = [read_text("Explosion in West, Texas #westtx"), read_text("plant explosion near Waco")]
    assert "explosion" in {each.term for each in proposed(examples, [read_text("good morning all")] * 50)}
    assert likelihood_ratio((5, 10), (5, 10)) == pytest.approx(0)


def test_terms_that_come_together_and_rise_together_are_related() -> None:
    traffic = Traffic({"#a": (1, 2, 3), "#b": (2, 4, 6), "#c": (3, 2, 1)}, {"#a": {"#b": 6}, "#c": {"#a": 1}}, posts=100)
    first, second = related("#a", traffic)
    assert (first.term, first.together, first.jaccard, first.share) == ("#b", 6, 0.5, 1.0)
    assert (first.correlation, second.correlation) == (pytest.approx(1), pytest.approx(-1))
    assert second.together == 1
    assert surprise(10, 10, 1, 100) == pytest.approx(0)
    assert surprise(5, 5, 0, 100) == -1
