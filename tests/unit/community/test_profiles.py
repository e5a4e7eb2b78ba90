"""The log-likelihood ratios of profile fields, on profiles made by hand."""

from __future__ import annotations

from unicodedata import normalize

import pytest

from bowerbird.community.countries import example
from bowerbird.community.echo import classify
from bowerbird.community.membership import Sign
from bowerbird.community.profiles import ProfileReader, is_full_name, share_of_others
from bowerbird.community.time_zones import hours_apart, iana_zone, utc_offsets
from bowerbird.model import User
from bowerbird.model.subjects.community import Community
from bowerbird.settings import load_settings

CACHE = load_settings().cache_folder
PORTUGAL, ITALY = (ProfileReader(example(code), CACHE) for code in ("PT", "IT"))


def signs(reader: ProfileReader, **fields: str) -> dict[str, float]:
    user = User(id="x:1", key="1", **fields)  # type: ignore[arg-type]
    return {sign.kind: round(sign.weight, 2) for sign in reader.signs(user)}


@pytest.mark.parametrize(
    ("reader", "fields", "expected"),
    [
        (PORTUGAL, {"location": "Lisboa, Portugal"}, {"place": 3.5}),
        (PORTUGAL, {"location": "margem sul"}, {"place": 3.5}),
        (PORTUGAL, {"location": "Lisboa / London"}, {"place": 0.5}),
        (PORTUGAL, {"location": "Santarém"}, {}),
        (PORTUGAL, {"location": "Braga - Tokyo"}, {}),
        (ITALY, {"location": "Madagascar (Italy)"}, {}),
        (ITALY, {"location": "Parma, Ohio"}, {"place": -2.8}),
        (PORTUGAL, {"location": "in your heart"}, {"place": -0.2}),
        (PORTUGAL, {"location": "Washington, DC"}, {"place": -2.8}),
        (PORTUGAL, {"location": "Porto Alegre"}, {"place": -2.8}),
        (PORTUGAL, {"time_zone": "Lisbon"}, {"zone": 2.8}),
        (PORTUGAL, {"time_zone": "London"}, {}),
        (PORTUGAL, {"time_zone": "Rome"}, {}),
        (PORTUGAL, {"time_zone": "Greenland"}, {"zone": -0.7}),
        (PORTUGAL, {"time_zone": "International Date Line West"}, {"zone": -0.7}),
        (ITALY, {"time_zone": "UTC"}, {"zone": -0.7}),
        (PORTUGAL, {"time_zone": "Tokyo"}, {"zone": -1.8}),
        (PORTUGAL, {"time_zone": "Atlantis"}, {}),
        (PORTUGAL, {"language": "en"}, {"declared": -0.9}),
        (PORTUGAL, {"language": "de"}, {"declared": -2.3}),
        (ITALY, {"time_zone": "Rome"}, {"zone": 2.8}),
        (ITALY, {"language": "it"}, {"declared": 3.29}),
        (PORTUGAL, {"description": "🇵🇹"}, {"flag": 2.0}),
        (PORTUGAL, {"description": "🇵🇹🇫🇷"}, {"flag": 0.4}),
        (PORTUGAL, {"description": "🇫🇷"}, {"flag": -1.2}),
        (PORTUGAL, {"description": "benfiquista"}, {"words": 2.0}),
        (PORTUGAL, {"description": "carioca"}, {"words": -2.0}),
        (PORTUGAL, {"description": "📍 Braga"}, {"described": 2.0}),
        (PORTUGAL, {"description": "📍 Berlin"}, {"described": -1.2}),
        (PORTUGAL, {}, {}),
    ],
)
def test_field_gives_its_ratio(reader: ProfileReader, fields: dict[str, str], expected: dict[str, float]) -> None:
    assert signs(reader, **fields) == expected


def test_varieties_are_added_to_the_language() -> None:
    plain, european, brazilian = (signs(PORTUGAL, language=each)["declared"] for each in ("pt", "pt-PT", "pt_br"))
    assert european == pytest.approx(plain + 0.9, abs=0.011)
    assert brazilian == pytest.approx(plain - 1.4, abs=0.011)


def test_language_counts_little_where_the_place_speaks_it_too() -> None:
    assert share_of_others(example("PT"), "pt", "BR") > 0.7 > share_of_others(example("PT"), "pt")
    assert share_of_others(example("IT"), "it") < 0.1
    there = signs(PORTUGAL, language="pt", location="São Paulo")["declared"]
    assert there < 0.1 < signs(PORTUGAL, language="pt")["declared"]


