"""What the judges `language` and `variety` say of a page."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bowerbird.analysis.language.judge import BY_POSTS, LanguageJudge, VarietyJudge, language_judges
from bowerbird.model import Judgement, Page, Post, PostKind, Ruling, Saved, Seen, Subject, User
from bowerbird.model.work.calls import SavedPost
from language_posts import BRAZILIAN, ENGLISH, EUROPEAN

LANGUAGE, VARIETY = language_judges({"language", "variety"})


def seen(texts: Sequence[str], kind: PostKind = PostKind.POST, profile: User | None = None) -> Seen:
    posts = tuple(Post(id=f"x:1{n}", key=f"1{n}", author="x:1", kind=kind, text=text) for n, text in enumerate(texts))
    saved = Saved(posts=tuple(SavedPost(post.id, post.key, post.author, True) for post in posts))
    profiles = {"x:1": profile} if profile else {}
    return Seen(page=Page(posts=posts), saved=saved, profiles=profiles, shown=frozenset(profiles))


def of(ruling: Ruling, subject: Subject) -> dict[str, Judgement]:
    return {each.value: each for each in ruling.judgements if each.subject is subject}


def test_only_those_who_are_asked_for_judge() -> None:
    assert language_judges({"place"}) == []
    assert [judge.name for judge in language_judges({"place", "variety"})] == ["variety"]


def test_posts_and_their_author_are_judged() -> None:
    ruling = LANGUAGE.judge(seen(EUROPEAN))
    assert of(ruling, Subject.POST)["pt"].reason == "text"
    person = of(ruling, Subject.USER)["pt"]
    assert (person.id, person.reason, person.strength) == ("x:1", "few posts", 1)
    assert person.evidence["told"] == len(EUROPEAN)


def test_the_variety_comes_with_the_hints_that_decided() -> None:
    person = of(VARIETY.judge(seen(EUROPEAN)), Subject.USER)["pt-PT"]
    assert person.confidence > 0.9
    assert "+" in str(person.evidence["hints"])
    assert list(of(VARIETY.judge(seen(BRAZILIAN)), Subject.USER)) == ["pt-BR"]
    assert VARIETY.judge(seen(ENGLISH)).judgements == ()


def test_somebody_who_writes_in_two_languages_is_judged_to_write_in_both() -> None:
    people = of(LANGUAGE.judge(seen([*EUROPEAN, *ENGLISH])), Subject.USER)
    assert people.keys() == {"pt", "en", "several"}


def test_more_posts_are_a_stronger_reason_and_fewer_take_nothing_back() -> None:
    many = LANGUAGE.judge(seen(EUROPEAN * 5))
    assert of(many, Subject.USER)["pt"].reason == "many posts"
    assert many.reviewed[Subject.USER, "x:1"] == set(BY_POSTS)
    assert LANGUAGE.judge(seen(EUROPEAN[:4])).reviewed[Subject.USER, "x:1"] == {"few posts"}
    two = LANGUAGE.judge(seen(EUROPEAN[:2]))
    assert of(two, Subject.USER) == {}
    assert two.reviewed[Subject.USER, "x:1"] == frozenset()


@pytest.mark.parametrize("judge", [LANGUAGE, VARIETY])
def test_reposts_are_others_words_and_who_opted_out_is_not_judged(judge: LanguageJudge | VarietyJudge) -> None:
    assert judge.judge(seen(EUROPEAN, PostKind.REPOST)).judgements == ()
    gone = judge.judge(seen(EUROPEAN, profile=User(id="x:1", key="1", opts_out=True)))
    assert gone.judgements == ()
    assert gone.reviewed[Subject.USER, "x:1"] == set(BY_POSTS), "what was said before goes"
