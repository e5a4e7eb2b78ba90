"""European or Brazilian Portuguese: what hints say, how much they count, and TwitterEcho's own way."""

from __future__ import annotations

import numpy as np
import pytest

from bowerbird.analysis.language import echo
from bowerbird.analysis.language.fitting import CountedSource, counted, fit
from bowerbird.analysis.language.hints import found, hints
from bowerbird.analysis.language.reading import Reader
from bowerbird.analysis.language.variety import VarietyClassifier, packaged_weights
from language_posts import BRAZILIAN, EITHER, ENGLISH, EUROPEAN, SPANISH

CLASSIFIER = VarietyClassifier()


def test_every_hint_has_a_weight_for_its_own_side() -> None:
    weights = packaged_weights()
    assert weights.keys() == hints().keys()
    assert all(weights[name] * hint.sign >= 0 and hint.prior > 0 for name, hint in hints().items())


def test_no_word_belongs_to_two_hints() -> None:
    words = [word for hint in hints().values() for word in hint.words]
    assert len(words) == len(set(words))


@pytest.mark.parametrize(
    ("text", "hint", "shown"),
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
def test_a_hint_is_found_with_the_words_that_show_it(text: str, hint: str, shown: str) -> None:
    assert (hint, shown) in set(found(text))


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
def test_what_only_looks_like_a_hint_is_none(text: str) -> None:
    assert list(found(text)) == []


def test_a_set_of_posts_tells_its_variety_and_why() -> None:
    told = CLASSIFIER.weigh(EUROPEAN)
    assert (told.variety, told.posts) == ("pt-PT", len(EUROPEAN))
    assert told.score == pytest.approx(sum(each.weight for each in told.evidence), abs=0.01)
    assert told.evidence[0].examples, "the weightiest hint is shown by words"
    assert CLASSIFIER.weigh(BRAZILIAN).variety == "pt-BR"
    assert CLASSIFIER.weigh(BRAZILIAN).score < 0 < told.score


@pytest.mark.parametrize(("posts", "variety"), [(EUROPEAN, "pt-PT"), (BRAZILIAN, "pt-BR")])
def test_single_posts_are_told_or_undecided_but_seldom_wrong(posts: tuple[str, ...], variety: str) -> None:
    told = [CLASSIFIER.weigh([post]).variety for post in posts]
    assert told.count(variety) >= 4
    assert set(told) <= {variety, None}


def test_what_both_write_and_what_contradicts_itself_is_undecided() -> None:
    assert CLASSIFIER.weigh(EITHER).variety is None
    assert CLASSIFIER.weigh(["estás no ônibus"]).variety is None
    assert CLASSIFIER.weigh([]).variety is None


def test_a_habit_says_less_each_time() -> None:
    once, often = (abs(CLASSIFIER.weigh(["kkkk"] * times).score) for times in (1, 16))
    assert often == pytest.approx(4 * once, rel=0.01)


def test_estimated_weights_follow_the_data_and_never_change_sides() -> None:
    written = {name: hint.prior * hint.sign for name, hint in hints().items()}
    swapped = fit([CountedSource(counted(BRAZILIAN * 3), counted(EUROPEAN * 3))])
    assert all(swapped[name] * hint.sign >= 0 for name, hint in hints().items())
    assert abs(swapped["pra"]) < abs(written["pra"])
    fitted = fit([CountedSource(counted(EUROPEAN * 3), counted(BRAZILIAN * 3))])
    assert fitted == fit([CountedSource(counted(EUROPEAN * 3), counted(BRAZILIAN * 3))]), "the same for the same data"
    assert VarietyClassifier(fitted).weigh(EUROPEAN).variety == "pt-PT"


def test_hints_are_counted_post_by_post() -> None:
    column = list(hints()).index("voce")
    assert np.array_equal(counted(["você e você", "tu"])[:, column], [2, 0])


def test_a_reader_weighs_only_what_is_portuguese() -> None:
    reader = Reader()
    mixed = reader.read([*EUROPEAN, *ENGLISH[:3]])
    assert mixed.variety == "pt-PT"
    assert mixed.weighing is not None
    assert mixed.weighing.posts == len(EUROPEAN)
    assert reader.read([*EUROPEAN[:2], *ENGLISH]).variety is None
    assert reader.read(SPANISH).weighing is None
    assert reader.alone(reader.post(ENGLISH[0])) is None


def test_twitterecho_measures_how_far_letters_are_out_of_order() -> None:
    in_order = "".join(letter * (26 - rank) for rank, letter in enumerate(echo.ORDER))
    assert echo.distance(in_order) == 0
    assert echo.distance("") == 26 * 27 // 2, "every letter is missing"
    assert echo.distance(in_order.replace("a", "")) == 26 + 25, "the first is missing, all others are one place too early"


def test_twitterecho_tells_portuguese_first_and_brazilian_then() -> None:
    assert echo.prepared("Olá, AVÓ! 123 @ada") == "ola avo"
    assert echo.brazilian_hints(echo.prepared("Kkkkk tô vendo o ônibus passando rsrs")) == 3.5
    assert echo.echo_variety(EUROPEAN * 5, farthest=80) == "pt-PT"
    assert echo.echo_variety(BRAZILIAN * 5, farthest=80) == "pt-BR"
    assert echo.echo_variety(ENGLISH * 5, farthest=80) is None
    assert echo.echo_variety([]) is None
