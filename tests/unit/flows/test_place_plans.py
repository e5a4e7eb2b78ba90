"""`[[places]]` in a crawl file: areas, and how each network is asked about them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from bowerbird.app import vocabulary
from bowerbird.errors import FlowError, UserError
from bowerbird.flows.files.crawl_file import CrawlPlan, parse_crawl
from bowerbird.flows.files.example import example
from bowerbird.flows.files.flow_file import parse_flow
from bowerbird.model import Area, Box
from bowerbird.providers.places import circle, tiles
from failures import raises_code

WORDS = vocabulary()
LISBON = '[[places]]\nname = "Lisbon"\nbox = [-9.5, 38.6, -9.0, 38.9]\n'


def plan_of(provider: str, places: str, more: str = 'seeds = ["@ada"]') -> CrawlPlan:
    text = f'flow = "places"\n{more}\n[service]\nprovider = "{provider}"\nbase = "https://api.example"\n{places}'
    return parse_crawl(text, Path("x.toml"), WORDS)


def test_the_classic_api_hears_boxes_on_its_stream() -> None:
    (stream,) = plan_of("twitter_v1", LISBON, "").streams
    assert (stream.subscription.channel, stream.subscription.name) == ("filter", "places")
    assert stream.subscription.options == {"locations": ("-9.5,38.6,-9,38.9",)}


def test_the_classic_streams_come_from_their_own_host() -> None:
    text = f'flow = "places"\n[service]\nprovider = "twitter_v1"\nbase = "https://api.twitter.com"\n{LISBON}'
    (stream,) = parse_crawl(text, Path("x.toml"), WORDS).streams
    assert stream.host.base == "https://stream.twitter.com"


def test_x_gets_rules_of_small_boxes_and_a_country_by_its_code() -> None:
    (stream,) = plan_of("x", LISBON + '[[places]]\nname = "Portugal"\n', "").streams
    small, country = stream.subscription.options["rules"]
    assert small.count("bounding_box:[") == 2
    assert country == "place_country:PT"


def test_searches_are_asked_once_or_again() -> None:
    (once,) = plan_of("x", LISBON + 'by = "search"\n', "").searches
    (again,) = plan_of("twitter_v1", LISBON + 'by = "search"\nevery = "15m"\n', "").searches
    assert (once.facet, once.every, again.every) == ("search", None, timedelta(minutes=15))
    assert again.targets == ("geocode:38.75,-9.25,28km",)


def test_weibo_is_asked_around_points() -> None:
    (search,) = plan_of("weibo", LISBON, "").searches
    assert (search.facet, search.hints) == ("nearby", {"range": "11132"})
    assert len(search.targets) == 9
    with raises_code(FlowError, "too_large") as caught:
        plan_of("weibo", '[[places]]\nname = "Portugal"\n', "")
    assert "'Portugal'" in caught.value.problem
    assert "400" in caught.value.problem


def test_a_place_that_is_too_large_is_named_with_its_own_line() -> None:
    for provider, way in (("weibo", ""), ("x", ""), ("x", 'by = "search"\n')):
        large = f'[[places]]\nname = "Sea"\n{way}box = [-180, -10, 180, 10]\n'
        with raises_code(FlowError, "too_large") as refused:
            plan_of(provider, LISBON + large + LISBON.replace("Lisbon", "Lisboa"), "")
        assert "'Sea'" in refused.value.problem
        assert refused.value.line == 11 + bool(way)


@pytest.mark.parametrize("provider", ["mastodon", "bluesky"])
def test_networks_without_geography_are_only_judged(provider: str) -> None:
    plan = plan_of(provider, LISBON)
    assert (plan.streams, plan.searches, len(plan.places)) == ((), (), 1)
    with raises_code(FlowError, "no_seeds"):
        plan_of(provider, LISBON, "")


def test_a_file_with_streams_of_its_own_gets_none_unless_a_place_asks_for_it() -> None:
    own = '[[streams]]\nchannel = "filter"\ntrack = ["rain"]\n'
    assert [each.subscription.name for each in plan_of("twitter_v1", own + LISBON, "").streams] == ["filter"]
    asked = plan_of("twitter_v1", own + LISBON + 'by = "stream"\n', "")
    assert [each.subscription.name for each in asked.streams] == ["filter", "places"]


@pytest.mark.parametrize(
    ("places", "code", "line", "named"),
    [
        ('[[places]]\nname = "X"\nbox = [1, 2, 3]', "invalid_file", 8, "box [1, 3]"),
        ('[[places]]\nname = "X"\nbox = [1, 5, 3, 2]', "invalid_file", 8, "box [1, 5,"),
        ('[[places]]\nname = "X"\nbox = [-190, 2, 3, 5]', "invalid_file", 8, "box [-190,"),
        ('[[places]]\nname = "Qwertyuiop"', "unknown_name", 7, "'Qwertyuiop'"),
        ('[[places]]\nname = "X"\nwhere = "Qwertyuiop"', "unknown_name", 8, "'Qwertyuiop'"),
        ("[[places]]\nbox = [1, 2, 3, 4]", "missing_value", 6, "name"),
        (LISBON + LISBON, "already_exists", 10, "'Lisbon'"),
        (LISBON + 'by = "streams"', "unknown_name", 9, "'streams' 'stream' search"),
        (LISBON + "radius = 3", "unknown_key", 9, "'radius' box"),
    ],
)
def test_a_mistake_in_a_place_names_its_line(places: str, code: str, line: int, named: str) -> None:
    with raises_code(FlowError, code) as caught:
        plan_of("mastodon", places)
    assert (caught.value.file, caught.value.line) == ("x.toml", line)
    assert all(value in str(caught.value) for value in named.split())


def test_a_box_across_the_date_line_is_asked_for_in_two_parts() -> None:
    fiji = Box(177.0, -19.0, -178.0, -16.0)
    assert fiji.holds(179.5, -17.0)
    assert fiji.holds(-179.5, -17.0)
    assert not fiji.holds(0.0, -17.0)
    (stream,) = plan_of("twitter_v1", '[[places]]\nname = "Fiji"\nbox = [177, -19, -178, -16]\n', "").streams
    assert stream.subscription.options["locations"] == ("177,-19,180,-16", "-180,-19,-178,-16")


def test_tiles_cover_the_box_and_are_small_enough() -> None:
    area = Area(name="x", box=Box(-9.5, 36.9, -6.2, 42.1))
    found = tiles(area, 40.0, 2_000)
    for x, y in ((-9.5, 36.9), (-6.2, 42.1), (-8.0, 40.0)):
        assert any(tile.holds(x, y) for tile in found)
    assert all((tile.north - tile.south) * 111.32 <= 40.01 for tile in found)
    with raises_code(UserError, "too_large") as caught:
        tiles(area, 1.0, 2_000)
    assert "2,000" in caught.value.problem


def test_a_circle_reaches_the_corners_of_its_box() -> None:
    latitude, longitude, radius = circle(Box(-9.5, 38.6, -9.0, 38.9))
    assert (round(latitude, 2), round(longitude, 2)) == (38.75, -9.25)
    assert 27 < radius < 30


@pytest.mark.parametrize("provider", ["bluesky", "mastodon", "twitter_v1", "weibo", "x"])
def test_the_example_of_the_flow_runs_as_it_is(provider: str) -> None:
    flow = parse_flow(WORDS.flows["places"], "places", {}, WORDS.rankers)
    plan = parse_crawl(example(flow, provider), Path("x.toml"), WORDS)
    assert [place.area.name for place in plan.places] == ["Lisbon"]
