"""A community as TOML: what it may say, what is refused, and what comes with the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from bowerbird.community.countries import (
    EXAMPLES,
    code_of,
    description,
    example,
    generate_description,
    share_of_speakers,
    zones_of,
)
from bowerbird.errors import FlowError, UserError
from bowerbird.flows.files.community_file import parse_community
from bowerbird.flows.files.crawl_file import parse_crawl
from bowerbird.vocabulary import vocabulary
from failures import raises_code

CRAWL = """
flow = "community"
seeds = ["14715"]
{more}
[service]
provider = "mastodon"
base = "https://mastodon.social"
"""


def parsed(text: str):
    return parse_community(text, Path("here.toml"))


@pytest.mark.parametrize("code", EXAMPLES)
def test_a_packaged_example_says_what_belongs_to_its_country(code: str) -> None:
    found = example(code)
    assert found.countries == found.name_countries == (code,)
    assert found.zones
    assert found.languages
    assert found.own_words
    assert set(zones_of(code)[:1]) <= set(found.zones)


@pytest.mark.parametrize("code", ["US", "CH", "NO", "IN", "BR", "AQ"])
def test_every_country_can_be_description(code: str) -> None:
    found = parsed(generate_description(code))
    assert found.countries == (code,)
    assert found.zones == zones_of(code)


def test_what_is_no_country_is_refused_with_a_hint() -> None:
    with raises_code(UserError, "unknown_name") as caught:
        description("portugl")
    assert "'portugl'" in caught.value.problem
    assert "'Portugal'" in caught.value.problem


@pytest.mark.parametrize("code", ["XK", "ZZ", "", "KOSOVO"])
def test_description_of_an_unknown_country_is_refused(code: str) -> None:
    with raises_code(UserError, "unknown_name") as caught:
        description(code)
    assert repr(code) in caught.value.problem


@pytest.mark.parametrize("code", ["XK", "ZZ", "pt"])
@pytest.mark.parametrize("table", ["places", "names"])
def test_file_with_an_unknown_country_is_refused(table: str, code: str) -> None:
    with raises_code(FlowError, "unknown_name") as caught:
        parsed(f'[{table}]\ncountries = ["{code}"]')
    assert caught.value.line == 2
    assert repr(code) in caught.value.problem


@pytest.mark.parametrize(("text", "code"), [("pt", "PT"), ("Portugal", "PT"), (" united kingdom ", "GB"), ("Nowhere", "NOWHERE")])
def test_a_country_is_known_by_its_code_or_its_name(text: str, code: str) -> None:
    assert code_of(text) == code


@pytest.mark.parametrize(
    ("text", "code", "line", "named"),
    [
        ("", "missing_value", None, "[places] [time] [languages] [names] [words]"),
        ('[plces]\ncountries = ["PT"]', "unknown_key", 1, "'plces' 'places'"),
        ('[places]\ncountries = ["PX"]', "unknown_name", 2, "'PX'"),
        ('[places]\ncountry = "PT"', "unknown_key", 2, "'country' 'countries' [places]"),
        ('[time]\nzones = ["Europe/Lisboa"]', "unknown_name", 2, "'Europe/Lisboa'"),
        ('[languages]\nown = ["pt-PT"]', "unknown_name", 2, "'pt-PT'"),
        ('[languages]\nown = ["pt"]\nvarieties = ["pt-AO"]', "unknown_name", 3, "'pt-AO' 'pt-PT' pt-BR"),
        ('yes = 1.5\n[places]\ncountries = ["PT"]', "invalid_file", 1, "yes 0.5 1.5"),
        ('rule = "ecko"\n[places]\ncountries = ["PT"]', "unknown_name", 1, "'ecko' 'echo' calibrated"),
        ('[words]\nown = [""]', "invalid_file", 2, "own 100 ''"),
    ],
)
def test_mistakes_name_the_line_and_what_is_allowed(text: str, code: str, line: int | None, named: str) -> None:
    with raises_code(FlowError, code) as caught:
        parsed(text)
    assert (caught.value.file, caught.value.line) == ("here.toml", line)
    assert all(value in str(caught.value) for value in named.split())


def test_any_kind_of_evidence_is_enough() -> None:
    assert parsed('[words]\nown = ["astronomer"]').own_words == ("astronomer",)
    assert parsed("[words]\nlearn = true").learns_words
    assert parsed('[time]\nzones = ["Asia/Tokyo"]').zones == ("Asia/Tokyo",)


def test_a_crawl_file_names_a_description_or_holds_it(tmp_path: Path) -> None:
    (tmp_path / "pt.toml").write_text(description("PT"), encoding="utf-8")
    named = parse_crawl(CRAWL.format(more='community.file = "pt.toml"'), tmp_path / "crawl.toml", vocabulary())
    held = parse_crawl(
        CRAWL.format(more='community = {places.countries = ["IT"], words.search = ["buongiorno"]}'),
        tmp_path / "crawl.toml",
        vocabulary(),
    )
    assert named.community is not None
    assert named.community.name == "Portugal"
    assert {search.facet for search in held.searches} == {"search"}
    assert held.community is not None
    assert held.community.countries == ("IT",)


def test_a_flow_about_a_community_needs_one(tmp_path: Path) -> None:
    with raises_code(FlowError, "missing_value") as caught:
        parse_crawl(CRAWL.format(more=""), tmp_path / "crawl.toml", vocabulary())
    assert "`bowerbird community new PT`" in caught.value.advice
    with raises_code(FlowError, "file_not_found") as caught:
        parse_crawl(CRAWL.format(more='community.file = "pt.toml"'), tmp_path / "crawl.toml", vocabulary())
    assert "pt.toml" in caught.value.problem


def test_a_language_says_much_where_few_others_speak_it() -> None:
    assert share_of_speakers("ja", ["JP"]) > 0.99
    assert share_of_speakers("pt", ["PT"]) < 0.05
