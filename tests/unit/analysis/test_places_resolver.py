"""What people write into location fields, and what is made of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bowerbird.analysis.places.areas import area_named
from bowerbird.analysis.places.index.entries import Level
from bowerbird.analysis.places.index.gazetteer import is_built, open_gazetteer
from bowerbird.analysis.places.opened import resolver_in
from bowerbird.analysis.places.prose import described, told
from bowerbird.errors import UserError
from bowerbird.evaluate.places import labels
from bowerbird.settings import load_settings

RESOLVER = resolver_in(load_settings().cache_folder)


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
def test_a_city_is_found_by_itself_or_by_what_stands_beside_it(text: str, city: str, country: str) -> None:
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
def test_a_country_is_found_in_many_spellings(text: str, country: str) -> None:
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
def test_what_is_no_place_gives_none(text: str) -> None:
    assert RESOLVER.best(text) is None


def test_a_name_is_surer_beside_its_country_than_alone() -> None:
    alone, beside = RESOLVER.best("Valencia"), RESOLVER.best("Valencia, Spain")
    assert alone is not None
    assert beside is not None
    assert alone.confidence < beside.confidence


def test_who_names_two_cities_gets_two_candidates_in_order() -> None:
    assert [each.entry.name for each in RESOLVER.resolve("Lisbon / Berlin")] == ["Lisbon", "Berlin"]


def test_a_point_belongs_to_the_city_around_it_and_the_open_sea_to_none() -> None:
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
def test_a_description_names_a_place_only_where_it_says_so(text: str, city: str | None) -> None:
    found = described(text, RESOLVER)
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
def test_a_post_names_a_place_after_a_preposition_or_as_a_hashtag(text: str, tags: tuple[str, ...], city: str | None) -> None:
    found = told(text, tags, RESOLVER)
    assert (found.entry.name if found else None) == city


def test_text_is_never_as_sure_as_a_profile() -> None:
    said, profile = told("Heavy rain in Lisbon", (), RESOLVER), RESOLVER.best("Lisbon")
    assert said is not None
    assert profile is not None
    assert said.confidence < profile.confidence


def test_a_name_in_a_crawl_file_means_a_city_a_region_or_a_country() -> None:
    city, region, country = (area_named(name, RESOLVER) for name in ("Lisbon", "California", "Portugal"))
    assert city.box.holds(-9.14, 38.72)
    assert (city.country, region.country, region.region, country.country) == ("", "US", "CA", "PT")
    assert country.box.holds(-8.61, 41.15)
    with pytest.raises(UserError, match="box ="):
        area_named("Nowhereville on Sea", RESOLVER)


def test_an_index_is_built_once_and_then_only_opened(tmp_path: Path) -> None:
    assert not is_built(tmp_path, smallest=500_000)
    first = open_gazetteer(tmp_path, smallest=500_000)
    assert is_built(tmp_path, smallest=500_000)
    made = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    second = open_gazetteer(tmp_path, smallest=500_000)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == made
    assert first.find("Lisbon") == second.find("Lisbon") != ()


def test_the_labels_of_the_evaluation_can_be_read() -> None:
    known = labels().values()
    assert len(known) == 500
    assert sum(label.is_seen for label in known) == 260
    assert all(len(country) == 2 or country == "-" for label in known for country in label.countries)
