"""The two crawls whose outputs are kept: one of every network, one of an event and a community."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from golden import product

BASES = {
    "bluesky": "https://bsky.app",
    "mastodon": "https://mastodon.example",
    "x": "https://x.com",
    "weibo": "https://weibo.com",
}


def services_tables(names: list[str]) -> str:
    """The services in the words of a crawl file."""
    return "".join(
        f'[[services]]\nname = "{name}"\nprovider = "{name}"\nbase = "{BASES[name]}"\n'
        + ("dollars = 1000\n" if name == "x" else "")
        for name in names
    )


def open_services(
    world: product.World, names: list[str], **more: object
) -> dict[str, product.SimulatedService]:
    """Simulated services that share a world, by name."""
    return {
        name: product.simulate(
            product.Setup(
                dialect=name,
                world=world.settings,
                domain="mastodon.example" if name == "mastodon" else product.Setup().domain,
                app_tokens=1 if name == "x" else 0,
                **more,  # type: ignore[arg-type]
            ),
            world,
        )
        for name in names
    }


def address_of(name: str, service: product.SimulatedService, account: int, at: datetime) -> str:
    """An account as a person would write it into a crawl file of several services."""
    key, handle = service.dialect.account_key(account), service.dialect.handle_of(account, at)
    forms = {
        "bluesky": f"https://bsky.app/profile/{key}",
        "mastodon": f"https://mastodon.example/@{handle}",
        "x": f"https://x.com/{handle}",
        "weibo": f"https://weibo.com/u/{key}",
    }
    return forms[name]


_NETWORKS_START = datetime(2026, 1, 5, 9, tzinfo=UTC)
_NETWORKS_WORLD = product.WorldSettings(
    seed=5,
    accounts=24,
    following=5.0,
    posts_per_day=2,
    history=timedelta(days=1),
    longest_history=4,
    likes_per_post=0.7,
)
_NETWORKS_FILE = """
name = "networks"
seeds = {seeds}
stop.duration = "{duration}"
[flow]
seeds = ["profiles", "profile"]
[flow.facets]
profile.ranker = "fifo"
profiles = {{ ranker = "circular", revisit = "1h" }}
timeline.ranker = "fifo"
followers = {{ ranker = "fifo", revisit = "2h" }}
following.ranker = "fifo"
hashtag.ranker = "fifo"
likes = {{ ranker = "fifo", optional = true }}
reposts = {{ ranker = "fifo", optional = true }}
[[flow.edges]]
from = "profile"
to = "profiles"
take = "asked"
[[flow.edges]]
from = "profiles"
to = "profile"
take = "missing"
[[flow.edges]]
from = "profiles"
to = "timeline"
take = "asked"
when = "news and not protected"
[[flow.edges]]
from = "profiles"
to = "followers"
take = "asked"
when = "not protected"
[[flow.edges]]
from = "profiles"
to = "following"
take = "asked"
when = "not protected"
[[flow.edges]]
from = "timeline"
to = "hashtag"
take = "tags"
when = "likes > 1"
[[flow.edges]]
from = "timeline"
to = "likes"
take = "own_posts"
when = "likes > 1"
optional = true
[[flow.edges]]
from = "timeline"
to = "reposts"
take = "own_posts"
when = "reposts > 0"
optional = true
[[places]]
name = "London"
by = "none"
{services}
"""


async def _crawl_networks(clock: product.VirtualClock, store: str) -> None:
    """Crawl eight accounts of each network for three hours, and for one hour more a week later."""
    names = list(BASES)
    services = open_services(product.World(_NETWORKS_WORLD), names, tokens=1)
    seeds = [
        address_of(name, services[name], account, clock.now())
        for name in names
        for account in range(0, 24, 3)
    ]
    for duration in ("3h", "4h"):
        text = _NETWORKS_FILE.format(
            seeds=json.dumps(seeds), duration=duration, services=services_tables(names)
        )
        await product.crawl(clock, text, services, BASES, store)
        if duration == "3h":
            await clock.sleep_until(clock.now() + timedelta(days=7))


_EVENT_BEGINS = datetime(2026, 1, 6, 10, tzinfo=UTC)
_EVENT_WORLD = product.WorldSettings(
    seed=3,
    accounts=160,
    start=_EVENT_BEGINS - timedelta(days=1, hours=10),
    following=6.0,
    posts_per_day=12,
    history=timedelta(days=1),
    longest_history=4,
    mixed=True,
    likes_per_post=0.0,
    planned=product.PlannedEvent(begins=_EVENT_BEGINS - timedelta(hours=2), posts=1_500),
)
_EVENT_FILE = """
name = "event"
flow = "event"
seeds = ["#keredona"]
stop.duration = "75m"
[keywords]
methods = ["burst", "baseline"]
frame = "15m"
min_frequency = 2
{services}
"""
# Modules come round at times of their own: what two of them do at one moment has no order.
_COMMUNITY_FILE = """
name = "community"
flow = "community"
seeds = {seeds}
stop = {{ calls = 90, duration = "2h", spread = true }}
[modules]
growth.every = "53m"
mentions.every = "47m"
[community]
name = "Portugal"
places.countries = ["PT"]
languages.own = ["pt"]
languages.varieties = ["pt-PT"]
languages.other_varieties = ["pt-BR"]
words.own = ["lisboa", "porto"]
{services}
"""


async def _crawl_event(clock: product.VirtualClock, store: str) -> None:
    """Follow an event by its keywords for an hour and a quarter, then look for a community."""
    world = product.World(_EVENT_WORLD)
    services = open_services(world, ["bluesky"], tokens=1)
    tables = services_tables(["bluesky"])
    await product.crawl(clock, _EVENT_FILE.format(services=tables), services, BASES, store)
    at_home = [n for n in range(_EVENT_WORLD.accounts) if world.people.community[n] == 3][:8]
    seeds = json.dumps([services["bluesky"].dialect.account_key(number) for number in at_home])
    await product.crawl(
        clock, _COMMUNITY_FILE.format(seeds=seeds, services=tables), services, BASES, store
    )


_CRAWLS: dict[str, tuple[datetime, Callable[[product.VirtualClock, str], Awaitable[None]]]] = {
    "networks": (_NETWORKS_START, _crawl_networks),
    "event": (_EVENT_BEGINS, _crawl_event),
}
CRAWLS = tuple(_CRAWLS)


def make_store(name: str, store: str) -> datetime:
    """Run one of the two crawls into an empty database and return the virtual time of its end."""
    start, work = _CRAWLS[name]

    async def main(clock: product.VirtualClock) -> datetime:
        await work(clock, store)
        return clock.now()

    ended: datetime = product.run_virtual(main, start=start)
    return ended
