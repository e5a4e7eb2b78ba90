"""A batch of messages that is understood piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from bowerbird.crawl.streaming.batches import HeardBatch
from bowerbird.crawl.streaming.buffer import Batch
from bowerbird.crawl.streaming.gaps import Cause, missed
from bowerbird.crawl.streaming.stream_rows import Position, step_over
from bowerbird.model import Claim, Heard, Outcome

_MANY = 6_000


class Listener:
    """Counts messages; one of them says that the service is about to hang up."""

    def hear(self, messages: Sequence[bytes]) -> Heard:
        return Heard(events=len(messages), closing=Outcome.OVERLOADED if b"bye" in messages else None)


@pytest.mark.parametrize(("has_cursor", "heard"), [(False, _MANY), (True, 2_500)])
def test_what_is_said_after_a_farewell_is_heard_unless_it_comes_again(has_cursor: bool, heard: int) -> None:
    stream: Any = SimpleNamespace(
        pace=SimpleNamespace(heard=lambda events, at: None), channel=SimpleNamespace(has_cursor=has_cursor)
    )
    messages = [b"bye" if number == 10 else b"event" for number in range(_MANY)]
    listener: Any = Listener()
    batch = HeardBatch(stream, listener, Batch(messages, 0, datetime(2026, 1, 1, tzinfo=UTC)))
    number = 0
    while batch.piece(number) is not None:
        number += 1
    assert sum(each.events for each in batch.heard) == heard


def test_step_ignores_event_times_of_the_future() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    stream: Any = SimpleNamespace(
        channel=SimpleNamespace(key_time=None),
        kept_cursor=lambda cursor: cursor,
        pace=SimpleNamespace(busiest=1),
    )
    before = Position(stream=1, claim=Claim("stream 1", 1, 1, now), event_at=now - timedelta(hours=2))
    times = (now - timedelta(hours=1), now + timedelta(days=400))
    step = step_over(stream, before, [Heard(events=1, newest_at=at) for at in times], now)
    assert step.event_at == times[0]


def test_step_ignores_keys_of_the_future() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    stream: Any = SimpleNamespace(
        channel=SimpleNamespace(key_time=SimpleNamespace(is_ahead=lambda key, at: key == "ahead")),
        kept_cursor=lambda cursor: cursor,
        pace=SimpleNamespace(busiest=1),
    )
    before = Position(stream=1, claim=Claim("stream 1", 1, 1, now))
    heard = [Heard(events=1, head=head) for head in ("known", "ahead")]
    assert step_over(stream, before, heard, now).head == "known"


def test_gap_begins_before_the_newest_event_by_the_disorder_of_its_channel() -> None:
    now, minute = datetime(2026, 1, 1, tzinfo=UTC), timedelta(minutes=1)
    channel: Any = SimpleNamespace(has_cursor=False, key_time=None, disorder=5 * minute)
    before = Position(stream=1, claim=Claim("stream 1", 1, 1, now), head="5", event_at=now, heard_at=now)
    gap = missed(before, channel, Cause.CUT, now + minute)
    assert gap is not None
    assert gap.after_at == now - 5 * minute
