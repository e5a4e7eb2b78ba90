"""What a judge went by is said in sentences that can be read once."""

from __future__ import annotations

import re

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
    place, variety, posts = told_of(evidence)
    assert ("Lisboa (PT)" in place, "pt-BR: você" in variety, "12 posts" in posts) == (True, True, True)
    (opposite, *_) = told_of(evidence | {"place": -3.1, "variety": 0.1})
    assert "Lisboa (PT)" in opposite
    assert opposite != place, "the direction of the evidence is told"


def test_neighbours_are_told_as_a_sentence() -> None:
    sign = relation_sign(Neighbours(followed_in=9, followed_out=1, follows_in=3), START)
    assert sign is not None
    assert re.findall(r"\d+", sign.found) == ["9", "1", "3", "0"], "members and others, followed by and follows"


def test_a_judge_with_words_of_its_own_is_told_as_it_is() -> None:
    place, seen = told_of({"place": "Faro", "seen_in": "bio", "probability": 0.4})
    assert place.endswith("Faro")
    assert seen.endswith("bio")
    assert not signs_of({"place": "Faro"})


def test_who_decided_is_named() -> None:
    assert "posts" in judged_words("posts")
    assert "Ana" in judged_words("person", "Ana")


def test_confidence_of_an_undecided_account_is_that_it_belongs() -> None:
    assert sure_words("undecided") not in (sure_words("no"), sure_words("yes"))
