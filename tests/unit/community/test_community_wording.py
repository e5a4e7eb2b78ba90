"""What a judge went by is said in sentences that can be read once."""

from __future__ import annotations

from bowerbird.community.relations import START, relation_sign
from bowerbird.model.subjects.community import Neighbours
from bowerbird.reports.community.wording import judged_words, signs_of, sure_words, told_of


def test_evidence_is_told_in_sentences_the_weightiest_first() -> None:
    evidence = {
        "probability": 0.97,
        "place": 3.1,
        "place_found": "Lisboa (PT)",
        "variety": -0.4,
        "variety_found": "pt-BR: você",
        "posts": 12,
    }
    assert list(told_of(evidence)) == [
        "location: Lisboa (PT), speaks strongly for it",
        "variety: pt-BR: você, speaks a little against it",
        "12 posts were read",
    ]


def test_neighbours_are_told_as_a_sentence() -> None:
    sign = relation_sign(Neighbours(followed_in=9, followed_out=1, follows_in=3), START)
    assert sign is not None
    assert sign.found == "followed by 9 members and 1 other; follows 3 members and 0 others"


def test_a_judge_with_words_of_its_own_is_told_as_it_is() -> None:
    assert list(told_of({"place": "Faro", "seen_in": "bio", "probability": 0.4})) == ["location: Faro", "seen in: bio"]
    assert not signs_of({"place": "Faro"})


def test_who_decided_is_named() -> None:
    assert judged_words("posts") == "by the posts"
    assert judged_words("person", "Ana") == "by Ana"


def test_confidence_of_an_undecided_account_is_that_it_belongs() -> None:
    assert sure_words("no") == "sure"
    assert sure_words("undecided").startswith("likely to belong")
