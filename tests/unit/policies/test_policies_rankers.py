"""Each revisiting policy by itself: what moves a target up or down, and what it remembers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from posting_world import Lane

from bowerbird.errors import UserError
from bowerbird.model import Arrival, Facet, Outcome, Progress, Side, Subject, Task, Visit
from bowerbird.policies import RANKERS, RankerSetting, ranker
from bowerbird.policies.by_value.index import Index, more_than
from bowerbird.policies.by_value.price import Price, wait_for
from bowerbird.policies.by_value.rates import Rates, counted, decoded, expected, first_belief, noticed, watched
from bowerbird.policies.by_value.two_stage import Fetch, Lookup
from bowerbird.policies.echo import Echo
from bowerbird.policies.moments import days
from failures import raises_code

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def task(**values: object) -> Task:
    return Task(task=1, lane=1, target="a", token=0, **values)  # type: ignore[arg-type]


def visit(of: Task, at: datetime = NOON, **values: object) -> Visit:
    return Visit(task=of, at=at, outcome=Outcome.OK, is_finished=True, **values)  # type: ignore[arg-type]


def come(target: str, news: int = 1, *, wakes: bool = True) -> Arrival:
    return Arrival(lane=1, target=target, news=news, wakes=wakes)


# -- echo ----------------------------------------------------------------------------------------------------------


def level(echo: Echo, at: datetime, memory: bytes | None, **seen: object) -> tuple[float, bytes | None, datetime | None]:
    placement = echo.visited(visit(task(memory=memory, visits=1), at, **seen))
    return placement.priority, placement.memory, placement.due


def test_echo_rises_with_news_and_falls_without() -> None:
    echo = Echo(up=30, down=30, grace_hours=0)
    first = level(echo, NOON, None, new=1)
    assert first[0] == 61.0
    assert level(echo, NOON + HOUR, first[1], new=1)[0] == 100.0
    assert level(echo, NOON + HOUR, first[1])[0] == 41.0


def test_a_lookup_raises_echo_only_when_the_newest_post_is_not_in_the_database() -> None:
    echo = Echo(up=30, down=30, grace_hours=0)
    assert level(echo, NOON, None, posts_before=7, posts_now=6)[0] == 1.0
    assert level(echo, NOON, None, posts_before=7, posts_now=9, shows_posts=True)[0] == 1.0
    assert level(echo, NOON, None, posts_before=7, posts_now=6, shows_posts=True, new=1)[0] == 61.0
    assert level(echo, NOON, None, posts_before=7, posts_now=8)[0] == 61.0


def test_a_list_raises_echo_when_it_differs_and_when_somebody_left_it() -> None:
    echo = Echo(up=30, down=30, grace_hours=0)
    assert level(echo, NOON, None, removed=1)[0] == 61.0
    assert level(echo, NOON, None)[0] == 1.0


def test_echo_does_not_fall_at_night_nor_soon_after_a_post() -> None:
    echo = Echo(up=10, down=40, grace_hours=6)
    _, memory, _ = level(echo, NOON, None, new=1, post_times=(NOON,))
    assert level(echo, NOON + 5 * HOUR, memory)[0] == 41.0
    assert level(echo, NOON + 7 * HOUR, memory)[0] == 1.0
    assert level(echo, NOON + 14 * HOUR, memory)[0] == 41.0
    assert level(Echo(up=10, down=40, utc_offset=-8), NOON + 14 * HOUR, memory)[0] == 1.0


def test_echo_freezes_who_was_silent_for_a_month_until_three_in_the_morning() -> None:
    echo = Echo()
    priority, memory, due = level(echo, NOON, None, post_times=(NOON - 31 * DAY,))
    assert (priority, due) == (0.0, datetime(2026, 3, 3, 3, tzinfo=UTC))
    assert level(echo, NOON, memory, new=1, post_times=(NOON,))[0] > 0
    assert level(echo, NOON, None, posts_now=0, created_at=NOON - 31 * DAY)[0] == 0.0
    assert level(echo, NOON, None, posts_now=0, created_at=NOON - DAY)[0] > 0
    assert level(echo, NOON, None, posts_now=7, created_at=NOON - 31 * DAY)[0] > 0


def test_echo_asks_the_frozen_by_night_and_otherwise_only_when_nobody_else_is_left() -> None:
    lane = Lane(Echo())
    for target in ("frozen", "awake"):
        lane.add(come(target), NOON)
    lane.visit(visit(lane.tasks["frozen"], NOON, post_times=(NOON - 40 * DAY,)))
    lane.due["frozen"] = NOON
    assert [each.target for each in lane.take(2, NOON + HOUR)] == ["awake", "frozen"]
    lists = [(draw.low, draw.high) for draw in lane.ranker.draws(100, NOON)]
    by_night = [(draw.low, draw.high) for draw in lane.ranker.draws(100, NOON.replace(hour=4))]
    assert (lists[-1], by_night[-2]) == ((0.0, 1.0), (0.0, 1.0))


def test_echo_gives_higher_classes_longer_lists() -> None:
    counts = [draw.count for draw in Echo().draws(100, NOON)][:6]
    lists = [counts[0], *(after - before for before, after in pairwise(counts))]
    assert lists == sorted(lists, reverse=True)
    assert sum(lists) == 100


def test_echo_has_three_classes_for_lists_of_people() -> None:
    links = Facet(name="followers", subject=Subject.USER, yields=frozenset({"relations"}), side=Side.FOLLOWERS)
    assert len(ranker("echo", setting=RankerSetting(links)).draws(10, NOON)) < len(ranker("echo").draws(10, NOON))


def test_a_lone_place_goes_to_every_class_of_echo_in_the_long_run() -> None:
    first = [Echo().draws(1, NOON + minute * timedelta(minutes=1))[0].low for minute in range(500)]
    assert {first.count(low) > 0 for low in (100, 81, 61, 41, 21, 1)} == {True}
    assert first.count(100) > first.count(41) > first.count(1)


# -- repeat_first ---------------------------------------------------------------------------------------------------


def test_profiles_go_to_the_unseen_first_then_to_the_oldest_and_ties_by_id() -> None:
    lane = Lane(ranker("oldest_first", revisit=7 * DAY))
    for number, who in enumerate(("30", "9", "did:plc:b", "did:plc:a")):
        lane.add(come(who, news=5), NOON + number * timedelta(seconds=1))
    assert [each.target for each in lane.take(4, NOON + HOUR)] == ["9", "30", "did:plc:a", "did:plc:b"]
    lane.visit(visit(lane.tasks["30"], NOON))
    lane.visit(visit(lane.tasks["9"], NOON))
    lane.visit(visit(lane.tasks["did:plc:b"], NOON - HOUR))
    later = NOON + 8 * DAY
    # Another post of somebody known, a week after it was seen, does not go before one who was never seen.
    lane.add(come("9", news=7), later)
    lane.add(come("31"), later)
    assert [each.target for each in lane.take(5, later)] == ["31", "did:plc:a", "did:plc:b", "9", "30"]


def test_who_comes_again_is_asked_before_all_who_came_once_and_these_newest_first() -> None:
    lane = Lane(ranker("repeat_first"))
    for number, target in enumerate("abcd"):
        lane.add(come(target), NOON + number * HOUR)
    lane.add(come("b"), NOON + 5 * HOUR)
    assert [each.target for each in lane.take(4, NOON + 6 * HOUR)] == ["b", "d", "c", "a"]


def test_of_those_who_come_again_the_least_recently_asked_is_first_and_never_is_least() -> None:
    lane = Lane(ranker("repeat_first"))
    for target in "abc":
        lane.add(come(target), NOON)
    for number, target in enumerate("ab"):
        lane.visit(visit(lane.tasks[target], NOON + (number + 1) * HOUR))
    for target in "bac":
        lane.add(come(target), NOON + 5 * HOUR)
    assert [each.target for each in lane.take(3, NOON + 6 * HOUR)] == ["c", "a", "b"]


def test_two_posts_on_the_first_page_count_as_coming_again() -> None:
    lane = Lane(ranker("repeat_first"))
    lane.add(come("twice", news=2), NOON)
    lane.add(come("once"), NOON + HOUR)
    assert [each.target for each in lane.take(2, NOON + 2 * HOUR)] == ["twice", "once"]


def test_who_posts_all_day_is_not_asked_again_before_it_has_rested() -> None:
    lane = Lane(ranker("repeat_first", {"rest_hours": 24}))
    for target in ("busy", "calm"):
        lane.add(come(target), NOON)
    for number, target in enumerate(("busy", "calm")):
        lane.visit(visit(lane.tasks[target], NOON + number * HOUR))
    for hour in range(1, 24):
        lane.add(come("busy"), NOON + hour * HOUR)
        assert lane.take(1, NOON + hour * HOUR) == []
    assert [each.target for each in lane.take(2, NOON + DAY)] == ["busy"]


@pytest.mark.parametrize(
    ("revisit", "options", "rest"), [(7 * DAY, {}, 7 * DAY), (None, {}, HOUR), (7 * DAY, {"rest_hours": 2}, 2 * HOUR)]
)
def test_without_a_rest_of_its_own_the_refresh_interval_is_kept(
    revisit: timedelta, options: dict[str, int], rest: timedelta
) -> None:
    known = task(visited_at=NOON, visits=1)
    assert ranker("repeat_first", options, revisit).added(come("a"), known, NOON + HOUR).due == NOON + rest


def test_a_long_list_being_read_is_not_called_to_the_front_by_each_post() -> None:
    reading = task(visited_at=NOON - 2 * DAY, priority=-1e13, progress=Progress(cursor="page 7"))
    placement = ranker("repeat_first").added(come("a"), reading, NOON)
    assert (placement.priority, placement.due, placement.moves) == (-1e13, NOON, False)


# -- rates and price ------------------------------------------------------------------------------------------------


def test_a_steady_rate_is_learned_from_a_counter() -> None:
    rates, now = Rates(days(NOON)), days(NOON)
    for _ in range(60):
        now += 1.0
        rates = counted(rates, now, 6)
    assert rates.per_day == pytest.approx(6, rel=0.1)
    assert expected(rates, now + 1.0) == pytest.approx(6, rel=0.5)


def test_the_silent_are_believed_to_write_little_but_never_nothing() -> None:
    rates, now = first_belief(days(NOON), 1000, days(NOON) - 100), days(NOON)
    assert rates.per_day == pytest.approx(10, rel=0.02)
    for _ in range(100):
        now += 1.0
        rates = counted(rates, now, 0)
    assert 0 < rates.per_day < 0.01


def test_posts_of_the_last_minutes_announce_more() -> None:
    calm = watched(Rates(days(NOON) - 10, 50, 10), days(NOON), days(NOON) - 10)
    excited = noticed(calm, days(NOON), [days(NOON) - 0.001] * 3)
    soon = days(NOON) + 0.02
    assert expected(excited, soon) > 3 * expected(calm, soon)
    assert expected(excited, days(NOON) + 5) < 2 * expected(calm, days(NOON) + 5)


def test_the_hours_at_which_one_posts_are_expected_to_be_busier() -> None:
    midnight = float(int(days(NOON)))
    rates = noticed(
        Rates(midnight, 0.0, 10.0), midnight, [midnight - day + hour / 24 for day in range(1, 10) for hour in (9, 10, 11)]
    )
    by_day = expected(rates._replace(at=midnight + 8 / 24, burst=0.0), midnight + 12 / 24)
    by_night = expected(rates._replace(at=midnight + 20 / 24, burst=0.0), midnight + 1)
    assert by_day > 2 * by_night


@given(st.floats(0, 200), st.floats(0, 20), st.floats(0, 5), st.floats(-100, 100), st.floats(-100, 100))
def test_more_time_is_never_expected_to_bring_less(posts: float, watch: float, burst: float, east: float, north: float) -> None:
    rates = Rates(days(NOON), posts, watch, burst, east, north)
    counts = [expected(rates, days(NOON) + hours / 7) for hours in range(30)]
    assert counts == sorted(counts)


def test_beliefs_survive_their_encoding() -> None:
    rates = Rates(days(NOON), 1.5, 2.5, 0.25, -1.0, 0.5, 0.125)
    assert decoded(rates.encoded()) == rates
    assert decoded(b"of another ranker") is None


@given(st.floats(1e-6, 1e3), st.floats(1e-3, 30))
def test_waiting_until_a_value_reaches_the_price_is_right_within_a_tenth(price: float, guess: float) -> None:
    wait = wait_for(price, lambda passed: passed * passed, guess, 1e6)
    assert wait == pytest.approx(price**0.5, rel=0.1)
    assert wait_for(price, lambda passed: passed * passed, guess, price**0.5 * 0.9) is None


def test_the_price_is_soon_found_and_then_does_not_follow_the_hours_of_the_day() -> None:
    price = Price(1e-3)
    for _ in range(2000):
        price.paid(1.0)
    assert price.now == pytest.approx(1.0, rel=0.2)
    for _ in range(5000):
        price.paid(1.0)
    for _ in range(100):
        price.paid(1e-3)
    assert price.now == pytest.approx(1.0, rel=0.1)


def test_the_price_follows_what_visits_are_worth_and_starts_from_what_tasks_remember() -> None:
    price = Price(1e-3)
    price.recall(2.0)
    price.recall(9.0)
    assert price.now == pytest.approx(2.0)
    for _ in range(6000):
        price.paid(0.5)
    assert price.now == pytest.approx(0.5, rel=0.01)


@pytest.mark.parametrize(("most", "mean", "chance"), [(0, 1.0, 0.632), (1, 1.0, 0.264), (20, 20.0, 0.441), (200, 170.0, 0.0108)])
def test_the_tail_of_a_poisson_number_is_good_to_a_per_cent(most: int, mean: float, chance: float) -> None:
    assert more_than(most, mean) == pytest.approx(chance, abs=0.01)


# -- index and two_stage --------------------------------------------------------------------------------------------


def test_the_index_asks_newcomers_first_and_then_the_busy_before_the_quiet() -> None:
    lane = Lane(Index(page=20))
    for target in ("busy", "quiet"):
        lane.add(come(target), NOON)
    posts = tuple(NOON - hour * HOUR for hour in range(20))
    lane.visit(visit(lane.tasks["busy"], NOON, post_times=posts, new=20))
    lane.visit(visit(lane.tasks["quiet"], NOON, post_times=(NOON - 300 * DAY,), new=1))
    lane.add(come("new"), NOON + HOUR)
    assert [each.target for each in lane.take(3, NOON + HOUR)] == ["new", "busy", "quiet"]


def test_a_long_first_listing_is_one_observation_over_all_its_pages() -> None:
    index = Index(page=2)
    first = task(memory=index.continued(visit(task(), post_times=(NOON - DAY, NOON - 2 * DAY))))
    memory = index.visited(visit(first, post_times=(NOON - 3 * DAY, NOON - 4 * DAY))).memory
    rates = decoded(memory)
    assert rates is not None
    assert rates.per_day == pytest.approx(1.0, rel=0.1)


def test_a_full_page_says_nothing_of_the_time_before_its_oldest_post() -> None:
    index = Index(page=4)
    before = Rates(days(NOON) - 10, 0.0, 1.0).encoded()
    full = tuple(NOON - number * HOUR for number in range(1, 5))
    rates = decoded(index.visited(visit(task(memory=before, visits=3), post_times=full, new=4)).memory)
    assert rates is not None
    assert rates.watched < 1.0
    assert rates.per_day > 5


def test_who_is_not_to_be_had_rests_a_day_and_keeps_what_was_learned() -> None:
    memory = Rates(days(NOON) - 1, 5.0, 1.0).encoded()
    gone = Visit(task=task(memory=memory, visits=2), at=NOON, outcome=Outcome.SUSPENDED, is_finished=True)
    for each in (Index(), Lookup()):
        placement = each.visited(gone)
        assert (placement.due, placement.memory) == (NOON + DAY, memory)


def test_look_ups_reserve_a_share_for_the_quiet_which_are_never_forgotten() -> None:
    lane = Lane(Lookup())
    people = [f"u{number}" for number in range(200)]
    for who in people:
        lane.add(come(who), NOON)
    now, counters = NOON, dict.fromkeys(people, 0)
    asked: dict[str, datetime] = {}
    for _ in range(300):
        now += 10 * timedelta(minutes=1)
        for each in lane.take(20, now):
            before = counters[each.target]
            is_busy = int(each.target[1:]) % 4 == 0
            counters[each.target] += 5 if is_busy else 0
            asked[each.target] = now
            lane.visit(visit(each, now, posts_before=before, posts_now=counters[each.target]))
    assert min(asked.values()) > now - 2 * DAY
    busy = sum(lane.tasks[who].visits for who in people[::4])
    assert busy > sum(lane.tasks[who].visits for who in people) / 2


def test_a_new_process_goes_on_with_the_price_that_the_tasks_remember() -> None:
    memory = Rates(days(NOON) - 0.1, 5.0, 1.0, price=50.0).encoded()
    old, fresh = Lookup(), Lookup()
    seen = visit(task(memory=memory, visits=2), posts_before=5, posts_now=6)
    assert old.visited(seen) == fresh.visited(seen)
    rates = decoded(fresh.visited(seen).memory)
    assert rates is not None
    assert 40 < rates.price < 60


def fetching(*targets: str) -> Lane:
    """A lane of accounts that were fetched a day ago."""
    lane = Lane(Fetch())
    for target in targets:
        lane.add(come(target), NOON - DAY)
        lane.visit(visit(lane.tasks[target], NOON - DAY))
    return lane


def news_of(target: str, news: int, per_day: float = 1.0) -> Arrival:
    """Found by a look-up that believes in so many posts a day."""
    return structs.replace(come(target, news=news), belief=Rates(days(NOON), 10 * per_day, 10.0).encoded())


def test_who_has_more_news_is_fetched_first_and_news_add_up() -> None:
    lane = fetching("a", "b")
    lane.add(come("a", news=3), NOON)
    lane.add(come("b", news=2), NOON)
    assert [each.target for each in lane.take(2, NOON + HOUR)] == ["a", "b"]
    lane.add(come("b", news=2), NOON + HOUR)
    assert [each.target for each in lane.take(2, NOON + 2 * HOUR)] == ["b", "a"]


def test_of_two_with_as_many_news_the_one_who_writes_less_is_fetched_first() -> None:
    lane = fetching("often", "seldom")
    lane.add(news_of("often", 4, per_day=20.0), NOON)
    lane.add(news_of("seldom", 4, per_day=0.5), NOON)
    assert [each.target for each in lane.take(2, NOON)] == ["seldom", "often"]
    lane.add(news_of("often", 40, per_day=20.0), NOON + HOUR)
    assert [each.target for each in lane.take(2, NOON + HOUR)] == ["often", "seldom"]


def test_news_that_wait_long_enough_are_fetched_however_few() -> None:
    lane = fetching("waiting", "fresh")
    lane.add(news_of("waiting", 1, per_day=20.0), NOON)
    lane.add(news_of("fresh", 20, per_day=20.0), NOON + HOUR)
    assert lane.take(1, NOON + HOUR)[0].target == "fresh"
    lane.visit(visit(lane.tasks["fresh"], NOON + HOUR))
    lane.add(news_of("fresh", 20, per_day=20.0), NOON + 40 * DAY)
    assert lane.take(1, NOON + 40 * DAY)[0].target == "waiting"


def test_a_long_past_counts_as_one_post() -> None:
    lane = fetching("known")
    lane.add(come("new", news=5_000), NOON)
    lane.add(come("known", news=2), NOON)
    assert [each.target for each in lane.take(2, NOON)] == ["known", "new"]


def test_who_nears_the_reach_of_the_service_is_fetched_before_all_others() -> None:
    lane = Lane(Fetch(reach=100))
    for target in "ab":
        lane.add(come(target), NOON - DAY)
        lane.visit(visit(lane.tasks[target], NOON - DAY))
    lane.add(come("a", news=10), NOON - HOUR)
    lane.add(come("b", news=60), NOON)
    assert [each.target for each in lane.take(2, NOON)] == ["b", "a"]


@pytest.mark.parametrize(("max_pages", "first"), [(1, "many"), (None, "few")])
def test_who_has_nearly_more_news_than_the_flow_reads_is_fetched_first(max_pages: int | None, first: str) -> None:
    facet = Facet(name="timeline", subject=Subject.USER, yields=frozenset({"posts"}), results_per_call=200, total_results=3200)
    lane = Lane(ranker("two_stage", setting=RankerSetting(facet, max_pages=max_pages)))
    for target, per_day in (("many", 200.0), ("few", 0.01)):
        lane.add(come(target), NOON - DAY)
        lane.visit(visit(lane.tasks[target], NOON - DAY))
        belief = Rates(days(NOON), 10 * per_day, 10.0).encoded()
        lane.add(structs.replace(come(target, news=120 if target == "many" else 9), belief=belief), NOON)
    assert [each.target for each in lane.take(1, NOON)] == [first]


def test_a_fetched_target_sleeps_until_its_counter_moves_again() -> None:
    lane = Lane(Fetch())
    lane.add(come("a"), NOON)
    lane.visit(visit(lane.tasks["a"], NOON))
    assert lane.take(1, NOON + 100 * DAY) == []
    lane.add(come("a"), NOON + DAY)
    assert [each.target for each in lane.take(1, NOON + DAY)] == ["a"]


def test_two_stage_looks_up_profiles_and_fetches_timelines() -> None:
    lookup = Facet(name="profiles", subject=Subject.USER, yields=frozenset({"users"}), is_lookup=True)
    timeline = Facet(name="timeline", subject=Subject.USER, yields=frozenset({"posts"}), total_results=3200)
    assert isinstance(ranker("two_stage", setting=RankerSetting(lookup)), Lookup)
    assert isinstance(ranker("two_stage", setting=RankerSetting(timeline)), Fetch)


# -- all of them ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RANKERS)
def test_every_ranker_fills_the_room_it_is_given_and_no_more(name: str) -> None:
    made = ranker(name, setting=RankerSetting(None, (1,)))
    assert made.name == name
    for room in (1, 7, 100):
        counts = [draw.count for draw in made.draws(room, NOON)]
        assert max(counts) == counts[-1] == room
        # A community's seeds come before all others, however many they are.
        rest = counts[1:] if name == "focus" else counts
        assert rest == sorted(rest)


@pytest.mark.parametrize("name", RANKERS)
def test_every_ranker_asks_everybody_who_is_added(name: str) -> None:
    lane = Lane(ranker(name, setting=RankerSetting(None, (1,))))
    people = {f"u{number}" for number in range(30)}
    for who in sorted(people):
        lane.add(come(who), NOON)
    asked = set()
    # Some gather first: the round begins when everybody's time has come.
    for step in range(1, 31):
        at = NOON + timedelta(minutes=10) + step * timedelta(seconds=1)
        (each,) = lane.take(1, at)
        asked.add(each.target)
        lane.visit(visit(each, at))
    assert asked == people


def test_options_that_make_no_sense_are_refused() -> None:
    with raises_code(UserError, "invalid") as caught:
        ranker("rwrw", {"walkers": 0})
    assert all(value in caught.value.problem for value in ("'walkers'", "'rwrw'", "1", "0"))
    with raises_code(UserError, "unknown_name") as caught:
        ranker("echo", {"seed": 1})
    assert all(value in caught.value.problem for value in ("'echo'", "'seed'"))
    assert "down, frozen_days, grace_hours, " in caught.value.advice
    with raises_code(UserError, "invalid") as caught:
        ranker("echo", {"night_from": 25})
    assert all(value in caught.value.problem for value in ("'night_from'", "'echo'", "24", "25"))


def test_the_night_the_thaw_and_the_freezing_of_echo_are_options() -> None:
    night = Echo(up=10, down=40, grace_hours=0, night_from=22, night_to=2)
    memory = level(night, NOON, None, new=1)[1]
    assert [level(night, NOON + hours * HOUR, memory)[0] for hours in (11, 13, 15)] == [41.0, 41.0, 1.0]
    early = Echo(frozen_days=5, thaw_from=23, thaw_to=1)
    asleep = level(early, NOON, None, new=1, post_times=(NOON - 6 * 24 * HOUR,))
    assert (asleep[0], asleep[2]) == (0.0, NOON + 11 * HOUR)
    assert [early.draws(1, NOON + hours * HOUR)[-1].low == float("-inf") for hours in (0, 11, 12, 13)] == [
        False,
        True,
        True,
        False,
    ]
