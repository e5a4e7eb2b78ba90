"""The language of posts, of the posts of one account, and of sets."""

from __future__ import annotations

import subprocess
import sys
import unicodedata
from itertools import cycle, islice
from time import process_time

import pytest

from bowerbird.analysis.languages import LANGUAGES, SEVERAL, Identifier, clean, normalize
from bowerbird.analysis.variety import find_hints
from language_posts import BRAZILIAN, ENGLISH, EUROPEAN, SPANISH

IDENTIFIER = Identifier()
SERBIAN = (
    "Danas idem kod bake na ručak posle posla",
    "Ne mogu da verujem da je već sutra ponedeljak",
    "Ko je gledao utakmicu juče i šta kažete",
)
GALICIAN = (
    "Onte fun á praia coa miña irmá e choveu toda a tarde",
    "Xa non sei que facer con tanto traballo nesta semana",
    "A xente desta vila é moi boa e sempre axuda aos veciños",
    "Hoxe remataron as vacacións e mañá hai que volver á escola",
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("RT @ada: olá &amp; adeus https://t.co/abc", "olá & adeus"),
        ("lê isto em publico.pt/2025/opiniao #agora 🎉👏🏽", "lê isto em"),
        ("@ada@mastodon.social bom dia", "bom dia"),
        ("www.example.org", ""),
        ("escreve para mim. Pode ser", "escreve para mim. Pode ser"),
        ("duas\nlinhas", "duas linhas"),
    ],
)
def test_clean_removes_links_mentions_hashtags_and_emoji(text: str, expected: str) -> None:
    assert clean(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hahaha que BOOOM jajaja kkkk :-) 12", "que bom"),
        ("muito bom dia :D #Lisboa", "muito bom dia"),
        ("olá #BoaTarde", "olá boatarde"),
        ("हिन्दी में लिखा है 😀", "हिन्दी में लिखा है"),
    ],
)
def test_normalize_keeps_words_only(text: str, expected: str) -> None:
    assert normalize(text) == expected


def test_there_are_78_languages() -> None:
    assert len(set(LANGUAGES)) == len(LANGUAGES) == 78


@pytest.mark.parametrize(("texts", "language"), [(ENGLISH, "en"), (SPANISH, "es"), (EUROPEAN, "pt"), (BRAZILIAN, "pt")])
def test_identify_single_posts(texts: tuple[str, ...], language: str) -> None:
    for text in texts:
        (post,) = IDENTIFIER.identify([text.upper()])
        assert post.language == language
        assert post.prior == pytest.approx(1 / 78)


@pytest.mark.parametrize("text", ["", "lol", "@ada https://t.co/abc", "🎉🎉🎉", "123 456 789 000"])
def test_identify_post_without_words_returns_none(text: str) -> None:
    (post,) = IDENTIFIER.identify([text])
    assert (post.language, post.likely, post.confidence) == (None, None, 0.0)


def test_identify_uses_the_other_posts_of_the_account() -> None:
    (alone,) = IDENTIFIER.identify(["Adoro esta música"])
    assert alone.language is None
    together = IDENTIFIER.identify(["Adoro esta música", *EUROPEAN])[0]
    assert (together.language, together.likely) == ("pt", "pt")
    assert together.prior > 5 / 78


def test_observe_estimates_a_prior_from_200_posts_on() -> None:
    identifier = Identifier()
    posts = [f"{text} {word}" for text in EUROPEAN for word in ("sempre", "hoje", "ontem", "talvez", "agora")]
    identifier.observe(posts)
    identifier.observe(posts)
    assert identifier.stream_posts == 0, "repeated posts count once"
    names = ("ana", "rui", "eva", "luís", "zé", "inês", "marta")
    identifier.observe(f"{post} {name}" for post in posts for name in names)
    assert identifier.stream_posts >= 200
    (post,) = identifier.identify(["Adoro esta música"])
    assert post.language == "pt"
    assert post.prior > 5 / 78


def test_identify_set_ignores_a_post_in_another_language() -> None:
    languages = IDENTIFIER.identify_set([*EUROPEAN, *EUROPEAN, ENGLISH[0]])
    assert languages.language == "pt"
    assert list(languages.shares) == ["pt", "en"]
    assert languages.by_post[-1] == "en"


def test_identify_set_with_a_second_language_is_several() -> None:
    languages = IDENTIFIER.identify_set([*EUROPEAN, *ENGLISH[:3]])
    assert languages.language == SEVERAL
    even = IDENTIFIER.identify_set([*EUROPEAN[:2], *ENGLISH[:2], *SPANISH[:2]])
    assert even.language == SEVERAL


def test_identify_set_needs_three_posts_with_letters() -> None:
    languages = IDENTIFIER.identify_set([*EUROPEAN[:2], "lol", "🎉"])
    assert (languages.language, languages.identified, languages.posts) == (None, 2, 4)
    assert IDENTIFIER.identify_set([]).language is None


def test_identify_set_counts_languages_of_a_family_together() -> None:
    languages = IDENTIFIER.identify_set([*SERBIAN, "Tko je gledao utakmicu jučer i što kažete"])
    assert languages.language in ("bs", "hr", "sr")
    assert len(languages.shares.keys() & {"bs", "hr", "sr"}) == 1


def test_identify_set_distinguishes_galician() -> None:
    assert IDENTIFIER.identify_set(list(islice(cycle(GALICIAN), 12))).language == "gl"


def test_importing_does_not_load_the_model() -> None:
    code = "import sys, bowerbird.analysis.language_labels; sys.exit('py3langid' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("text", ["a." * 4_000, "a-" * 16_000, "@a." * 4_000, "ha" * 5_000])
def test_hostile_text_is_cleaned_within_half_a_second(text: str) -> None:
    began = process_time()
    normalize(text)
    find_hints(text)
    assert process_time() - began < 0.5


def test_identify_reads_the_first_5000_characters() -> None:
    text = f"{EUROPEAN[0]} " * 200
    assert IDENTIFIER.identify([text, text * 9]) == IDENTIFIER.identify([text, text])


def test_clean_composes_letters() -> None:
    assert clean(unicodedata.normalize("NFD", "você está")) == "você está"


def test_observe_counts_identified_posts_and_each_post_once() -> None:
    identifier = Identifier()
    posts = [f"{text} {number}" for text in EUROPEAN for number in range(60)]
    identifier.identify(posts)
    identifier.observe(posts)
    counted = identifier.stream_posts
    assert counted == len(posts)
    identifier.identify([f"{ENGLISH[0]} {number}" for number in range(5_001)])
    identifier.observe(posts)
    assert identifier.stream_posts == counted
