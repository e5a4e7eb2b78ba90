"""What profiles, posts and neighbours say of somebody's belonging, and what it comes to."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bowerbird.analysis.community.describing import example
from bowerbird.analysis.community.echo import proved
from bowerbird.analysis.community.judge import NOTHING, POSTS, Examiner, Written
from bowerbird.analysis.community.relations import Example, RelationModel, estimated
from bowerbird.analysis.community.shares import interval
from bowerbird.analysis.community.signs import Sign, signs_in, weighed
from bowerbird.analysis.community.zones import apart, hours_from_utc, zone_named
from bowerbird.model import User
from bowerbird.model.subjects.community import NO, UNDECIDED, YES, Neighbours
from bowerbird.settings import load_settings

PORTUGAL = example("PT")
EUROPEAN = ("Apanhei o autocarro para casa, estou a ver o jogo", "Já te disse que o telemóvel é fixe") * 10
BRAZILIAN = ("Peguei o ônibus, tô vendo o jogo com a galera kkkk", "Me falaram que meu celular é legal demais") * 10


@pytest.fixture(scope="module")
def examiner() -> Examiner:
    return Examiner(PORTUGAL, load_settings().cache_folder)


def user(**told: str) -> User:
    return User(id="x:1", key="1", **told)


@pytest.mark.parametrize(
    ("profile", "value"),
    [
        ({"location": "Lisboa, Portugal", "language": "pt"}, YES),
        ({"location": "margem sul", "time_zone": "Lisbon"}, YES),
        ({"location": "São Paulo", "time_zone": "Brasilia", "description": "paulistano"}, NO),
        ({"location": "in your heart", "name": "sunshine"}, UNDECIDED),
        ({"location": "Lisboa / London"}, UNDECIDED),
        ({"location": "Santarém"}, UNDECIDED),
        ({}, UNDECIDED),
        ({"location": "London", "time_zone": "London"}, UNDECIDED),
    ],
)
def test_a_profile_alone_decides_where_it_can(examiner: Examiner, profile: dict[str, str], value: str) -> None:
    assert examiner.verdict(user(**profile), NOTHING, {})[0].value == value


def test_profile_and_posts_are_weighed_together(examiner: Examiner) -> None:
    in_lisbon, in_london = user(location="Lisboa", language="pt"), user(location="London, UK", language="pt", name="João Silva")
    assert examiner.verdict(in_lisbon, NOTHING, {})[0].value == YES
    assert examiner.verdict(in_lisbon, Written(BRAZILIAN), {})[0].value == UNDECIDED
    assert examiner.verdict(in_london, NOTHING, {})[0].value == UNDECIDED
    abroad, at_home = examiner.verdict(in_london, Written(EUROPEAN), {})[0], examiner.verdict(in_london, NOTHING, {})[0]
    assert abroad.score > at_home.score + 0.3


def test_what_posts_said_counts_again_when_only_the_profile_is_seen(examiner: Examiner) -> None:
    verdict, posts = examiner.verdict(user(), Written(EUROPEAN), {})
    again, known = examiner.verdict(user(location="in your heart"), NOTHING, {**verdict.evidence, POSTS: posts})
    assert (again.value, known) == (YES, len(EUROPEAN))
    assert {sign.kind for sign in again.signs} == {sign.kind for sign in verdict.signs}


def test_to_live_elsewhere_is_not_enough_for_a_no() -> None:
    signs = [Sign("place", -3.6, "Paris"), Sign("zone", -1.6, "Paris"), Sign("rhythm", -0.8, "")]
    assert weighed(signs, PORTUGAL).value == UNDECIDED
    assert weighed([*signs, Sign("written", -3.8, "fr")], PORTUGAL).value == NO


def test_evidence_can_be_read_back() -> None:
    verdict = weighed([Sign("place", 2.5, "Porto (PT)"), Sign("zone", -0.4, "London")], PORTUGAL)
    assert signs_in(verdict.evidence, ("place",)) == [Sign("place", 2.5, "Porto (PT)")]


def test_two_proofs_decide_as_published() -> None:
    assert proved(user(location="Braga"), PORTUGAL).value == YES
    assert proved(user(location="Berlin"), PORTUGAL).value == NO
    assert proved(user(location="Berlin", time_zone="Lisbon"), PORTUGAL).value == UNDECIDED
    assert proved(user(location="somewhere"), PORTUGAL).value == UNDECIDED


def test_zones_are_understood_as_accounts_name_them() -> None:
    assert zone_named("Lisbon") == "Europe/Lisbon"
    assert zone_named("Atlantis") is None
    assert hours_from_utc("UTC-03:30") == (-3.5,)
    assert hours_from_utc("Tokyo") == (9.0, 9.0)
    assert apart((11.0,), (-12.0,)) == 1.0


def test_neighbours_are_learned_from_and_count_on_their_own_side() -> None:
    near, far = Neighbours(followed_in=8, mentioned_in=2), Neighbours(followed_in=1, mentioned_in=1, followed_out=3)
    examples = [Example(near, True)] * 40 + [Example(far, False)] * 60
    model = estimated(examples)
    assert model.score(near) > 0.85 > 0.3 > model.score(far)
    assert model.weights["followed_in"] >= 0 >= model.weights["followed_out"]
    assert RelationModel().sign(Neighbours(followed_in=2)) is None


def test_whose_list_was_read_teaches_nothing() -> None:
    read, unread = Neighbours(followed_in=3, follows_in=2, follows_out=30), Neighbours(followed_in=3, follows_in=2)
    assert RelationModel().score(read) == RelationModel().score(unread)
    told, plain = RelationModel().sign(read), RelationModel().sign(unread)
    assert told is not None
    assert plain is not None
    assert told.weight < plain.weight


def test_a_persons_word_counts_for_several() -> None:
    around = Neighbours(followed_in=4)
    examples = [Example(around, True)] * 3 + [Example(Neighbours(followed_in=1), False)] * 3
    overruled = [*examples, Example(around, False, 5.0)]
    assert estimated(overruled).score(around) < estimated(examples).score(around)


def test_a_share_of_few_is_uncertain() -> None:
    low, high = interval(5, 10)
    assert low < 0.3
    assert high > 0.7
    assert interval(0, 0) == (0.0, 1.0)


def test_the_hours_of_posts_are_a_sign(examiner: Examiner) -> None:
    morning = Written(
        ("bom dia a todos os amigos",) * 40, tuple(datetime(2026, 1, 1 + n % 28, 9 + n % 12, tzinfo=UTC) for n in range(40))
    )
    verdict, _ = examiner.verdict(user(), morning, {})
    assert any(sign.kind == "rhythm" for sign in verdict.signs)