def test_language_of_a_description_counts_if_it_is_long_enough() -> None:
    text = "Sono un insegnante di matematica, amo la musica e i viaggi in bicicletta"
    assert signs(ITALY, description=text)["bio_language"] > 2
    assert signs(PORTUGAL, description=text)["bio_language"] == -1.5
    assert "bio_language" not in signs(ITALY, description="ciao")


def test_name_counts_by_how_much_it_looks_like_one() -> None:
    assert signs(PORTUGAL, name="Yuki Tanaka") == {"name": -4.0}
    assert signs(PORTUGAL, name="yuki tanaka") == signs(PORTUGAL, name="tanaka") == {"name": -1.2}


@pytest.mark.parametrize(
    ("text", "is_full"),
    [("Ana Sousa", True), ("ana sousa", False), ("Ana", False), ("Ana 2000", False), ("", False)],
)
def test_full_names_are_two_to_four_capitalised_words(text: str, is_full: bool) -> None:
    assert is_full_name(text) is is_full


def test_rome_is_an_hour_from_lisbon_in_both_seasons() -> None:
    lisbon, rome, london = (utc_offsets(each) for each in ("Lisbon", "Rome", "London"))
    assert lisbon is not None
    assert rome is not None
    assert london is not None
    assert hours_apart(rome, [lisbon]) == 1
    assert hours_apart(london, [lisbon]) == 0
    assert hours_apart((1.0, 1.0), [lisbon]) == 1
    assert hours_apart((11.0, 11.0), [(-12.0, -12.0)]) == 1


def test_zones_are_understood_as_accounts_name_them() -> None:
    assert iana_zone("Lisbon") == iana_zone(" Europe/Lisbon ") == "Europe/Lisbon"
    assert iana_zone("Atlantis") is None
    assert iana_zone("UTC+01:00") is None
    assert iana_zone("Japan") == "Japan"
    assert utc_offsets("UTC-03:30") == (-3.5, -3.5)
    assert utc_offsets("Tokyo") == (9.0, 9.0)


def test_community_without_countries_reads_words_only() -> None:
    field = ProfileReader(Community(name="astronomers", own_words=("astronomer",)), CACHE)
    fields = {"location": "Lisboa", "name": "Ana Sousa", "language": "pt", "time_zone": "Lisbon"}
    assert signs(field, description="Astronomer", **fields) == {"words": 2.0}


def test_evidence_has_the_text_that_was_read() -> None:
    user = User(id="x:1", key="1", location="Braga")
    assert PORTUGAL.signs(user) == (Sign("place", 3.5, "Braga (PT)"),)


STRANGE = {
    "blank": " \t",
    "zero byte": "a\0b",
    "surrogate": "\ud800Lisboa",
    "bidirectional": "\u202eLisboa\u202c, Portugal",
    "one letter": "a",
    "long word": "a" * 1_000_000,
    "long list": "Lisboa Porto, " * 75_000,
    "many flags": "🇵🇹" * 200_000,
    "many emoji": "😀" * 250_000,
    "many separators": "/" * 100_000,
    "expanding": "\ufdfa" * 100_000,
    "no zone": "America/",
    "outside": "../../etc/passwd",
}


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE.keys())
@pytest.mark.parametrize("field", ["name", "handle", "location", "description", "language", "time_zone"])
def test_strange_field_gives_short_evidence_that_can_be_stored(field: str, text: str) -> None:
    user = User(id="x:1", key="1", **{field: text})  # type: ignore[arg-type]
    for found in (*PORTUGAL.signs(user), *classify(user, example("PT")).signs):
        assert len(found.found) <= 1_000
        assert "\0" not in found.found
        found.found.encode()


def test_composed_and_decomposed_letters_give_the_same_signs() -> None:
    fields = {"name": "João Conceição", "description": "português, açoriano", "location": "Évora"}
    decomposed = {field: normalize("NFD", text) for field, text in fields.items()}
    assert decomposed != fields
    assert signs(PORTUGAL, **decomposed) == signs(PORTUGAL, **fields)


@pytest.mark.parametrize("code", ["PT", "Pt-pt", " pt-PT "])
def test_language_code_counts_in_any_case(code: str) -> None:
    assert signs(PORTUGAL, language=code)["declared"] > 0


@pytest.mark.parametrize("code", ["und", "mul", "Select Language...", "-", "_", "12", " "])
def test_unknown_language_code_is_no_sign(code: str) -> None:
    assert signs(PORTUGAL, language=code) == {}


def test_words_of_a_community_may_be_several_words_long() -> None:
    field = ProfileReader(Community(name="club", own_words=("Sporting CP", "l'aquila")), CACHE)
    assert signs(field, description="sócio do sporting cp!") == {"words": 2.0}
    assert signs(field, description="Sporting Lisboa, cp") == {}
    assert signs(field, description="L'Aquila") == {"words": 2.0}
