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
    with pytest.raises(UserError, match="did you mean 'Portugal'"):
        description("portugl")


@pytest.mark.parametrize("code", ["XK", "ZZ", "", "KOSOVO"])
def test_description_of_an_unknown_country_is_refused(code: str) -> None:
    with pytest.raises(UserError, match=f"Unknown country '{code}'"):
        description(code)


@pytest.mark.parametrize("code", ["XK", "ZZ", "pt"])
@pytest.mark.parametrize("table", ["places", "names"])
def test_file_with_an_unknown_country_is_refused(table: str, code: str) -> None:
    with pytest.raises(FlowError, match="is no country"):
        parsed(f'[{table}]\ncountries = ["{code}"]')


@pytest.mark.parametrize(("text", "code"), [("pt", "PT"), ("Portugal", "PT"), (" united kingdom ", "GB"), ("Nowhere", "NOWHERE")])
def test_a_country_is_known_by_its_code_or_its_name(text: str, code: str) -> None:
    assert code_of(text) == code


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "nothing says who belongs"),
        ('[plces]\ncountries = ["PT"]', "did you mean 'places'"),
        ('[places]\ncountries = ["PX"]', "is no country"),
        ('[places]\ncountry = "PT"', "did you mean 'countries'"),
        ('[time]\nzones = ["Europe/Lisboa"]', "is no time zone"),
        ('[languages]\nown = ["pt-PT"]', "is no code of a language"),
        ('[languages]\nown = ["pt"]\nvarieties = ["pt-AO"]', "nobody here can tell 'pt-AO'"),
        ('yes = 1.5\n[places]\ncountries = ["PT"]', "at least 0.5 and below 1"),
        ('rule = "ecko"\n[places]\ncountries = ["PT"]', "did you mean 'echo'"),
        ('[words]\nown = [""]', "holds words or names"),
    ],
)
def test_mistakes_name_the_line_and_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(FlowError, match=message):
        parsed(text)


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
    with pytest.raises(FlowError, match="bowerbird community new PT"):
        parse_crawl(CRAWL.format(more=""), tmp_path / "crawl.toml", vocabulary())
    with pytest.raises(FlowError, match="there is no file"):
        parse_crawl(CRAWL.format(more='community.file = "pt.toml"'), tmp_path / "crawl.toml", vocabulary())


def test_a_language_says_much_where_few_others_speak_it() -> None:
    assert share_of_speakers("ja", ["JP"]) > 0.99
    assert share_of_speakers("pt", ["PT"]) < 0.05
