"""The flow `places` in virtual time: who and what belongs to a place, compared with where the world's people live and post."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec
import pytest

from bowerbird.app import Crawl
from bowerbird.clock import VirtualClock, run_virtual
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.model import Box
from bowerbird.reports.counting.places import read_places
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings
from bowerbird.simulated.world.hashing import mix
from bowerbird.simulated.world.posts.rows import REPOST
from bowerbird.simulated.world.settings import to_ms
from marks import long

START = datetime(2026, 1, 5, tzinfo=UTC)
SIX_TOWNS = WorldSettings(accounts=300, seed=5, following=6.0, longest_history=20, posts_per_day=6.0, until=START)
TWO_TOWNS = WorldSettings(accounts=100, seed=5, following=4.0, longest_history=5, posts_per_day=30.0, warm=1)
"""London and New York; one post of 32 carries its coordinates."""


class Spot(NamedTuple):
    """A town of the world as three places: a box that holds half of it, one around it, and the country of another town."""

    town: str
    half: Box
    around: Box
    country: str

    def written(self, by: str, far: str) -> str:
        boxes = "".join(
            f'[[places]]\nname = "{name}"\nbox = [{box.west}, {box.south}, {box.east}, {box.north}]\n{by}\n'
            for name, box in (("half", self.half), ("around", self.around))
        )
        return f'{boxes}[[places]]\nname = "country"\nwhere = "{self.country}"\n{far}\n'


PORTO = Spot("Porto", Box(-8.65, 41.0, -8.4, 41.4), Box(-9.2, 40.8, -8.0, 41.8), "Brazil")
LONDON = Spot("London", Box(-0.15, 51.3, 0.1, 51.7), Box(-0.34, 51.3, 0.08, 51.71), "United States")
NAMES = ("half", "around", "country")


class Found(NamedTuple):
    """What a crawl located, as the world counts: accounts by number, posts by the service's key."""

    laboratory: Laboratory
    users: dict[tuple[str, int], str]
    posts: dict[tuple[str, str], str]
    seen: set[int]
    opted_out: set[int]
    reposts: set[str]
    report: Any

    @property
    def by_point(self) -> set[tuple[str, str]]:
        return {key for key, source in self.posts.items() if source == "coordinates"}


def crawl_places(setup: Setup, spot: Spot, by: str = "", more: str = "", *, seeds: Any = ()) -> Found:
    async def main(clock: VirtualClock) -> Found:
        laboratory = Laboratory(setup, clock)
        # Weibo is asked about a point at a time: a whole country is more than it takes.
        far = 'by = "none"' if setup.dialect == "weibo" else by
        written = list(seeds(laboratory) if callable(seeds) else seeds)
        plan = laboratory.plan('flow = "places"', written, f"{more}\n{spot.written(by, far)}")
        async with laboratory.crawl(plan) as crawl:
            await laboratory.run(crawl)
            return await found_in(laboratory, crawl)

    found: Found = run_virtual(main, start=START)
    assert found.laboratory.service.limiter.refused == 0
    return found


async def found_in(laboratory: Laboratory, crawl: Crawl) -> Found:
    async with crawl.database.reading() as tx:
        rows = await tx.fetch("select place, subject, id, source, call from located")
        users = await tx.fetch("select u.id, k.key, u.opts_out from users u left join user_keys k on k.user_no = u.user_no")
        posts = await tx.fetch("select p.id, k.key, p.kind from posts p left join post_keys k on k.post_no = p.post_no")
        calls = {row["call"] for row in await tx.fetch("select call from calls")}
    assert {row["call"] for row in rows} <= calls
    accounts = {row["id"]: laboratory.service.account(row["key"] or bare(row["id"])) for row in users}
    keys = {row["id"]: row["key"] or bare(row["id"]) for row in posts}
    return Found(
        laboratory,
        users={(row["place"], accounts[row["id"]]): row["source"] for row in rows if row["subject"] == "user"},
        posts={(row["place"], keys[row["id"]]): row["source"] for row in rows if row["subject"] == "post"},
        seen=set(accounts.values()),
        opted_out={accounts[row["id"]] for row in users if row["opts_out"]},
        reposts={keys[row["id"]] for row in posts if row["kind"] == "repost"},
        report=await read_places(crawl.database, NAMES),
    )


def bare(identity: str) -> str:
    return identity.removeprefix("x:").removeprefix("weibo:")


def homes(laboratory: Laboratory, account: int, spot: Spot) -> set[str]:
    """The places that an account's profile names at the start."""
    town = laboratory.service.world.contents.town(account)
    said = laboratory.service.truth.profile(account, START).location
    places = {"half", "around"} if town.name == spot.town and town.name in said else set()
    return places | ({"country"} if town.country == spot.country and said else set())


