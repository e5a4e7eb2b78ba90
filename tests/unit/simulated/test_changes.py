"""A kept answer of the simulated service is the one that would be written anew."""

from __future__ import annotations

from random import Random

from bowerbird.simulated.twitter_v1.payloads import Payloads
from bowerbird.simulated.world import World, WorldSettings
from bowerbird.simulated.world.settings import DAY

ACCOUNTS = 300


def test_a_profile_is_the_same_whether_it_was_kept_or_written_anew() -> None:
    world = World(WorldSettings(accounts=ACCOUNTS, seed=3, posts_per_day=6.0))
    kept, chance, asked = Payloads(world), Random(1), 0
    now = world.settings.start_ms
    for _ in range(150):
        now += chance.randrange(1, DAY // 12)
        fresh = Payloads(world)
        for account in chance.sample(range(ACCOUNTS), 40):
            if world.exists(account, now):
                asked += 1
                assert kept.user(account, now, with_status=True) == fresh.user(account, now, with_status=True)
                assert kept.user(account, now) == fresh.user(account, now)
    assert asked > 5_000


def test_profiles_are_kept_from_one_change_to_the_next_and_no_longer() -> None:
    world = World(WorldSettings(accounts=ACCOUNTS, seed=3))
    start = world.settings.start_ms
    moments = []
    now = start
    while now < start + DAY:
        now = world.changes.next_after(7, now)
        moments.append(now)
    assert moments == sorted(set(moments))
    assert moments[-1] == start + DAY
    counts = {world.post_count(7, moment) for moment in moments}
    assert world.post_count(7, start + DAY) in counts


def test_what_was_asked_later_does_not_change_what_is_told_about_earlier() -> None:
    world = World(WorldSettings(accounts=ACCOUNTS, seed=3, posts_per_day=6.0))
    start, payloads = world.settings.start_ms, Payloads(world)
    first = [payloads.user(account, start, with_status=True) for account in range(50)]
    later = [payloads.user(account, start + 3 * DAY, with_status=True) for account in range(50)]
    assert [payloads.user(account, start, with_status=True) for account in range(50)] == first
    assert first != later
