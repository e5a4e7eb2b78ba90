"""How well a name fits a country, and a time zone the hours of posts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from bowerbird.analysis.names.fitting import estimated, name_fit, pieces, read, tables, written
from bowerbird.analysis.rhythm import rhythm

NORTHERN = ["Sven Larsson", "Lars Svensson", "Nils Karlsson", "Karl Nilsson"] * 5
SOUTHERN = ["Paolo Bianchi", "Carlo Rossi", "Mario Bianco", "Rosa Carlini"] * 5


@pytest.mark.parametrize(
    ("name", "country", "fits"),
    [
        ("Maria João Ferreira", "PT", True),
        ("MARIA JOÃO FERREIRA 🌸", "PT", True),
        ("Yuki Tanaka", "JP", True),
        ("Yuki Tanaka", "PT", False),
        ("John Smith", "PT", False),
        ("xoxo", "PT", None),
    ],
)
def test_a_name_fits_a_country_or_not_or_nobody_knows(name: str, country: str, fits: bool | None) -> None:
    found = name_fit(name, country)
    assert found is not None
    assert found.fits is fits
    assert found.pieces


def test_nothing_is_said_of_a_name_without_letters_or_a_country_without_a_table() -> None:
    assert name_fit("🌸 42", "PT") is None
    assert name_fit("Maria", "XX") is None


def test_pieces_have_no_accents_and_know_the_ends_of_words() -> None:
    assert pieces("Zé") == {"^z", "ze", "e$", "^ze", "ze$"}


def test_a_table_is_estimated_written_and_read_again() -> None:
    found = estimated(NORTHERN, SOUTHERN)
    assert found.weights["son"] > 0 > found.weights["o$"]
    assert read(written({"SE": found})) == {"SE": found}


def test_no_piece_of_the_packaged_table_is_long_enough_to_be_a_name() -> None:
    assert {"PT", "BR", "IT", "JP"} <= tables().keys()
    assert max(len(piece) for letters in tables().values() for piece in letters.weights) == 3


def posts(ahead: int, number: int = 48) -> list[datetime]:
    """Every hour from nine in the morning to midnight, somewhere so many hours ahead of UTC."""
    midnight = datetime(2026, 1, 1, tzinfo=UTC) - timedelta(hours=ahead)
    return [midnight + timedelta(days=each // 16, hours=9 + each % 16) for each in range(number)]


@pytest.mark.parametrize("ahead", [-8, -3, 0, 9])
def test_rhythm_quiet_nights_give_time_zone(ahead: int) -> None:
    found = rhythm(posts(ahead))
    assert found is not None
    assert ahead in found.likely
    assert len(found.likely) <= 6
    assert found.fit(ahead) > 0.5 > found.fit(ahead + 6)
    assert sum(found.zones.values()) == pytest.approx(1, abs=0.01)


def test_rhythm_few_posts_give_none_and_even_hours_many_zones() -> None:
    assert rhythm(posts(0, 29)) is None
    always = rhythm([datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=each) for each in range(96)])
    assert always is not None
    assert len(always.likely) > 20
