"""Words in texts and their near spellings."""

from __future__ import annotations

import pytest

from bowerbird.analysis.word_search import Spellings, edit_distance, fold_spelling, word_pattern


@pytest.mark.parametrize(
    ("text", "is_there"),
    [
        ("A CASA DOS   SEGREDOS começou", True),
        ("casa dos segredosX", False),
        ("vi #SecretStory ontem", True),
        ("secretstory sem sinal", True),
        ("nada", False),
    ],
)
def test_word_pattern_finds_whole_words_in_any_case(text: str, is_there: bool) -> None:
    assert bool(word_pattern(["casa dos segredos", "secretstory"]).search(text)) is is_there


def test_word_pattern_word_with_sign_requires_sign() -> None:
    found = word_pattern(["#rain", "c++"])
    assert found.search("so much #Rain!")
    assert not found.search("rain")
    assert found.search("I like C++ a lot")


def test_word_pattern_without_words_finds_nothing() -> None:
    assert word_pattern([" "]).search("anything") is None


def test_spellings_common_counts_posts_and_authors() -> None:
    spellings = Spellings(["Casa dos Segredos"])
    for author, text in enumerate(["#casadossegredos", "casadossegredos hoje", "Caza dos Segredos!", "casa dos segredo", "casa"]):
        spellings.add(text, author)
    assert spellings.common(1, 10) == [("casadossegredos", 2, 2), ("casa dos segredo", 1, 1), ("caza dos segredos", 1, 1)]
    assert spellings.common(2, 10) == [("casadossegredos", 2, 2)]


def test_spellings_short_word_has_only_repeated_letters() -> None:
    spellings = Spellings(["sic"])
    spellings.add("sac sic siic", 1)
    assert [written for written, _, _ in spellings.common(1, 10)] == ["siic"]


def test_edit_distance_counts_swapped_neighbours_once() -> None:
    assert edit_distance("segredos", "sergedos") == 1
    assert edit_distance("ab", "ba") == 1
    assert edit_distance("abcd", "wxyz") == 4
    assert fold_spelling("  Não!! Siiim ") == "naosim"


@pytest.mark.parametrize(
    ("word", "text", "is_there"),
    [
        ("中国", "我爱中国人", True),
        ("ไทย", "คนไทยทุกคน", True),
        ("iPhone", "我的iPhone很好", True),
        ("नमक", "नमकीन", False),
        ("नमक", "नमक कम है", True),
        ("rain", "brain", False),
    ],
)
def test_word_pattern_in_other_scripts(word: str, text: str, is_there: bool) -> None:
    assert bool(word_pattern([word]).search(text)) is is_there


@pytest.mark.parametrize(("word", "text"), [("C++", "c cc"), ("कि", "क कक")])
def test_spellings_do_not_list_single_letters(word: str, text: str) -> None:
    spellings = Spellings([word])
    spellings.add(text, 1)
    assert spellings.common(1, 10) == []


def test_edit_distance_to_nothing_is_the_length() -> None:
    assert edit_distance("", "abcde") == edit_distance("abcde", "") == 5
