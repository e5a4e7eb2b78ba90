"""The labels of the classifiers `language` and `variety` for a page."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec import structs

from bowerbird.analysis.language_labels import BY_POSTS, create_classifiers
from bowerbird.model import EarlierJudgement, Judgement, Page, Post, PostKind, Ruling, Saved, Seen, Subject, User
from bowerbird.model.work.calls import SavedPost
from bowerbird.ports import Judge
from language_posts import BRAZILIAN, ENGLISH, EUROPEAN

LANGUAGE, VARIETY = create_classifiers({"language", "variety"})


def seen(texts: Sequence[str], kind: PostKind = PostKind.POST, profile: User | None = None) -> Seen:
    posts = tuple(Post(id=f"x:1{n}", key=f"1{n}", author="x:1", kind=kind, text=text) for n, text in enumerate(texts))
    saved = Saved(posts=tuple(SavedPost(post.id, post.key, post.author, True) for post in posts))
    profiles = {"x:1": profile} if profile else {}
    return Seen(page=Page(posts=posts), saved=saved, profiles=profiles, shown=frozenset(profiles))


def labels_of(ruling: Ruling, subject: Subject) -> dict[str, Judgement]:
    return {each.value: each for each in ruling.judgements if each.subject is subject}


def test_create_classifiers_by_name() -> None:
    assert create_classifiers({"place"}) == []
    assert [each.name for each in create_classifiers({"place", "variety"})] == ["variety"]


def test_posts_and_their_author_are_labelled() -> None:
    ruling = LANGUAGE.judge(seen(EUROPEAN))
    post = labels_of(ruling, Subject.POST)["pt"]
    assert post.reason == "text"
    assert post.evidence.keys() == {"prior", "stream_posts"}
    account = labels_of(ruling, Subject.USER)["pt"]
    assert (account.id, account.reason, account.strength) == ("x:1", "few posts", 1)
    assert account.evidence["identified"] == len(EUROPEAN)


def test_evidence_records_the_prior_of_the_stream() -> None:
    (language,) = create_classifiers({"language"})
    names = ("ana", "rui", "eva", "luís", "zé", "inês", "marta", "joão", "sara", "tiago")
    texts = [
        f"{text} {first} {second}" for text in EUROPEAN for first in names for second in ("hoje", "ontem", "sempre", "agora")
    ]
    flat = labels_of(language.judge(seen(EUROPEAN[:1])), Subject.POST)["pt"]
    assert flat.evidence == {"prior": pytest.approx(1 / 78, abs=1e-4), "stream_posts": 0}
    language.judge(seen(texts))
    later = labels_of(language.judge(seen(["Vamos ao cinema amanhã à noite"])), Subject.POST)["pt"]
    assert later.evidence["stream_posts"] == len(texts) + 1
    assert float(later.evidence["prior"] or 0) > 5 / 78


def test_only_accounts_have_a_variety() -> None:
    ruling = VARIETY.judge(seen(EUROPEAN))
    assert labels_of(ruling, Subject.POST) == {}
    account = labels_of(ruling, Subject.USER)["pt-PT"]
    assert account.confidence > 0.9
    assert "progressive-infinitive +" in str(account.evidence["hints"])
    assert list(labels_of(VARIETY.judge(seen(BRAZILIAN)), Subject.USER)) == ["pt-BR"]
    assert list(labels_of(VARIETY.judge(seen([*EUROPEAN, *BRAZILIAN])), Subject.USER)) == ["mixed"]
    assert VARIETY.judge(seen(ENGLISH)).judgements == ()


def test_account_in_two_languages_has_both_and_several() -> None:
    accounts = labels_of(LANGUAGE.judge(seen([*EUROPEAN, *ENGLISH])), Subject.USER)
    assert accounts.keys() == {"pt", "en", "several"}


@pytest.mark.parametrize("classifier", [LANGUAGE, VARIETY])
def test_fewer_posts_do_not_withdraw_labels_by_more(classifier: Judge) -> None:
    many = classifier.judge(seen(EUROPEAN * 5))
    assert {each.reason for each in labels_of(many, Subject.USER).values()} == {"many posts"}
    assert many.reviewed[Subject.USER, "x:1"] == set(BY_POSTS)
    assert classifier.judge(seen(EUROPEAN[:4])).reviewed[Subject.USER, "x:1"] == {"few posts"}
    two = classifier.judge(seen(EUROPEAN[:2]))
    assert labels_of(two, Subject.USER) == {}
    assert two.reviewed[Subject.USER, "x:1"] == frozenset()


@pytest.mark.parametrize("classifier", [LANGUAGE, VARIETY])
def test_reposts_and_opted_out_accounts_have_no_label(classifier: Judge) -> None:
    assert classifier.judge(seen(EUROPEAN, PostKind.REPOST)).judgements == ()
    opted_out = classifier.judge(seen(EUROPEAN, profile=User(id="x:1", key="1", opts_out=True)))
    assert opted_out.judgements == ()
    assert opted_out.reviewed[Subject.USER, "x:1"] == set(BY_POSTS)


@pytest.mark.parametrize("classifier", [LANGUAGE, VARIETY])
def test_posts_without_letters_do_not_strengthen_a_label(classifier: Judge) -> None:
    emoji = ["🎉" * number for number in range(1, 31)]
    nothing = classifier.judge(seen(emoji))
    assert labels_of(nothing, Subject.USER) == {}
    assert nothing.reviewed[Subject.USER, "x:1"] == frozenset()
    few = classifier.judge(seen([*emoji[:27], *EUROPEAN[:3]]))
    assert {each.reason for each in labels_of(few, Subject.USER).values()} == {"few posts"}


@pytest.mark.parametrize(("classifier", "value"), [(LANGUAGE, "en"), (VARIETY, "pt-PT")])
def test_label_by_fewer_posts_is_not_added_beside_one_by_more(classifier: Judge, value: str) -> None:
    before = EarlierJudgement(judge=classifier.name, value=value, reason="many posts", evidence="{}", version="3", strength=3)
    page = structs.replace(seen(BRAZILIAN), before={(Subject.USER, "x:1"): (before,)})
    assert labels_of(classifier.judge(page), Subject.USER) == {}
    weaker = structs.replace(before, reason="few posts", strength=1)
    page = structs.replace(page, before={(Subject.USER, "x:1"): (weaker,)})
    assert labels_of(classifier.judge(page), Subject.USER) != {}
