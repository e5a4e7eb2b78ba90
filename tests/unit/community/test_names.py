"""How well names fit countries, and how the table is built."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bowerbird.community.names import letter_grams, load_table, name_log_odds, unpack_table
from bowerbird.evaluate.profiles.names_table import build_table, pack_table

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
        ("Davide Bianchi", "IT", True),
        ("Владимир Иванов", "PT", False),
        ("习近平", "CN", True),
        ("Łukasz Kowalski", "PL", True),
    ],
)
def test_name_fits_country(name: str, country: str, fits: bool) -> None:
    ratio = name_log_odds(name, (country,))
    assert ratio is not None
    assert (ratio > 1) is fits
    assert (ratio < -1) is not fits


def test_name_without_letters_or_table_gives_nothing() -> None:
    assert name_log_odds("🌸 42", ("PT",)) is None
    assert name_log_odds("", ("PT",)) is None
    assert name_log_odds("Maria", ("XX",)) is None
    assert name_log_odds("Maria", ()) is None


def test_japanese_name_in_characters_gives_nothing_for_japan() -> None:
    assert name_log_odds("田中太郎", ("JP",)) is None


def test_grams_are_latin_and_mark_ends_of_words() -> None:
    assert letter_grams("Zé") == {"z", "e", "^z", "ze", "e$", "^ze", "ze$", "^ze$"}
    assert "^li$" in letter_grams("李小龙")


@pytest.mark.parametrize("name", ["Henrique Lopes", "Carolina Antunes", "Lourenço Pacheco"])
def test_names_shared_with_larger_countries_of_the_language_fit(name: str) -> None:
    ratio = name_log_odds(name, ("PT",))
    assert ratio is not None
    assert ratio > 0.5


def test_other_accounts_are_from_the_place_and_speak_the_language() -> None:
    anywhere, elsewhere, there = (
        name_log_odds("João Ferreira", ("PT",), same_language=same, spoken_elsewhere=0.9, place=place)
        for same, place in (((), None), (("BR",), None), (("BR",), "BR"))
    )
    assert anywhere is not None
    assert elsewhere is not None
    assert there is not None
    assert anywhere > elsewhere > there


def test_table_survives_packing() -> None:
    table = build_table({"SE": NORTHERN, "IT": SOUTHERN})
    packed = unpack_table(pack_table(table))
    assert packed.countries == table.countries == ("IT", "SE")
    assert packed.rows == table.rows
    assert (packed.values == table.values).all()
    ratio = name_log_odds("Olle Persson", ("SE",), table=packed)
    assert ratio is not None
    assert ratio > 0


def test_packaged_table_holds_no_names() -> None:
    table = load_table()
    assert {"PT", "BR", "IT", "JP"} <= set(table.countries)
    assert max(map(len, table.rows)) == 4


@given(st.text(max_size=60))
def test_any_text_has_finite_log_odds(name: str) -> None:
    ratio = name_log_odds(name, ("PT",), same_language=("BR",), spoken_elsewhere=0.9, place="ES")
    assert ratio is None or abs(ratio) < 200
