"""Places found in location fields, descriptions and posts."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path
from time import process_time

import pytest

from bowerbird.analysis.places.classifier import find_area
from bowerbird.analysis.places.gazetteer import Level, fold, is_built, open_gazetteer
from bowerbird.analysis.places.resolver import open_resolver
from bowerbird.errors import UserError
from bowerbird.evaluate.places import labels
from bowerbird.settings import load_settings
from failures import raises_code

RESOLVER = open_resolver(load_settings().cache_folder)


@pytest.mark.parametrize(
    ("text", "city", "country"),
    [
        ("Porto, Portugal", "Porto", "PT"),
        ("Lisboa", "Lisbon", "PT"),
        ("Paris, TX", "Paris", "US"),
        ("paris, tx", "Paris", "US"),
        ("PARIS", "Paris", "FR"),
        ("Cambridge, MA", "Cambridge", "US"),
        ("Cambridge, England", "Cambridge", "GB"),
        ("St. Louis, Mo.", "St. Louis", "US"),
        ("São Paulo-Brasil", "São Paulo", "BR"),
        ("北京 朝阳区", "Beijing", "CN"),
        ("東京", "Tokyo", "JP"),
        ("Москва, Россия", "Moscow", "RU"),
        ("Surprise, AZ", "Surprise", "US"),
        ("LA via NYC", "Los Angeles", "US"),
        ("WashingtonDC", "Washington", "US"),
        ("ÜT: 41.1496,-8.6110", "Porto", "PT"),
        ("Berlin 🇩🇪", "Berlin", "DE"),
        ("Köln, Deutschland", "Köln", "DE"),
    ],
)
def test_best_returns_city_alone_or_with_container(text: str, city: str, country: str) -> None:
    found = RESOLVER.best(text)
    assert found is not None
    assert (found.entry.name, found.entry.country, found.entry.level) == (city, country, Level.CITY)


@pytest.mark.parametrize(
    ("text", "country"),
    [
        ("España", "ES"),
        ("Republic of Korea", "KR"),
        ("🇵🇹", "PT"),
        ("Georgia, USA", "US"),
        ("Tbilisi, Georgia", "GE"),
        ("Missouri, USA", "US"),
        ("广东", "CN"),
        ("海外 美国", "US"),
        ("Scotland", "GB"),
        ("UK", "GB"),
    ],
)
def test_best_returns_country_in_many_spellings(text: str, country: str) -> None:
    found = RESOLVER.best(text)
    assert found is not None
    assert found.entry.country == country


@pytest.mark.parametrize(
    "text",
    [
        "",
        "in your heart",
        "Earth",
        "everywhere and nowhere",
        "https://example.org",
        "she/her",
        "404 not found",
        "the moon",
        "🌍",
        "\x00" * 40,
    ],
)
def test_best_returns_none_for_text_without_place(text: str) -> None:
    assert RESOLVER.best(text) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("N Y", "New York"),
        ("N. Y.", "New York"),
        ("n y c", "New York City"),
        ("Buffalo, N. Y.", "Buffalo"),
        ("Washington, D C", "Washington"),
        ("Austin T X", "Austin"),
        ("L A", "Los Angeles"),
        ("u s a", "United States"),
        ("O A K L A N D", "Oakland"),
        ("n.y.", "New York"),
        ("N.Y., N.Y.", "New York"),
        ("n.j.", "New Jersey"),
        ("l.a.", "Los Angeles"),
        ("d.c.", "Washington"),
        ("S F", "San Francisco"),
        ("buffalo n y", "Buffalo"),
        ("N.E. Ohio", "Ohio"),
    ],
)
def test_best_initials_with_spaces_or_dots_are_joined(text: str, name: str) -> None:
    found = RESOLVER.best(text)
    assert found is not None
    assert (found.entry.name, found.entry.country) == (name, "US")


@pytest.mark.parametrize(
    "text",
    ["Y", "y", "O", "X Y", "N&Y", "Ö", "A", "Sad", "pa", "Pain", "End", "I.G.", "l a", "i n", "h i"],
)
def test_best_single_letters_and_short_translations_are_no_places(text: str) -> None:
    assert RESOLVER.best(text, 0.45) is None


@pytest.mark.parametrize(
    "text",
    [
        *("Me", "me", "Here", "Home", "He/Him", "SHE/HER", "they/them", "In", "Or", "us", "us all", "Join us:"),
        *("just me", "right where you left me", "LOVE ME", "IN YOUR MIND", "I AM", "why not, be", "ALL", "YES", "DAD"),
        *("Ask Google", "IG: someone", "White House", "West Coast", "Great Lakes", "North East", "CNN", "NBC", "6:30pm ET"),
    ],
)
def test_best_common_words_are_no_places(text: str) -> None:
    assert RESOLVER.best(text, 0.45) is None


@pytest.mark.parametrize(
    ("text", "name", "region"),
    [
        ("Portland me", "Portland", "ME"),
        ("Albany ga", "Albany", "GA"),
        ("Carlisle Pa", "Carlisle", "PA"),
        ("Smyrna Tn", "Smyrna", "TN"),
        ("Greenwood In", "Greenwood", "IN"),
        ("downey CA", "Downey", "CA"),
        ("lansing MI", "Lansing", "MI"),
        ("Mason texas, USA", "Mason", "TX"),
        ("Douglas County, CO", "Colorado", "CO"),
        ("San Francisco, CA | San Jose", "San Francisco", "CA"),
    ],
)
def test_best_state_after_name_decides_in_any_spelling(text: str, name: str, region: str) -> None:
    found = RESOLVER.best(text)
    assert found is not None
    assert (found.entry.name, found.entry.country, found.entry.region) == (name, "US", region)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("North Carolina USA", "North Carolina"),
        ("Western North Carolina", "North Carolina"),
        ("NE Ohio", "Ohio"),
        ("SE PA", "Pennsylvania"),
        ("The Bay Area", "San Francisco"),
        ("USA 🇺🇸", "United States"),
    ],
)
def test_best_longest_name_counts_before_shorter_one(text: str, name: str) -> None:
    found = RESOLVER.best(text)
    assert found is not None
    assert (found.entry.name, found.entry.country) == (name, "US")


@pytest.mark.parametrize("text", ["South America", "north america", "All over North America", "Africa, Asia & Central America"])
def test_best_continents_are_not_united_states(text: str) -> None:
    assert RESOLVER.best(text, 0.45) is None


def test_best_code_that_is_a_word_is_less_certain_than_other_codes() -> None:
    code, word = RESOLVER.best("TX"), RESOLVER.best("IN")
    assert code is not None
    assert word is not None
    assert word.confidence < code.confidence


@pytest.mark.parametrize(
    ("text", "country"),
    [
        ("Iraq - Kurdistan", "IQ"),
        ("Milano (MI)", "IT"),
        ("London, Ontario", "CA"),
        ("Reading, UK", "GB"),
        ("Toronto, ON", "CA"),
        ("Wallins Creek, KY", "US"),
        ("Columbia", "US"),
        ("Maputo, Mozambique", "MZ"),
        ("Santa Carla, CA", "US"),
    ],
)
def test_best_container_decides_country(text: str, country: str) -> None:
    found = RESOLVER.best(text)
    assert found is not None
    assert found.entry.country == country


def test_best_confidence_is_higher_with_country() -> None:
    alone, beside = RESOLVER.best("Valencia"), RESOLVER.best("Valencia, Spain")
    assert alone is not None
    assert beside is not None
    assert alone.confidence < beside.confidence


def test_resolve_two_cities_returns_both_in_order() -> None:
    assert [each.entry.name for each in RESOLVER.resolve("Lisbon / Berlin")] == ["Lisbon", "Berlin"]


def test_nearest_returns_surrounding_city_and_none_at_sea() -> None:
    gazetteer = RESOLVER.gazetteer
    assert getattr(gazetteer.nearest(-77.0238, 38.8947), "name", None) == "Washington"
    assert getattr(gazetteer.nearest(-106.45, 31.78), "country", None) == "US"
    assert gazetteer.nearest(-35.0, 30.0) is None


@pytest.mark.parametrize(
    ("text", "city"),
    [
        ("Baker. Music & chess. 📍 Porto, Portugal", "Porto"),
        ("Journalist based in Lisbon. Opinions mine.", "Lisbon"),
        ("Madrid, Spain | photographer", "Madrid"),
        ("Reading is my life", None),
        ("I love Paris", None),
    ],
)
def test_in_description_requires_explicit_place(text: str, city: str | None) -> None:
    found = RESOLVER.in_description(text)
    assert (found.entry.name if found else None) == city


@pytest.mark.parametrize(
    ("text", "tags", "city"),
    [
        ("Heavy rain in Lisbon today", (), "Lisbon"),
        ("Inundações em São Paulo", (), "São Paulo"),
        ("look at this", ("Barcelona",), "Barcelona"),
        ("in love with this song", (), None),
        ("Believe in Hope", (), None),
    ],
)
def test_in_post_reads_prepositions_and_hashtags(text: str, tags: tuple[str, ...], city: str | None) -> None:
    found = RESOLVER.in_post(text, tags)
    assert (found.entry.name if found else None) == city


def test_in_post_confidence_is_lower_than_best() -> None:
    said, profile = RESOLVER.in_post("Heavy rain in Lisbon", ()), RESOLVER.best("Lisbon")
    assert said is not None
    assert profile is not None
    assert said.confidence < profile.confidence


def test_find_area_returns_city_region_or_country() -> None:
    city, region, country = (find_area(name, RESOLVER) for name in ("Lisbon", "California", "Portugal"))
    assert city.box.holds(-9.14, 38.72)
    assert (city.country, region.country, region.region, country.country) == ("", "US", "CA", "PT")
    assert country.box.holds(-8.61, 41.15)
    with raises_code(UserError, "unknown_name") as caught:
        find_area("Nowhereville on Sea", RESOLVER)
    assert "'Nowhereville on Sea'" in caught.value.problem
    assert "box =" in caught.value.advice


def test_open_gazetteer_builds_index_once(tmp_path: Path) -> None:
    assert not is_built(tmp_path, smallest=500_000)
    first = open_gazetteer(tmp_path, smallest=500_000)
    assert is_built(tmp_path, smallest=500_000)
    made = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    second = open_gazetteer(tmp_path, smallest=500_000)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == made
    assert first.find("Lisbon") == second.find("Lisbon") != ()


def test_evaluation_labels_are_complete() -> None:
    known = labels().values()
    assert len(known) == 500
    assert sum(label.is_seen for label in known) == 260
    assert all(len(country) == 2 or country == "-" for label in known for country in label.countries)


def test_fold_keeps_vowel_signs_and_removes_accents() -> None:
    assert fold("का") != fold("कि")
    assert fold("กรุงเทพ") == "กรุงเทพ"
    assert fold("São Paulo ❤️") == "sao paulo"


@pytest.mark.parametrize("text", ["गाना", "राम"])
def test_resolve_words_with_vowel_signs_are_no_places(text: str) -> None:
    assert RESOLVER.resolve(text) == ()


@pytest.mark.parametrize(("text", "city"), [("मुंबई", "Mumbai"), ("กรุงเทพ", "Bangkok")])
def test_resolve_names_with_vowel_signs(text: str, city: str) -> None:
    assert [each.entry.name for each in RESOLVER.resolve(text)] == [city]


def test_resolve_decomposed_letters_give_the_same_result() -> None:
    text = "São Paulo, Brasil"
    assert RESOLVER.resolve(unicodedata.normalize("NFD", text)) == RESOLVER.resolve(text)


@pytest.mark.parametrize(
    "read",
    [
        lambda: RESOLVER.in_post("@" * 2000, ()),
        lambda: RESOLVER.in_post("a@" * 1000, ()),
        lambda: RESOLVER.resolve("Santa Cruz " * 100),
        lambda: RESOLVER.resolve("@" * 1_000_000),
    ],
)
def test_hostile_text_is_read_within_half_a_second(read: Callable[[], object]) -> None:
    began = process_time()
    read()
    assert process_time() - began < 0.5


@pytest.mark.parametrize("text", ["121.4737, 31.2304", "+351 210.345.99, 31.22.11"])
def test_resolve_other_numbers_are_no_coordinates(text: str) -> None:
    assert RESOLVER.resolve(text) == ()


def test_resolve_order_of_duplicates_does_not_matter() -> None:
    first, second = RESOLVER.resolve("Porto / Porto, Portugal"), RESOLVER.resolve("Porto, Portugal / Porto")
    assert first == second
    assert first == RESOLVER.resolve("Porto, Portugal")


def test_resolve_lines_are_alternatives() -> None:
    assert [each.entry.name for each in RESOLVER.resolve("Berlin\nLondon")] == ["Berlin", "London"]


def test_in_description_residence_counts_before_birthplace() -> None:
    found = RESOLVER.in_description("Born in Lisbon. Living in Berlin")
    assert found is not None
    assert found.entry.name == "Berlin"


def test_in_post_reads_at_and_not_english_no() -> None:
    found = RESOLVER.in_post("We play at Berlin tonight", ())
    assert found is not None
    assert found.entry.name == "Berlin"
    assert RESOLVER.in_post("No Boston this year", ()) is None


def test_open_gazetteer_incomplete_index_is_built_again(tmp_path: Path) -> None:
    open_gazetteer(tmp_path, smallest=500_000)
    (folder,) = tmp_path.iterdir()
    assert folder.stat().st_mode & 0o055 == 0o055
    (folder / "names.txt").unlink()
    assert open_gazetteer(tmp_path, smallest=500_000).find("Lisbon")
