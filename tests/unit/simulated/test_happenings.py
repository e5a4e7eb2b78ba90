"""What happens in the world: in order, the same for the same stretch, and exactly what makes one state into the next."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise

from bowerbird.errors import UserError
from bowerbird.simulated.feeds import HEARTBEAT, Tape
from bowerbird.simulated.world import Availability, Happening, Kind, World, WorldSettings
from bowerbird.simulated.world.settings import DAY, from_ms, to_ms
from failures import raises_code

START = WorldSettings().start_ms
AWAY = (Availability.SUSPENDED, Availability.GONE, Availability.UNBORN)


@cache
def world() -> World:
    return World(WorldSettings(accounts=900, seed=6, horizon=timedelta(days=30)))


@cache
def happenings() -> tuple[Happening, ...]:
    return tuple(world().happenings(START, START + 20 * DAY))


def test_happenings_come_in_order_and_each_has_its_place() -> None:
    for one, other in pairwise(happenings()):
        assert (one.ms, one.place) < (other.ms, other.place)


def test_every_kind_of_thing_happens() -> None:
    assert {each.kind for each in happenings()} == set(Kind)


def test_a_stretch_cut_into_pieces_tells_the_same_whatever_was_asked_before() -> None:
    edges = [START, START + 1, START + DAY // 3, START + 5 * DAY, START + 5 * DAY + 7_000, START + 20 * DAY]
    pieces = [world().happenings(after, until) for after, until in pairwise(edges)]
    assert [each for piece in pieces for each in piece] == list(happenings())


def test_another_world_from_the_same_settings_tells_the_same() -> None:
    assert World(world().settings).happenings(START + 3 * DAY, START + 4 * DAY) == world().happenings(
        START + 3 * DAY, START + 4 * DAY
    )


def there(at: int) -> list[int]:
    return [account for account in range(len(world())) if world().availability(account, at) not in AWAY]


def test_posts_written_and_deleted_lead_from_one_state_of_the_timelines_to_a_later_one() -> None:
    since, until = START, START + 20 * DAY
    known = {row.number for account in range(len(world())) for row in world().timeline(account, since)}
    for each in happenings():
        if each.kind is Kind.WRITTEN:
            assert each.number not in known
            known.add(each.number)
        elif each.kind is Kind.DELETED:
            known.remove(each.number)
    authors = set(there(until))
    shown = {row.number for account in authors for row in world().timeline(account, until)}
    assert {number for number in known if number & ((1 << 22) - 1) in authors} == shown


def test_follows_lead_from_one_state_of_the_graph_to_a_later_one() -> None:
    def edges(at: int, accounts: list[int]) -> set[tuple[int, int]]:
        return {(account, int(other)) for account in accounts for other in world().graph.following(account, at)[0]}

    until = START + 20 * DAY
    known = edges(START, there(START))
    for each in happenings():
        if each.kind is Kind.FOLLOWED:
            known.add((each.account, each.other))
        elif each.kind is Kind.UNFOLLOWED:
            known.discard((each.account, each.other))
    # Those who were away at the beginning were not looked at then; who has left takes follows along.
    seen, left = set(there(START)) & set(there(until)), set(range(len(world()))) - set(there(until))
    gone = {account for account in left if world().availability(account, until) is Availability.GONE}
    assert {pair for pair in known if pair[0] in seen and pair[1] not in gone} == edges(until, sorted(seen))


def test_profiles_and_standing_change_only_when_that_is_told() -> None:
    changes = (Kind.SUSPENDED, Kind.LEFT, Kind.RETURNED, Kind.JOINED, Kind.PROTECTED, Kind.UNPROTECTED)
    told = {each.account for each in happenings() if each.kind in changes}
    edited = {each.account for each in happenings() if each.kind is Kind.PROFILE}
    until = START + 20 * DAY
    for account in there(until):
        if account not in told:
            assert world().availability(account, START) is world().availability(account, until)
        is_edited = world().profiles.version(account, START) != world().profiles.version(account, until)
        assert not is_edited or account in edited


def test_nobody_acts_while_away() -> None:
    acts = [each for each in happenings() if each.kind not in (Kind.SUSPENDED, Kind.LEFT)]
    assert all(world().availability(each.account, each.ms) not in AWAY for each in acts)


def test_the_next_happening_is_found_or_there_is_none() -> None:
    first = happenings()[0]
    assert world().next_happening(START, START + DAY) == first.ms
    assert world().next_happening(first.ms - 1, first.ms) == first.ms
    assert world().next_happening(START, first.ms - 1) is None


def test_time_runs_at_its_pace_from_a_moment_on_and_back_again() -> None:
    since = datetime(2026, 1, 6, 9, tzinfo=UTC)
    settings = WorldSettings(pace=60, since=since, until=since + timedelta(hours=5))
    assert settings.moment(since - timedelta(hours=1)) == since - timedelta(hours=1)
    assert settings.moment(since + timedelta(minutes=2)) == since + timedelta(hours=2)
    assert settings.moment(since + timedelta(days=2)) == since + timedelta(hours=5)
    assert settings.shown_at(to_ms(since + timedelta(hours=6))) is None
    for ms in (to_ms(since) - 5, to_ms(since) + 12_345, to_ms(since) + 7_200_001):
        shown = settings.shown_at(ms)
        assert shown is not None
        assert settings.moment(shown) >= from_ms(ms)
        assert settings.moment(shown - timedelta(microseconds=2)) < from_ms(ms)


def test_a_pace_that_makes_no_sense_is_refused() -> None:
    with raises_code(UserError, "invalid") as caught:
        WorldSettings(pace=0)
    assert all(value in caught.value.problem for value in ("pace", "0", "10,000"))


def test_a_tape_plays_everything_once_and_says_when_to_come_back() -> None:
    now, tape = from_ms(START), Tape(world(), START)
    end, heard = from_ms(START + DAY // 2), list[Happening]()
    while now < end:
        heard += tape.read(now, most=50)
        again_at = tape.again_at(now)
        assert again_at <= now + HEARTBEAT
        assert again_at > now or not tape.is_live(now)
        now = again_at
    assert heard == world().happenings(START, heard[-1].ms)
    assert len(heard) > 500