def pointed(laboratory: Laboratory, spot: Spot, since: datetime, until: datetime, *, visible: bool) -> set[tuple[str, str]]:
    """Place and key of every post with coordinates there; `visible`: only those that anybody can see all the time."""
    world, found = laboratory.service.world, set()
    low, high, now = to_ms(since), to_ms(until), to_ms(laboratory.clock.now())
    for account in range(len(world)):
        if visible and not (world.is_open(account, low) and world.is_open(account, now)):
            continue
        if visible and laboratory.service.dialect.name == "weibo" and mix(account, 52) % 3 == 0:
            # They do not want their posts' places to be used (`geo_enabled`).
            continue
        for row in world.all_rows(account, low, high):
            point = world.contents.of(row).place
            if row.kind != REPOST and point is not None and (row.gone_at > now or not visible):
                inside = [name for name, box in (("half", spot.half), ("around", spot.around)) if box.holds(*point)]
                inside += ["country"] if world.contents.town(account).country == spot.country else []
                found |= {(name, laboratory.service.dialect.post_key(row.number)) for name in inside}
    return found


def everything_pointed(found: Found, spot: Spot) -> set[tuple[str, str]]:
    laboratory = found.laboratory
    return pointed(laboratory, spot, START - timedelta(days=4000), laboratory.clock.now(), visible=False)


@pytest.mark.parametrize("dialect", ["twitter_v1", *long("x", "mastodon", "bluesky", "weibo")])
def test_profiles_tell_who_lives_in_a_place_on_every_network(dialect: str) -> None:
    setup = Setup(dialect=dialect, world=SIX_TOWNS, tokens=4)
    found = crawl_places(setup, PORTO, 'by = "none"', "filters.max_depth = 0", seeds=Laboratory.keys)
    truth, source = found.laboratory.service.truth, "text" if dialect == "bluesky" else "profile"
    there = {a for a in range(300) if truth.is_available(a, START) and a in found.seen} - found.opted_out
    wanted = {(place, account) for account in there for place in homes(found.laboratory, account, PORTO)}
    by_profile = {key for key, decided in found.users.items() if decided == source and key[1] in there}
    assert len(wanted) > 60
    assert wanted - set(found.users) == set()
    assert by_profile - wanted == set()
    assert {place for place, _ in found.posts} == set(NAMES)
    assert not {key for _, key in found.posts} & found.reposts


@pytest.mark.parametrize("dialect", ["twitter_v1", *long("x")])
def test_a_stream_of_boxes_brings_every_post_with_coordinates_in_them_and_judges_each(dialect: str) -> None:
    setup = Setup(dialect=dialect, world=TWO_TOWNS, tokens=2, app_tokens=1)
    found = crawl_places(setup, LONDON, more='stop.duration = "11h"')
    wanted = pointed(
        found.laboratory, LONDON, START + timedelta(minutes=5), START + timedelta(hours=10, minutes=50), visible=True
    )  # fmt: skip
    assert len(wanted) > 20
    assert wanted - found.by_point == set()
    assert found.by_point - everything_pointed(found, LONDON) == set()
    # The timelines of those who were heard are listed, and what has no coordinates there is judged by the profile.
    assert set(found.posts.values()) == {"coordinates", "profile"}
    assert set(found.users.values()) == {"coordinates", "profile"}


@pytest.mark.parametrize("dialect", ["twitter_v1", *long("x", "weibo")])
def test_a_search_finds_what_was_posted_in_a_place_before_the_crawl_began(dialect: str) -> None:
    setup = Setup(dialect=dialect, world=msgspec.structs.replace(TWO_TOWNS, until=START), tokens=3, app_tokens=1)
    found = crawl_places(setup, LONDON, "" if dialect == "weibo" else 'by = "search"')
    wanted = pointed(found.laboratory, LONDON, START - timedelta(hours=23), START - timedelta(minutes=1), visible=True)
    if dialect == "weibo":
        wanted = {key for key in wanted if key[0] != "country"}
    assert len(wanted) > 30
    assert wanted - found.by_point == set()
    assert found.by_point - everything_pointed(found, LONDON) == set()


def test_the_report_counts_by_what_decided_and_measures_the_overlap() -> None:
    setup = Setup(dialect="x", world=msgspec.structs.replace(TWO_TOWNS, until=START), tokens=3, app_tokens=1)
    found = crawl_places(setup, LONDON, 'by = "search"')
    places, shares = found.report
    assert tuple(each.place for each in places) == NAMES
    for each in places:
        for kind, located in (("users", found.users), ("posts", found.posts)):
            counted = [source for (place, _), source in located.items() if place == each.place]
            assert getattr(each, kind) == {source: counted.count(source) for source in set(counted)}
    half, around = ({key for place, key in found.posts if place == name} for name in ("half", "around"))
    shared = next(each for each in shares if each.places == ("half", "around"))
    assert 0 < shared.posts < 1
    assert shared.posts == pytest.approx(len(half & around) / len(half | around), abs=1e-4)
    assert all(each.posts == 0 for each in shares if "country" in each.places)


def test_followers_of_local_accounts_are_looked_at_and_those_of_the_place_are_listed() -> None:
    def locals_of(laboratory: Laboratory) -> list[str]:
        truth, keys = laboratory.service.truth, laboratory.keys()
        return [keys[a] for a in range(300) if truth.is_available(a, START) and "half" in homes(laboratory, a, PORTO)][:4]

    found = crawl_places(Setup(dialect="mastodon", world=SIX_TOWNS, tokens=4), PORTO, seeds=locals_of)
    users = {account for place, account in found.users if place == "half"}
    assert len(users) > 4
    assert all("half" in homes(found.laboratory, account, PORTO) for account in users)
    assert len(found.seen) > len(users), "others were looked at and not located"
