"""Decisions about accounts by profiles, posts and neighbours, and TwitterEcho's rule."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bowerbird.community.classifier import NO_POSTS, POSTS, CommunityClassifier, Written
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
    assert CLASSIFIER.verdict(user(**profile), NO_POSTS, {})[0].value == value


def test_posts_move_the_same_log_odds() -> None:
    home, europe, brazil = (
        CLASSIFIER.verdict(user(name="João Silva"), written, {})[0].probability
        for written in (NO_POSTS, Written(EUROPEAN * 10), Written(BRAZILIAN * 10))
    )
    assert brazil < home < europe
    in_lisbon = user(location="Lisboa", language="pt")
    assert CLASSIFIER.verdict(in_lisbon, NO_POSTS, {})[0].value == YES
    assert CLASSIFIER.verdict(in_lisbon, Written(BRAZILIAN * 10), {})[0].value != YES


def test_language_of_posts_replaces_that_of_the_profile() -> None:
    verdict, _ = CLASSIFIER.verdict(user(language="de"), Written(EUROPEAN * 10), {})
    assert "declared" not in verdict.evidence
    assert "written" in verdict.evidence


def test_signs_of_posts_are_kept_when_only_the_profile_is_seen() -> None:
    verdict, posts = CLASSIFIER.verdict(user(), Written(EUROPEAN * 10), {})
    evidence = {**verdict.evidence, POSTS: posts}
    again, known = CLASSIFIER.verdict(user(location="in your heart"), NO_POSTS, evidence)
    assert known == 20
    assert {sign.kind for sign in again.signs} == {sign.kind for sign in verdict.signs} | {"place"}


def test_hours_of_posts_are_a_sign() -> None:
    times = tuple(datetime(2026, 1, 1 + n % 28, 9 + n % 12, tzinfo=UTC) for n in range(40))
    verdict, _ = CLASSIFIER.verdict(user(), Written(("bom dia a todos",) * 40, times), {})
    assert any(sign.kind == "rhythm" for sign in verdict.signs)


def test_what_was_learned_changes_decisions_and_is_recorded() -> None:
    classifier = CommunityClassifier(PORTUGAL, CACHE)
    profile = user(description="orgulho benfiquista")
    before, _ = classifier.verdict(profile, NO_POSTS, {})
    classifier.learned = Learned(prior=0.6)
    after, _ = classifier.verdict(profile, NO_POSTS, {})
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
    assert fit_relations([Example(near, True)]) == START


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
    examples = [Example(around, True)] * 3 + [Example(Neighbours(followed_in=1), False)] * 3
    overruled = [*examples, Example(around, False, 5.0)]
    before, after = (relation_score(around, fit_relations(each)) for each in (examples, overruled))
    assert after < before


ASTRONOMERS = ("Astronomer at the observatory", "Radio astronomer, galaxies", "PhD in astronomy, galaxies")
OTHERS = ("Football fan", "Coffee and books", "Mother of two", "Software at night", "Coffee, galaxies")


def test_words_of_members_are_learned_from_seeds() -> None:
    words = learn_words(ASTRONOMERS * 3, OTHERS * 20)
    assert words["astronomer"] > words["galaxies"] > 0
    assert words["coffee"] < 0
    sign = learned_words_sign("An astronomer who drinks tea", words)
    assert sign is not None
    assert sign.weight > 1
    assert learned_words_sign("Nothing known", words) is None
    assert learn_words((), OTHERS) == {}


def test_evidence_of_learned_words_has_one_order() -> None:
    words = dict.fromkeys((f"word{letter}" for letter in "zyxwvutsrqponmlkjihgfedcba"), 1.0)
    sign = learned_words_sign(" ".join(words), words)
    assert sign is not None
    assert sign.found.split(", ") == [f"word{letter}" for letter in "abcdefgh"]


def test_field_is_told_by_learned_words_and_relations() -> None:
    field = Community(name="astronomers", learns_words=True)
    classifier = CommunityClassifier(field, CACHE)
    classifier.learned = Learned(words=learn_words(ASTRONOMERS * 3, OTHERS * 20))
    member, other = user(description="Astronomer, galaxies"), user(description="Coffee")
    assert classifier.verdict(member, NO_POSTS, {})[0].value == YES
    assert classifier.verdict(other, NO_POSTS, {})[0].value != YES
    sign = relation_sign(Neighbours(followed_in=6, follows_in=3), START)
    assert sign is not None
    quiet = user(description="telescopes")
    assert classifier.verdict(quiet, NO_POSTS, {})[0].value == UNDECIDED
    assert classifier.verdict(quiet, NO_POSTS, {}, [sign])[0].value == YES
