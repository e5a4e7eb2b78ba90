"""What the simulated service keeps of accounts is what it would write anew."""

from __future__ import annotations

import random

import pytest

from bowerbird.clock import from_micros
from bowerbird.model import Ask, Request
from bowerbird.providers import provider
from bowerbird.simulated.scale import Scale
from bowerbird.simulated.service import Setup, SimulatedService, simulate
from bowerbird.simulated.world import World, WorldSettings
from bowerbird.simulated.world.settings import DAY

WORLD = WorldSettings(accounts=300, seed=5)
_LOOKED_UP = {"mastodon": "profile", "bluesky": "profiles", "x": "profiles", "twitter_v1": "profiles", "weibo": "profile"}


def profile(service: SimulatedService, dialect: str, account: int, ms: int) -> bytes:
    """What the service answers about one account at a time."""
    request = provider(dialect).request(Ask(_LOOKED_UP[dialect], (service.dialect.account_key(account),)))
    signed = Request(
        method=request.method,
        path=request.path,
        query=request.query,
        body=request.body,
        headers={**request.headers, "authorization": f"Bearer {next(iter(service.tokens)).value}"},
    )
    return service.receive(signed, from_micros(ms * 1000)).reply.body


@pytest.mark.parametrize("dialect", ["mastodon", "bluesky", "x", "twitter_v1"])
def test_a_profile_that_was_asked_for_before_is_shown_as_it_is_now(dialect: str) -> None:
    setup = Setup(dialect=dialect, world=WORLD, scale=Scale(limits=1e6), tokens=0, app_tokens=1)
    asked_often = simulate(setup)
    start, rng = WORLD.start_ms, random.Random(3)
    accounts = rng.sample(range(len(asked_often.world)), 12)
    times = sorted(start + rng.randrange(3 * DAY) for _ in range(40))
    shown: set[bytes] = set()
    for ms in times:
        # The same world is asked anew each time, by somebody who has kept nothing.
        fresh = simulate(setup, asked_often.world)
        for account in accounts:
            body = profile(asked_often, dialect, account, ms)
            assert body == profile(fresh, dialect, account, ms)
            shown.add(body)
    assert len(shown) > 2 * len(accounts), "nothing changed, so that nothing was tried"


def test_the_newest_post_is_the_first_of_the_timeline() -> None:
    world, rng = World(WORLD), random.Random(1)
    found = 0
    for _ in range(1_500):
        account, now = rng.randrange(len(world)), WORLD.start_ms + rng.randrange(-400 * DAY, 12 * DAY)
        newest = world.newest(account, now)
        assert newest == next(world.timeline(account, now), None)
        found += newest is not None
    assert found > 100
