"""The synthetic world: reproducible, shaped like a real network, and consistent with itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache

import numpy as np
import pytest

from bowerbird.errors import UserError
from bowerbird.simulated.world import Truth, World, WorldSettings
from bowerbird.simulated.world.hashing import mix, mix_many
from bowerbird.simulated.world.posts.cascades import Day
from bowerbird.simulated.world.posts.events import event_terms
from bowerbird.simulated.world.posts.reactions import Reactions
from bowerbird.simulated.world.posts.rows import LIKE, QUOTE, REPLY, REPOST, author_of, is_live, ms_of
from bowerbird.simulated.world.posts.tags import (
    EVENTS_PER_DAY,
    NO_EVENT,
    NO_TAG,
    TAGS_PER_EVENT,
    event_kind,
    event_number,
    event_tag,
    tag_name,
    tag_number,
)  # fmt: skip
from bowerbird.simulated.world.settings import DAY, NEVER, to_ms
from failures import raises_code

NOW = datetime(2026, 1, 12, 18, 30, tzinfo=UTC)


def fresh(seed: int = 7, accounts: int = 800) -> World:
    return World(WorldSettings(seed=seed, accounts=accounts))


@cache
def world() -> World:
    return fresh()


@cache
def large() -> World:
    return World(WorldSettings(seed=3, accounts=8_000))


def timeline(of: World, account: int, now: datetime = NOW) -> list[int]:
    return [row.number for row in of.timeline(account, to_ms(now))]


def writers(of: World, count: int) -> list[int]:
    return Truth(of).sample_accounts(count, np.random.default_rng(1), NOW, writers=True)


def test_arrays_and_integers_are_mixed_alike() -> None:
    values = np.array([0, 1, 12345, 1 << 60], np.int64)
    assert mix_many(values, 9).tolist() == [mix(int(value), 9) for value in values]


def test_the_same_seed_gives_the_same_world_whatever_was_asked_before() -> None:
    one, other = fresh(), fresh()
    accounts = writers(one, 25)
    late, early = NOW + timedelta(days=6), NOW
    forwards = [(timeline(one, account, early), timeline(one, account, late)) for account in accounts]
    backwards = [(timeline(other, account, late), timeline(other, account, early)) for account in reversed(accounts)]
    assert forwards == [(early_, late_) for late_, early_ in reversed(backwards)]
    assert any(early_ != late_ for early_, late_ in forwards)


def test_days_drawn_again_are_the_same_days() -> None:
    one, other = fresh(), fresh()
    for index in range(-9, 8):
        one.calendar.day(index)
    day, again = one.calendar.day(5), other.calendar.day(5)
    assert day.number.tolist() == again.number.tolist()
    assert day.target.tolist() == again.target.tolist()


def test_another_seed_gives_another_world() -> None:
    assert timeline(fresh(1), 5) + timeline(fresh(1), 6) != timeline(fresh(2), 5) + timeline(fresh(2), 6)


def test_sixty_percent_are_silent_and_the_top_two_percent_write_over_a_third() -> None:
    days = [large().calendar.day(index) for index in range(14)]
    counts = sum(np.diff(day.start) for day in days)
    assert (large().people.rate == 0).mean() == pytest.approx(0.6, abs=0.001)
    assert 0.6 <= (counts == 0).mean() <= 0.68
    top = np.sort(counts)[-round(len(counts) * 0.022) :].sum() / counts.sum()
    assert 0.30 <= top <= 0.45
    assert counts.sum() / 14 / len(counts) == pytest.approx(1.5, rel=0.15)


def test_degrees_have_a_heavy_tail() -> None:
    degrees = np.array([large().graph.counts(account, to_ms(NOW))[0] for account in range(len(large()))])
    assert degrees.max() > 50 * np.median(degrees)
    assert 15 < degrees.mean() < 40


def test_posts_follow_the_hours_of_their_communities() -> None:
    people = large().people
    number = np.concatenate([large().calendar.day(index).number for index in range(5)])
    local_hour = (((number >> 22) + 1_288_834_974_657 + people.shift_ms[number & ((1 << 22) - 1)]) % DAY) // 3_600_000
    hours = np.bincount(local_hour, minlength=24)
    assert hours[18:22].sum() > 4 * hours[2:6].sum()


def test_posts_come_in_bursts() -> None:
    day = large().calendar.day(1)
    same = np.diff(day.number & ((1 << 22) - 1)) == 0
    gaps = np.diff(day.number >> 22)[same]
    assert (gaps < 15 * 60_000).mean() > 0.3


def test_the_counter_of_a_profile_is_the_length_of_its_timeline() -> None:
    for account in range(0, 800, 7):
        assert world().post_count(account, to_ms(NOW)) == len(timeline(world(), account))


def test_a_post_is_found_by_its_number_while_it_exists() -> None:
    now = to_ms(NOW)
    rows = [row for account in writers(world(), 40) for row in world().all_rows(account, 0, now)]
    assert any(row.gone_at != NEVER for row in rows)
    for row in rows:
        assert (world().post(row.number, now) == row) == is_live(row, now)
        assert world().post(row.number, row.ms - 1) is None


def test_unknown_numbers_are_no_posts() -> None:
    number = timeline(world(), writers(world(), 1)[0])[0]
    assert world().post(number + (1 << 22), to_ms(NOW)) is None
    assert world().post(0, to_ms(NOW)) is None
    assert world().post((1 << 62) + 5, to_ms(NOW)) is None


@pytest.mark.parametrize("kind", [REPLY, REPOST, QUOTE])
def test_what_refers_to_a_post_and_what_it_refers_to_agree(kind: int) -> None:
    now, reactions = to_ms(NOW), Reactions(world())
    rows = [row for account in range(len(world())) for row in world().all_rows(account, now - 3 * DAY, now) if row.kind == kind]
    assert rows
    for row in rows:
        assert ms_of(row.target) < row.ms
        assert (row.number in reactions.posts(row.target, now, kind)) == is_live(row, now)


def test_counters_agree_with_the_lists() -> None:
    now, reactions = to_ms(NOW), Reactions(world())
    references = world().calendar.day(6).references
    numbers = references.target[:200].tolist()
    assert (references.kind == LIKE).any()
    for number, counters in zip(numbers, reactions.counters(numbers, now), strict=True):
        assert counters.likes == len(reactions.likers(number, now))
        assert counters.reposts == len(reactions.posts(number, now, REPOST))
        assert counters.replies == len(reactions.posts(number, now, REPLY))


def test_reposts_make_cascades() -> None:
    references = large().calendar.day(2).references
    sizes = np.diff(references.start)
    assert sizes.max() > 10


def test_events_rise_and_fall() -> None:
    counts: dict[int, list[int]] = {}
    for index in range(12):
        tags, uses = np.unique(large().calendar.day(index).tag, return_counts=True)
        for tag, count in zip(tags.tolist(), uses.tolist(), strict=True):
            counts.setdefault(tag, [0] * 12)[index] = count
    events = [days for tag, days in counts.items() if tag >= 1_000_000]
    assert events
    assert all(sum(1 for count in days if count) <= 3 for days in events)


def test_names_of_tags_can_be_turned_back() -> None:
    numbers = (event_number(day, nth) for day in (-8, 3, 4_000) for nth in range(EVENTS_PER_DAY))
    for tag in (0, 5, 40, *(event_tag(number, variant) for number in numbers for variant in range(TAGS_PER_EVENT))):
        assert tag_number(tag_name(tag).upper()) == tag
    assert tag_number("nobodyusesthis") == NO_TAG
    name = tag_name(event_tag(event_number(3, 1)))
    assert tag_number(name.replace(event_kind(event_number(3, 1)), event_kind(event_number(3, 2)))) == NO_TAG


def test_followers_and_following_are_two_sides_of_the_same_edges() -> None:
    now, graph = to_ms(NOW), world().graph
    for account in range(0, 800, 40):
        followers, _ = graph.followers(account, now)
        following, _ = graph.following(account, now)
        assert graph.counts(account, now) == (len(followers), len(following))
        assert all(account in graph.following(int(other), now)[0] for other in followers)


def test_people_follow_and_unfollow_over_time() -> None:
    truth = Truth(world())
    before = [truth.following(account, NOW) for account in range(300)]
    after = [truth.following(account, NOW + timedelta(days=30)) for account in range(300)]
    assert any(one - other for one, other in zip(before, after, strict=True))
    assert any(other - one for one, other in zip(before, after, strict=True))


def test_accounts_leave_are_suspended_return_and_protect_themselves() -> None:
    truth = Truth(large())
    later = NOW + timedelta(days=60)
    states = [(truth.availability(account, NOW), truth.availability(account, later)) for account in range(len(large()))]
    for change in [("open", "gone"), ("open", "suspended"), ("suspended", "open"), ("open", "protected"), ("unborn", "open")]:
        assert change in states, change


def test_profiles_are_edited_and_found_by_handle() -> None:
    profiles = world().profiles
    later = to_ms(NOW + timedelta(days=120))
    changed = [account for account in range(300) if profiles.at(account, to_ms(NOW)) != profiles.at(account, later)]
    assert 20 < len(changed) < 300
    for account in range(100):
        assert profiles.account_of(profiles.at(account, later).handle, later) == account
    assert profiles.account_of("nobody", later) is None
    assert profiles.account_of("ana_zzzzz", later) is None


def test_some_timelines_are_longer_than_the_reach_of_the_classic_api() -> None:
    longest = int(np.argmax(large().people.history))
    assert large().people.history[longest] > 3_200
    numbers = timeline(large(), longest)
    assert len(set(numbers)) == len(numbers)
    assert numbers == sorted(numbers, reverse=True)
    assert {author_of(number) for number in numbers} == {longest}


def test_the_truth_knows_deleted_posts() -> None:
    truth = Truth(world())
    posts = [post for account in writers(world(), 60) for post in truth.posts(account, NOW - timedelta(days=5), NOW)]
    deleted = [post for post in posts if post.deleted_at is not None]
    assert 0 < len(deleted) < len(posts) / 4
    assert {post.visibility for post in posts} == {"public", "unlisted", "private"}
    assert all(NOW - timedelta(days=5) <= post.written_at < NOW for post in posts)


@pytest.mark.parametrize("mixed", [False, True])
def test_search_any_word_finds_exactly_the_posts_with_it(mixed: bool) -> None:
    chosen = World(WorldSettings(seed=7, accounts=800, mixed=mixed))
    day, contents = busiest_day(chosen), chosen.contents
    rows = [chosen.row(number, to_ms(NOW)) for number in day.number.tolist()]
    texts = [contents.words(row.number, contents.style(row.number), row.event).lower().split() for row in rows if row is not None]
    assert len(texts) == len(rows)
    of_events = [word for row in rows if row and row.event != NO_EVENT for word in event_terms(row.event, "en")]
    for word in ("coffee", "the", "que", "rubble", "nobodysaysthis", *" ".join(of_events).split()):
        found = contents.saying(day.number, day.event, word)
        assert found.tolist() == [word.lower() in text for text in texts], word


def busiest_day(of: World) -> Day:
    """The day with most posts about events."""
    return max((of.calendar.day(index) for index in range(-8, 6)), key=lambda day: int((day.event != NO_EVENT).sum()))


@pytest.mark.parametrize("accounts", [1, 1 << 19])
def test_impossible_sizes_are_refused_with_advice(accounts: int) -> None:
    with raises_code(UserError, "invalid") as caught:
        WorldSettings(accounts=accounts)
    assert all(value in caught.value.problem for value in ("2", "262,144", f"{accounts:,}"))
