"""Small stores to try things on: crawls of a simulated world in virtual time, made in seconds, the same for everybody."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct

from bowerbird.clock import EPOCH, VirtualClock, run_virtual
from bowerbird.errors import UserError
from bowerbird.evaluate.laboratory import Laboratory
from bowerbird.simulated.faults import Faults
from bowerbird.simulated.service import Setup
from bowerbird.simulated.world import WorldSettings

_STREAM = '[[streams]]\nchannel = "public"\n'


def _accounts(laboratory: Laboratory) -> list[str]:
    return laboratory.keys(60)


def _posts(laboratory: Laboratory) -> list[str]:
    """Posts of a few accounts, the first of which nearly everybody follows."""
    service, now = laboratory.service, laboratory.clock.now()
    written = (service.posts_to_find(key, EPOCH, now, now) for key in laboratory.keys(10))
    return [post for posts in written for post, gone in posts.items() if gone is None][:200]


def _some(laboratory: Laboratory) -> list[str]:
    return laboratory.keys(6)


class Example(Struct, frozen=True, kw_only=True):
    """What is crawled, of which world, for how long."""

    about: str
    dialect: str
    flow: str
    seeds: Callable[[Laboratory], list[str]]
    more: str = ""
    accounts: int = 600
    oldest: int = 60
    """So many posts at most people have written before the crawl begins."""
    celebrity: float = 0.0
    """Share of all choices whom to follow that fall on the first account."""
    faults: Faults = Faults()


EXAMPLES = {
    "volumes": Example(
        about="posts of 60 accounts, and a stream that is cut now and then",
        dialect="mastodon",
        flow='flow = "timelines"',
        seeds=_accounts,
        more=f'stop.duration = "3h"\n{_STREAM}',
        accounts=300,
        faults=Faults(messages={"stream_cut": 0.02}),
    ),
    "cascade": Example(
        about="who passed posts on and when, and whom they follow",
        dialect="twitter_v1",
        flow='flow.use = "cascades"\nflow.facets.following.on = true',
        seeds=_posts,
        more="stop.calls = 1500",
        accounts=2_000,
        celebrity=0.05,
    ),
    "community": Example(
        about="who follows whom, two steps around six accounts",
        dialect="bluesky",
        flow='flow = "graph"',
        seeds=_some,
        more="stop.calls = 500\nfilters.max_depth = 2",
    ),
    "event": Example(
        about="posts with two hashtags, asked for again and again for three days",
        dialect="mastodon",
        flow='flow.use = "topic"\nflow.facets.followers.on = false\nflow.facets.following.on = false\n'
        'flow.facets.hashtag.revisit = "30m"',
        seeds=lambda _: ["#election", "#football"],
        more='stop.duration = "3d"',
        accounts=1_500,
    ),
}


def make_example(name: str, store: str | Path) -> None:
    """Makes a store of a simulated crawl, to try things on: `volumes`, `cascade`, `community` or `event`. It takes some seconds,
    needs no network, and is the same every time. Nothing is overwritten."""
    if name not in EXAMPLES:
        raise UserError(f"there is no example {name!r}", f"there are: {', '.join(EXAMPLES)}", code="unknown_name")
    if Path(store).exists():
        raise UserError(
            f"{store} exists already", "choose another name, or move it away: nothing is overwritten", code="already_exists"
        )
    # In a thread of its own: notebooks have a loop that runs already.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(run_virtual, lambda clock: _crawl(EXAMPLES[name], str(store), clock)).result()


async def _crawl(example: Example, store: str, clock: VirtualClock) -> None:
    world = WorldSettings(
        seed=11, accounts=example.accounts, start=clock.now(), longest_history=example.oldest, celebrity=example.celebrity
    )
    laboratory = Laboratory(Setup(dialect=example.dialect, world=world, tokens=2, faults=example.faults), clock)
    plan = laboratory.plan(example.flow, example.seeds(laboratory), example.more, store=store)
    async with laboratory.crawl(plan) as crawl:
        await laboratory.run(crawl)
