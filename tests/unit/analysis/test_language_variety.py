"""European and Brazilian Portuguese: hints, their weights, and the published method."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bowerbird.analysis.languages import Identifier
from bowerbird.analysis.variety import (
    BRAZILIAN as PT_BR,
)
from bowerbird.analysis.variety import (
    ECHO_LETTERS,
    Variety,
    classify_variety,
    echo_distance,
    echo_hints,
    echo_variety,
    echo_words,
    find_hints,
    hint_weights,
    hints,
    weigh_hints,
)
from bowerbird.analysis.variety import (
    EUROPEAN as PT_PT,
)
from language_posts import BRAZILIAN, EITHER, ENGLISH, EUROPEAN, SPANISH

IDENTIFIER = Identifier()


def classify(texts: Sequence[str]) -> Variety:
    return classify_variety(texts, IDENTIFIER.identify_set(texts))


def weigh(texts: Sequence[str]) -> Variety:
    return weigh_hints([find_hints(text) for text in texts], hint_weights())


def test_every_hint_has_a_weight_for_its_own_side() -> None:
    weights = hint_weights()
    assert weights.keys() == hints().keys()
    assert all(weights[name] * hint.sign >= 0 and hint.prior > 0 for name, hint in hints().items())


def test_no_word_belongs_to_two_hints() -> None:
    words = [word for hint in hints().values() for word in hint.words]
    assert len(words) == len(set(words))


@pytest.mark.parametrize(
    ("text", "hint", "words"),
    [
        ("estamos já a trabalhar nisso", "progressive-infinitive", "estamos já a trabalhar"),
        ("ela tá sempre reclamando", "progressive-gerund", "tá sempre reclamando"),
        ("lembro-me bem", "pronoun-after-verb", "lembro-me"),
        ("ok. me diz uma coisa", "pronoun-at-start", "me diz"),
        ("vou te contar", "pronoun-between-verbs", "vou te contar"),
        ("fui com a minha irmã", "article-before-possessive", "a minha"),
        ("fui com minha irmã", "possessive-without-article", "com minha irmã"),
        ("o sector está parado", "mute-consonant", "sector"),
        ("uma perspetiva nova", "reform-of-1990-in-portugal", "perspetiva"),
        ("o fenómeno económico", "acute", "fenómeno"),
        ("o fenômeno econômico", "circumflex", "fenômeno"),
        ("kkkkkk morri", "laughter-brazil", "kkkkkk"),
        ("não quero mais", "not-any-more", "não quero mais"),
    ],
)
def test_find_hints_returns_the_words_that_show_them(text: str, hint: str, words: str) -> None:
    assert (hint, words) in find_hints(text)


@pytest.mark.parametrize(
    "text",
    [
        "está a favor",
        "quando o mundo acabar",
        "a ciência e a experiência",
        "que lindo",
        "o António e a Mônica",
        "entendo e defendo",
    ],
)
def test_find_hints_ignores_words_that_only_look_like_hints(text: str) -> None:
    assert find_hints(text) == ()


@pytest.mark.parametrize(("texts", "variety"), [(EUROPEAN, PT_PT), (BRAZILIAN, PT_BR)])
def test_classify_variety_shows_its_evidence(texts: tuple[str, ...], variety: str) -> None:
    result = classify(texts)
    assert (result.variety, result.posts) == (variety, len(texts))
    assert result.confidence > 0.9
    assert (result.score > 0) == (variety == PT_PT)
    assert result.evidence[0].examples


def test_contradicting_or_missing_hints_are_undecided() -> None:
    assert weigh(EITHER).variety is None
    assert weigh(["estás no ônibus"]).variety is None
    assert weigh([]).variety is None


def test_posts_of_both_varieties_are_mixed() -> None:
    result = weigh([*EUROPEAN, *BRAZILIAN])
    assert result.variety == "mixed"
    assert result.confidence == pytest.approx(0.5, abs=0.15)


def test_a_stray_hint_among_many_of_the_other_side_does_not_decide() -> None:
    assert weigh([*BRAZILIAN * 5, "Estou a ver"]).variety == PT_BR
    assert abs(weigh(["kkkk"] * 16).score) < 4 * abs(weigh(["kkkk"]).score)


def test_language_decides_before_variety() -> None:
    mixed = classify([*EUROPEAN, *ENGLISH[:3]])
    assert (mixed.variety, mixed.posts) == (PT_PT, len(EUROPEAN))
    assert classify([*EUROPEAN[:2], *ENGLISH]).posts == 0
    assert classify(SPANISH).posts == 0
    assert classify(EUROPEAN[:2]).variety is None, "fewer than three posts"
    galician = [
        "Onte fun á praia coa miña irmá e estou a ver o partido",
        "Xa non sei que facer con tanto traballo nesta semana",
        "A xente desta vila é moi boa e sempre axuda aos veciños",
        "Hoxe remataron as vacacións e mañá hai que volver á escola",
    ]
    assert (classify(galician).variety, classify(galician).posts) == (None, 0)


def test_echo_distance_counts_places_out_of_order() -> None:
    in_order = "".join(letter * (26 - rank) for rank, letter in enumerate(ECHO_LETTERS))
    assert echo_distance(in_order) == 0
    assert echo_distance("") == 26 * 27 // 2, "every letter is missing"
    assert echo_distance(in_order.replace("a", "")) == 26 + 25, "the first is missing, all others are one place too early"


def test_echo_variety_identifies_portuguese_first() -> None:
    assert echo_words("Olá, AVÓ! 123 @ada") == "ola avo"
    assert echo_hints(echo_words("Kkkkk tô vendo o ônibus passando rsrs")) == 3.5
    assert echo_variety(EUROPEAN * 5, max_distance=80) == PT_PT
    assert echo_variety(BRAZILIAN * 5, max_distance=80) == PT_BR
    assert echo_variety(ENGLISH * 5, max_distance=80) is None
    assert echo_variety([]) is None
