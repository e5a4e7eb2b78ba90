"""What a judge went by is said in sentences that can be read once."""

from __future__ import annotations

from bowerbird.analysis.community.relations import RelationModel
from bowerbird.model.subjects.community import Neighbours
from bowerbird.reports.community.wording import judged_words, leaning_words, mended, signs_of, told_of


def test_evidence_is_told_in_sentences_the_weightiest_first() -> None:
    evidence = {
        "score": 0.97,
        "place": 3.1,
        "place_told": "Lisboa (PT)",
        "variety": -0.4,
        "variety_told": "pt-BR: você",
        "posts": 12,
    }
    assert list(told_of(evidence)) == [
        "location: Lisboa (PT), speaks strongly for it",
        "variety: pt-BR: você, speaks a little against it",
        "12 posts were read",
    ]


def test_what_earlier_versions_wrote_of_neighbours_is_mended() -> None:
    assert mended("3 who belong and 2 who do not it follows; 1 who belong and 0 who do not mention it") == (
        "follows 3 who belong and 2 who do not; mentioned by 1 who belong and 0 who do not"
    )


def test_neighbours_are_told_as_a_sentence() -> None:
    sign = RelationModel().sign(Neighbours(followed_in=9, followed_out=1, follows_in=3))
    assert sign is not None
    assert sign.told == mended(sign.told) == "followed by 9 who belong and 1 who do not; follows 3 who belong and 0 who do not"


def test_a_judge_with_words_of_its_own_is_told_as_it_is() -> None:
    assert list(told_of({"place": "Faro", "seen_in": "bio", "score": 0.4})) == ["location: Faro", "seen in: bio"]
    assert not signs_of({"place": "Faro"})


def test_who_decided_is_named() -> None:
    assert judged_words("posts") == "by the posts"
    assert judged_words("person", "Ana") == "by Ana"


def test_of_the_undecided_it_is_told_to_which_side_they_lean() -> None:
    assert leaning_words("no", {"score": 0.01}) == "sure"
    assert leaning_words("undecided", {"score": 0.01}) == "likely not to belong, too little to decide"
    assert leaning_words("undecided", {"score": 0.7}) == "likely to belong, too little to decide"
