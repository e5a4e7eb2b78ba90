"""Words in texts, their spellings, series of numbers, and how two of them go together."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bowerbird.analysis.words.correlation import Coefficient, at_no_lag, correlations, pearson, ranks, spearman, strongest
from bowerbird.analysis.words.finding import Spellings, distance, folded, pattern
from bowerbird.analysis.words.series import LARGEST, head_of, read_series
from bowerbird.errors import UserError


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
def test_words_are_found_whole_and_whatever_their_case(text: str, is_there: bool) -> None:
    assert bool(pattern(["casa dos segredos", "secretstory"]).search(text)) is is_there


def test_a_word_with_a_sign_is_found_only_so() -> None:
    found = pattern(["#rain", "c++"])
    assert found.search("so much #Rain!")
    assert not found.search("rain")
    assert found.search("I like C++ a lot")


def test_no_words_find_nothing() -> None:
    assert pattern([" "]).search("anything") is None


def test_spellings_that_several_people_use_are_offered() -> None:
    spellings = Spellings(["Casa dos Segredos"])
    for author, text in enumerate(["#casadossegredos", "casadossegredos hoje", "Caza dos Segredos!", "casa dos segredo", "casa"]):
        spellings.look(text, author)
    assert spellings.common(1, 10) == [("casadossegredos", 2, 2), ("casa dos segredo", 1, 1), ("caza dos segredos", 1, 1)]
    assert spellings.common(2, 10) == [("casadossegredos", 2, 2)]


def test_short_words_have_no_near_spellings() -> None:
    spellings = Spellings(["sic"])
    spellings.look("sac sic siic", 1)
    assert [written for written, _, _ in spellings.common(1, 10)] == ["siic"]


def test_distance_counts_exchanged_neighbours_once() -> None:
    assert distance("segredos", "sergedos", 3) == 1
    assert distance("ab", "ba", 2) == 1
    assert distance("abcd", "wxyz", 1) == 2
    assert folded("  Não!! Siiim ") == "naosim"


def test_correlations_of_series_that_are_one_step_apart() -> None:
    first = {place: float(value) for place, value in enumerate([1, 5, 2, 8, 3, 9, 4, 7, 2, 6])}
    second = {place + 1: 2 * value + 1 for place, value in first.items()}
    told = correlations(first, second, 2)
    found = strongest({"posts": told, "people": told})
    assert found is not None
    assert (found.measure, found.lag, found.pairs, found.value, found.tried) == ("posts, Pearson", 1, 10, 1.0, 20)
    assert "high by chance alone" in found.words
    plainly = at_no_lag(told)
    assert plainly is not None
    assert plainly.lag == 0
    assert plainly.words.startswith("too few to tell: 9 pairs")
    assert strongest({"posts": []}) is None


def test_pairs_that_are_all_in_one_order_have_no_interval() -> None:
    found = spearman([1.0, 2, 3, 4, 5], [1.0, 4, 9, 16, 25])
    assert found is not None
    assert not found.has_interval
    assert "no interval" in found.words


def test_intervals_are_those_of_the_books() -> None:
    ones = [43.0, 21, 25, 42, 57, 59]
    others = [99.0, 65, 79, 75, 87, 81]
    found = pearson(ones, others)
    assert found is not None
    assert (found.value, found.low, found.high) == (0.5298, -0.4943, 0.938)
    order = spearman(ones, others)
    assert order is not None
    assert order.value == 0.7143
    # Wider than Pearson's would be for the same value.
    assert (order.low, order.high) == (-0.3556, 0.9739)
    assert ranks([3, 1, 3, 2]) == [3.5, 1.0, 3.5, 2.0]


def test_a_series_that_never_changes_has_no_correlation() -> None:
    assert pearson([1.0] * 5, [1.0, 2, 3, 4, 5]) is None
    assert pearson([1.0, 2, 3], [1.0, 2, 3]) is None


@pytest.mark.parametrize(
    "body",
    [
        b"day,share\n2026-03-01,12.5\n2026-03-02,13\n",
        b"\xef\xbb\xbf2026-03-01;12,5\n\n2026-03-02;13\n",
        b"2026-03-01T00:00:00+00:00\t12.5\n2026-03-02\t13\n",
    ],
)
def test_series_are_read_as_spreadsheets_write_them(body: bytes) -> None:
    assert read_series(body) == {datetime(2026, 3, 1, tzinfo=UTC): 12.5, datetime(2026, 3, 2, tzinfo=UTC): 13.0}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "no rows"),
        (b"2026-03-01,1\n03/02/2026,2\n", "line 2: '03/02/2026' is no time"),
        (b"2026-03-01,1\n2026-03-02,x\n", "line 2: 'x' is no number"),
        (b"2026-03-01,1\n2026-03-02,nan\n", "line 2: 'nan' is no number"),
        (b"2026-03-01,1\n2026-03-01,2\n", "already"),
        (b"2026-03-01,1\n2026-03-02\n", "one column"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b"PK\x03\x04\0\0", "not text"),
        (b"x" * (LARGEST + 1), "bytes"),
        (
            b"\n".join(b"%04d-01-01 %02d:%02d,1" % (2000 + n // 1440, n % 1440 // 60, n % 60) for n in range(20_001)),
            "rows",
        ),
    ],
)
def test_what_is_no_series_is_refused_with_its_line(body: bytes, why: str) -> None:
    with pytest.raises(UserError, match=why):
        read_series(body)


def test_a_series_is_called_what_its_column_is_called() -> None:
    named = [
        head_of(body) for body in (b"day,share of viewers\n2026-03-01,1\n", b"Tag;Quote\n2026-03-01;1,5\n", b"2026-03-01,1\n")
    ]
    assert (named, head_of(b""), head_of(b"\xff\xfe")) == (["share of viewers", "Quote", ""], "", "")


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Coefficient(0.62, 0.41, 0.8), "strong: both rise together; with 95 % certainty it lies between 0.41 and 0.80"),
        (
            Coefficient(-0.4, -0.6, -0.2),
            "moderate: one falls when the other rises; with 95 % certainty it lies between -0.60 and -0.20",
        ),
        (Coefficient(0.2, -0.001, 0.4), "may be chance: anything from 0.00 to 0.40 would fit these numbers"),
    ],
)
def test_a_correlation_is_told_to_everybody(found: Coefficient, words: str) -> None:
    assert found.words == words
