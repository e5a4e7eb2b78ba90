"""Decisions about accounts by profiles, posts and neighbours, and TwitterEcho's rule."""

from __future__ import annotations

import pytest
from msgspec import structs

from bowerbird.analysis.variety import ECHO_LETTERS
from bowerbird.community.classifier import POSTS, CommunityClassifier
from bowerbird.community.countries import example
from bowerbird.community.echo import classify
from bowerbird.community.membership import Learned
from bowerbird.community.relations import START, Example, fit_relations, relation_score, relation_sign
from bowerbird.community.words import learn_words, learned_words_sign
from bowerbird.model import User
from bowerbird.model.subjects.community import NO, UNDECIDED, YES, Community, Neighbours
from bowerbird.settings import load_settings

CACHE = load_settings().cache_folder
PORTUGAL = example("PT")
EUROPEAN = ("Apanhei o autocarro para casa, estou a ver o jogo", "Já te disse que o telemóvel é fixe")
BRAZILIAN = ("Peguei o ônibus, tô vendo o jogo com a galera kkkk", "Me falaram que meu celular é legal demais")
CLASSIFIER = CommunityClassifier(PORTUGAL, CACHE)


def user(**fields: str) -> User:
    return User(id="x:1", key="1", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("profile", "value"),
    [
        ({"location": "Lisboa, Portugal", "language": "pt"}, YES),
        ({"location": "margem sul", "time_zone": "Lisbon"}, YES),
        ({"location": "São Paulo", "time_zone": "Brasilia", "description": "paulistano"}, NO),
        ({"location": "Washington, DC"}, NO),
        ({"location": "in your heart", "name": "sunshine"}, UNDECIDED),
        ({"location": "Lisboa / London"}, UNDECIDED),
        ({"location": "Santarém"}, UNDECIDED),
        ({"name": "Maria João Ferreira"}, UNDECIDED),
        ({}, UNDECIDED),
    ],
)
def test_profile_alone_decides_where_it_can(profile: dict[str, str], value: str) -> None:
    assert CLASSIFIER.verdict(user(**profile), (), {}).value == value


def test_posts_move_the_same_log_odds() -> None:
    home, europe, brazil = (
        CLASSIFIER.verdict(user(name="João Silva"), posts, {}).probability for posts in ((), EUROPEAN * 10, BRAZILIAN * 10)
    )
    assert brazil < home < europe
    in_lisbon = user(location="Lisboa", language="pt")
    assert CLASSIFIER.verdict(in_lisbon, (), {}).value == YES
    assert CLASSIFIER.verdict(in_lisbon, BRAZILIAN * 10, {}).value != YES


def test_language_of_posts_replaces_that_of_the_profile() -> None:
    verdict = CLASSIFIER.verdict(user(language="de"), EUROPEAN * 10, {})
    assert "declared" not in verdict.evidence
    assert "written" in verdict.evidence


def test_signs_of_posts_are_kept_when_only_the_profile_is_seen() -> None:
    judgement = CLASSIFIER.judgement("x:1", user(), EUROPEAN * 10, {})
    again = CLASSIFIER.judgement("x:1", user(location="in your heart"), (), judgement.evidence)
    assert again.evidence[POSTS] == 20
    assert again.evidence["written"] == judgement.evidence["written"]
    assert again.evidence.keys() == judgement.evidence.keys() | {"place", "place_found"}


def test_echo_keeps_the_variety_when_only_the_profile_is_seen() -> None:
    echo = CommunityClassifier(structs.replace(PORTUGAL, rule="echo"), CACHE)
    # Letters as frequent as the rule expects them in Portuguese.
    text = "".join(f"{letter} " * (30 - rank) for rank, letter in enumerate(ECHO_LETTERS))
    judgement = echo.judgement("x:1", user(), (text,) * 30, {})
    again = echo.judgement("x:1", user(location="in your heart"), (), judgement.evidence)
    assert (judgement.value, again.value, again.evidence[POSTS]) == (YES, YES, 30)


def test_what_was_learned_changes_decisions_and_is_recorded() -> None:
    classifier = CommunityClassifier(PORTUGAL, CACHE)
    profile = user(description="orgulho benfiquista")
    before = classifier.verdict(profile, (), {})
    classifier.learned = Learned(prior=0.6)
    after = classifier.verdict(profile, (), {})
    assert before.evidence["prior"] == 0.15
    assert after.evidence["prior"] == 0.6
    assert after.probability > before.probability
    assert after.log_odds == before.log_odds


