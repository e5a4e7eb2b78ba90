"""Events of the synthetic world: their posts look as those of recorded events do, and the truth says which they are."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from functools import cache

import numpy as np
import pytest

from bowerbird.model import Request
from bowerbird.simulated.service import Setup, simulate
from bowerbird.simulated.serving.truth_pages import TruthPages
from bowerbird.simulated.world import Truth, World, WorldSettings
from bowerbird.simulated.world.posts.cascades import Day
from bowerbird.simulated.world.posts.content import Content
from bowerbird.simulated.world.posts.events import event_terms
from bowerbird.simulated.world.posts.rows import REPOST, Row, times_of
from bowerbird.simulated.world.posts.tags import LIVE, MAIN, NEWS, NO_EVENT, PLACE, event_tag
from bowerbird.simulated.world.settings import PlannedEvent, to_ms

START = datetime(2026, 1, 5, tzinfo=UTC)
BEGINS = START + timedelta(hours=10)
SCALE = timedelta(hours=4)
ENDS = BEGINS + timedelta(days=2)


@cache
def world() -> World:
    planned = PlannedEvent(begins=BEGINS, scale=SCALE, posts=6_000, town=0)
    return World(WorldSettings(seed=4, accounts=3_000, posts_per_day=6, warm=1, planned=planned))


@cache
def rows_about_the_event() -> tuple[Row, ...]:
    truth = Truth(world())
    (event,) = (each for each in truth.events(BEGINS, ENDS) if each.begins_ms == to_ms(BEGINS))
    numbers = sorted(truth.event_posts(BEGINS, ENDS)[event.number])
    return tuple(row for row in (world().row(number, to_ms(ENDS)) for number in numbers) if row is not None)


@cache
def contents() -> tuple[Content, ...]:
    return tuple(world().contents.of(row) for row in rows_about_the_event())


def ages(tag: int) -> list[float]:
    """When a hashtag of the event is used by posts about it, in units of the scale."""
    named = [row for row in rows_about_the_event() if row.is_about(tag)]
    return [(row.ms - to_ms(BEGINS)) / (SCALE.total_seconds() * 1000) for row in named]


def test_planned_event_begins_at_its_time_and_has_its_posts() -> None:
    posts = rows_about_the_event()
    assert 500 < len(posts) < 2_000
    assert min(row.ms for row in posts) >= to_ms(BEGINS)
    assert np.median([row.ms for row in posts]) == pytest.approx(to_ms(BEGINS + 1.3 * SCALE), abs=3_600_000)
    assert all(row.kind != REPOST and row.event != NO_EVENT for row in posts)


def test_planned_event_leaves_all_other_posts_as_they_are() -> None:
    other = World(WorldSettings(seed=4, accounts=3_000, posts_per_day=6, warm=1))
    for index in range(3):
        with_event, without = world().calendar.day(index), other.calendar.day(index)
        ordinary = with_event.number[with_event.event == NO_EVENT]
        # A post about the event that passes on another has no event of its own.
        assert np.isin(without.number[without.event == NO_EVENT], ordinary).mean() > 0.999


def test_event_posts_have_hashtags_and_words_as_often_as_recorded_ones() -> None:
    share = Counter(tag for content in contents() for tag in set(content.tags))
    number = rows_about_the_event()[0].event
    assert 0.45 < np.mean([bool(content.tags) for content in contents()]) < 0.6
    assert 0.2 < share.most_common(1)[0][1] / len(contents()) < 0.3
    english = [content for content in contents() if content.language == "en"]
    shares = [np.mean([term in content.words for content in english]) for term in event_terms(number, "en")]
    assert shares == pytest.approx([0.54, 0.22, 0.08, 0.11, 0.17, 0.45, 0.08], abs=0.06)
    assert all(any(term in content.words for term in event_terms(number, "en")) for content in english)


def test_event_hashtags_are_born_and_fade() -> None:
    number = rows_about_the_event()[0].event
    main, place, live, news = (ages(event_tag(number, variant)) for variant in (MAIN, PLACE, LIVE, NEWS))
    assert min(main) < 0.2
    assert min(place) < 0.2
    assert min(live) > 0.4
    assert max(live) < 2.6
    assert min(news) > 1.0
    assert max(main) > 3


def test_hashtag_taken_over_by_others_is_mostly_about_something_else_later() -> None:
    tag = event_tag(rows_about_the_event()[0].event, LIVE)
    days = [world().calendar.day(index) for index in range(3)]
    carrying = [(number, event) for day in days for number, event in _with_tag(day, tag)]
    middle = to_ms(BEGINS + 1.6 * SCALE)
    early = [event != NO_EVENT for ms, event in carrying if ms < middle]
    late = [event != NO_EVENT for ms, event in carrying if ms >= middle]
    assert len(early) > 50
    assert all(early)
    assert len(late) > 100
    assert np.mean(late) < 0.3


def _with_tag(day: Day, tag: int) -> list[tuple[int, int]]:
    chosen = ((day.tag == tag) | (day.second_tag == tag)) & (day.kind != REPOST)
    return list(zip(times_of(day.number[chosen]).tolist(), day.event[chosen].tolist(), strict=True))


def test_ordinary_words_are_as_uneven_as_in_languages() -> None:
    chosen = world()
    day = chosen.calendar.day(0)
    rows = [chosen.row(number, to_ms(ENDS)) for number in day.number[day.event == NO_EVENT].tolist()]
    english = [row for row in rows if row and chosen.contents.language(row.number) == "en" and row.kind != REPOST]
    counts = Counter(word for row in english for word in chosen.contents.words(row.number, "en").split())
    shares = [count / counts.total() for _, count in counts.most_common()]
    assert 0.04 < shares[0] < 0.09
    assert shares[0] / shares[40] == pytest.approx((41 + 2.7) / 3.7, rel=0.3)
    assert 0.01 < sum(counts[word] for word in ("quake", "rubble", "storm", "outage", "ballots")) / counts.total() * 72 / 5 < 0.04


def test_truth_page_lists_the_event_with_its_posts() -> None:
    service = simulate(Setup(dialect="bluesky", world=world().settings), world())
    request = Request(path="/_simulated/events", query=(("since", START.isoformat()),))
    listed = json.loads(TruthPages(service).handle(request, ENDS, "127.0.0.1").body)
    (event,) = (each for each in listed if each["begins"] == BEGINS.isoformat())
    assert event["posts"] == sorted(service.dialect.post_key(row.number) for row in rows_about_the_event())
    assert set(event["hashtags"]) == {tag for content in contents() if content.tags for tag in content.tags}
