"""Where accounts and posts are, on both databases: what decided, what a stronger word changes, and what leaves with its owner."""

from __future__ import annotations

from typing import Any

import pytest
from store_pages import POSTS, PROFILES, TIMELINE, Crawled

from bowerbird.analysis.places.classifier import PlaceClassifier
from bowerbird.analysis.places.resolver import open_resolver
from bowerbird.model import Area, Box, Gone, Outcome, Page, Place, Post, PostKind, Subject, User, WithdrawnPlaces
from bowerbird.ports import Database
from bowerbird.reports.counting.places import read_places
from bowerbird.settings import load_settings
from bowerbird.store import Store
from bowerbird.store.judgements.judging import JudgingStore

LISBON = Area(name="Lisbon", box=Box(-9.3, 38.6, -9.0, 38.9))
WEST = Area(name="West", box=Box(-10.0, 37.0, -7.0, 42.0))
PORTUGAL = Area(name="Portugal", box=Box(-31.0, 32.0, -6.0, 42.2), country="PT")


@pytest.fixture
async def crawled(database: Database) -> Crawled:
    made = await Crawled(database).register()
    classifier = PlaceClassifier([LISBON, WEST, PORTUGAL], open_resolver(load_settings().cache_folder))
    made.store = JudgingStore(Store(database), database, [classifier])  # type: ignore[assignment]
    return made


def ada(**more: Any) -> User:
    return User(id="x:1", key="1", handle="ada", **{"location": "Lisboa, Portugal", **more})


def post(key: str = "10", **more: Any) -> Post:
    return Post(id=f"x:{key}", key=key, author="x:1", **{"text": "a word", **more})


async def located(crawled: Crawled) -> dict[tuple[str, str], str]:
    rows = await crawled.rows("select place, id, source from located")
    return {(row["id"], row["place"]): row["source"] for row in rows}


def everywhere(identity: str, source: str) -> dict[tuple[str, str], str]:
    return {(identity, place): source for place in ("Lisbon", "West", "Portugal")}


async def test_a_profile_puts_its_account_and_its_posts_into_every_area_around_it(crawled: Crawled) -> None:
    await crawled.save(Page(users=(ada(),), posts=(post(),)), TIMELINE, "1")
    assert await located(crawled) == {**everywhere("x:1", "profile"), **everywhere("x:10", "profile")}


async def test_coordinates_decide_before_the_profile_and_put_the_author_there_too(crawled: Crawled) -> None:
    there = Place(name="Berlin", country="DE", longitude=-8.61, latitude=41.15)
    await crawled.save(Page(users=(ada(),), posts=(post(place=there),)), TIMELINE, "1")
    found = await located(crawled)
    assert {place: source for (item, place), source in found.items() if item == "x:10"} == {
        "West": "coordinates", "Portugal": "coordinates"
    }  # fmt: skip
    assert found["x:1", "West"] == "coordinates"
    assert found["x:1", "Lisbon"] == "profile"


async def test_a_named_place_decides_where_there_is_no_point(crawled: Crawled) -> None:
    there = Place(name="Lisbon, Portugal", country="PT")
    await crawled.save(Page(users=(ada(location="Berlin"),), posts=(post(place=there),)), POSTS)
    assert await located(crawled) == {**everywhere("x:1", "place"), **everywhere("x:10", "place")}


async def test_words_decide_last_and_a_repost_is_nowhere(crawled: Crawled) -> None:
    words = post(text="Heavy rain in Lisbon today")
    again = post("11", text="Heavy rain in Lisbon today", kind=PostKind.REPOST, repost_of="x:10")
    await crawled.save(Page(users=(ada(location=""),), posts=(words, again)), POSTS)
    assert await located(crawled) == everywhere("x:10", "text")


async def test_a_country_alone_is_in_no_box_inside_it(crawled: Crawled) -> None:
    await crawled.save(Page(users=(ada(location="Portugal"),)))
    assert await located(crawled) == {("x:1", "Portugal"): "profile"}


async def test_posts_that_came_before_the_profile_are_placed_when_it_comes(crawled: Crawled) -> None:
    berlin = Place(name="Berlin", country="DE", longitude=13.4, latitude=52.5)
    await crawled.save(Page(posts=(post(), post("12", place=berlin))), POSTS)
    assert await located(crawled) == {}
    await crawled.save(Page(users=(ada(),)))
    assert await located(crawled) == {**everywhere("x:1", "profile"), **everywhere("x:10", "profile")}


async def test_who_moves_is_no_longer_where_only_the_profile_put_them(crawled: Crawled) -> None:
    await crawled.save(Page(users=(ada(),)))
    await crawled.save(Page(users=(ada(location="Porto"),)))
    assert await located(crawled) == {("x:1", "West"): "profile", ("x:1", "Portugal"): "profile"}


async def test_the_place_of_an_opted_out_or_deleted_account_is_forgotten(crawled: Crawled) -> None:
    await crawled.save(Page(users=(ada(),), posts=(post(),)), TIMELINE, "1")
    await crawled.save(Page(gone=(Gone(Subject.POST, "10", Outcome.NOT_FOUND),)), POSTS, "10")
    assert await located(crawled) == everywhere("x:1", "profile")
    await crawled.save(Page(gone=(Gone(Subject.USER, "1", Outcome.SUSPENDED),)), PROFILES, "1")
    assert await located(crawled) == {}
    await crawled.save(Page(users=(User(id="x:2", key="2", location="Lisbon", opts_out=True),)))
    assert await located(crawled) == {}


async def test_a_place_that_the_author_took_back_is_forgotten(crawled: Crawled) -> None:
    there = Place(longitude=-8.61, latitude=41.15)
    await crawled.save(Page(users=(ada(location=""),), posts=(post(place=there),)), TIMELINE, "1")
    assert set((await located(crawled)).values()) == {"coordinates"}
    await crawled.save(Page(withdrawn_places=(WithdrawnPlaces("1", "10"),)), TIMELINE, "1")
    assert await located(crawled) == {}


async def test_the_same_page_twice_changes_nothing(crawled: Crawled) -> None:
    page = Page(users=(ada(),), posts=(post(),))
    await crawled.save(page, TIMELINE, "1")
    before = [tuple(row) for row in await crawled.rows("select * from located order by place, subject, id")]
    await crawled.save(page, TIMELINE, "1")
    assert [tuple(row) for row in await crawled.rows("select * from located order by place, subject, id")] == before


async def test_the_overlap_of_two_places_is_what_they_share_of_what_either_has(crawled: Crawled) -> None:
    written = ("Lisboa", "Porto", "Lisbon", "Faro, Portugal")
    await crawled.save(Page(users=tuple(User(id=f"x:{n}", key=str(n), location=where) for n, where in enumerate(written))))
    places, overlaps = await read_places(crawled.database, ("Lisbon", "Nowhere"))
    assert [(each.place, each.users) for each in places] == [
        ("Lisbon", {"profile": 2}), ("Nowhere", {}), ("Portugal", {"profile": 4}), ("West", {"profile": 4})
    ]  # fmt: skip
    shares = {each.places: each.users for each in overlaps}
    assert shares["Lisbon", "Portugal"] == 0.5
    assert shares["Portugal", "West"] == 1.0
    assert shares["Lisbon", "Nowhere"] == 0.0