def test_echo_decides_by_exactly_one_proof() -> None:
    assert classify(user(location="Braga"), PORTUGAL).value == YES
    assert classify(user(location="Berlin"), PORTUGAL).value == NO
    assert classify(user(location="Berlin", time_zone="Lisbon"), PORTUGAL).value == UNDECIDED
    assert classify(user(location="somewhere"), PORTUGAL).value == UNDECIDED
    assert classify(user(name="Yuki Tanaka"), PORTUGAL).value == NO


def test_relations_are_learned_and_count_on_their_own_side() -> None:
    near = Neighbours(followed_in=8, mentioned_in=2)
    far = Neighbours(followed_in=1, mentioned_in=1, followed_out=3)
    weights = fit_relations([Example(near, True)] * 40 + [Example(far, False)] * 60)
    assert relation_score(near, weights) > 0.85 > 0.3 > relation_score(far, weights)
    assert weights["followed_in"] >= 0 >= weights["followed_out"]
    assert relation_sign(Neighbours(followed_in=2), START) is None
    assert fit_relations([Example(near, True)] * 40 + [Example(far, False)] * 4) == {}


def test_relations_ignore_whose_list_was_requested() -> None:
    read = Neighbours(followed_in=3, follows_in=2, follows_out=30)
    unread = Neighbours(followed_in=3, follows_in=2)
    assert relation_score(read, START) == relation_score(unread, START)
    with_list, without = relation_sign(read, START), relation_sign(unread, START)
    assert with_list is not None
    assert without is not None
    assert with_list.weight < without.weight


def test_persons_decision_counts_for_several_examples() -> None:
    around = Neighbours(followed_in=4)
    examples = [Example(around, True)] * 10 + [Example(Neighbours(followed_in=1), False)] * 10
    overruled = [*examples, Example(around, False, 5.0)]
    before, after = (relation_score(around, fit_relations(each)) for each in (examples, overruled))
    assert after < before


ASTRONOMERS = ("Astronomer at the observatory", "Radio astronomer, galaxies", "PhD in astronomy, galaxies")
OTHERS = ("Football fan", "Coffee and books", "Mother of two", "Software at night", "Coffee, galaxies")
WORDS = learn_words(ASTRONOMERS * 8, OTHERS * 20)


def test_words_of_members_are_learned_from_seeds() -> None:
    assert WORDS["astronomer"] > WORDS["galaxies"] > 0
    assert "coffee" not in WORDS
    sign = learned_words_sign("An astronomer who drinks tea", WORDS)
    assert sign is not None
    assert sign.weight > 1
    assert learn_words((), OTHERS) == {}


def test_description_without_words_of_members_is_a_sign_and_an_empty_one_is_not() -> None:
    sign = learned_words_sign("Mother of two", WORDS)
    assert sign is not None
    assert sign.weight < -1
    assert learned_words_sign("", WORDS) is None
    assert learned_words_sign("Mother of two", {}) is None


def test_words_of_few_seeds_weigh_little() -> None:
    rare = ("Astronomer, knitting", "Astronomer, knitting", *["Astronomer"] * 22)
    words = learn_words(rare, ["Knitting"] * 2 + ["Books"] * 98)
    assert words.get("knitting", 0.0) < 1.5 < words["astronomer"]


def test_members_among_the_others_hardly_weaken_their_word() -> None:
    words = learn_words(["Journalist"] * 25, ["Journalist"] * 14 + ["Baker"] * 86)
    assert words["journalist"] > 3


def test_evidence_of_learned_words_has_one_order() -> None:
    words = dict.fromkeys((f"word{letter}" for letter in "zyxwvutsrqponmlkjihgfedcba"), 1.0)
    sign = learned_words_sign(" ".join(words), words)
    assert sign is not None
    assert sign.found.split(", ") == [f"word{letter}" for letter in "abcdefgh"]


def test_field_is_told_by_learned_words_and_relations() -> None:
    field = Community(name="astronomers", learns_words=True)
    classifier = CommunityClassifier(field, CACHE)
    classifier.learned = Learned(words=WORDS)
    member, other = user(description="Astronomer, galaxies"), user(description="Coffee")
    assert classifier.verdict(member, (), {}).value == YES
    assert classifier.verdict(other, (), {}).value != YES
    around = Neighbours(followed_in=6, follows_in=3)
    assert relation_sign(around, {}, is_field=True) is None, "the start weights are those of a country"
    sign = relation_sign(around, START, is_field=True)
    assert sign is not None
    quiet = user(description="")
    assert classifier.verdict(quiet, (), {}).value == UNDECIDED
    assert classifier.verdict(quiet, (), {}, [sign]).value == YES
